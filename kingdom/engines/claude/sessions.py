"""The program's own sessions: where it keeps them, and whether one can be continued.

A transcript is `projects/{working directory, spelled without signs}/{session}.jsonl` in the
program's home. Versions up to 2.1.197 at least find it only from the directory it was begun in;
newer ones from anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kingdom.engines.port import Order
from kingdom.store import disk

HOME_VARIABLE = "CLAUDE_CONFIG_DIR"
_LONGEST_NAME = 200  # of a directory below `projects`; the rest is a number of the program's


def new_id() -> str:
    import uuid  # not for those who only ask about the engine

    return str(uuid.uuid4())


def can_continue(order: Order) -> bool:
    """Whether `--resume` will work. One begun elsewhere is tried in the first attempt only."""
    session = order.session_id
    if session is None or not _is_id(session):
        return False
    projects = os.path.join(_home(order.home, order.environment), "projects")
    found = [
        name
        for name in disk.names(projects)
        if disk.exists(os.path.join(projects, name, f"{session}.jsonl"))
    ]
    here = _spelled(os.path.realpath(order.workspace))
    return (order.attempt == 1 and bool(found)) or any(_is_same(name, here) for name in found)


def _is_id(text: str) -> bool:
    """It becomes a file's name and an argument."""
    return re.fullmatch(r"[0-9a-fA-F-]{36}", text) is not None


def _home(own: str | None, environment: Mapping[str, str]) -> str:
    if own:
        return own
    default = os.path.join(environment.get("HOME", ""), ".claude")
    return environment.get(HOME_VARIABLE) or default


def _spelled(directory: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", directory)


def _is_same(name: str, here: str) -> bool:
    if len(here) <= _LONGEST_NAME:
        return name == here
    return name.startswith(here[:_LONGEST_NAME])
