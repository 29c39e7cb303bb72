"""Whose a file in `state/results/` is, by its name."""

from __future__ import annotations

import re

_OF_TASK = re.compile(
    r"(?P<task>[^.].*?)(?:-(?:raw(?:-.+)?|checkpoint|actions)\.json"
    r"|-(?:soldier-id|session-id|heartbeat|raw-soldier-[0-9-]+)|\.json)"
)


def task_in(name: str) -> str:
    """Empty for a name that the kingdom does not give."""
    found = _OF_TASK.fullmatch(name)
    return found["task"] if found else ""


def is_final(name: str) -> bool:
    return bool(name) and name == f"{task_in(name)}.json"
