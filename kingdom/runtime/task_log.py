"""Appends to `logs/tasks.log`: one line for each step of a task, in words that people grep for."""

from __future__ import annotations

import json
from contextlib import suppress

from kingdom.clock import Clock, isoformat
from kingdom.store import disk
from kingdom.store.paths import BaseDir


class TaskLog:
    """What one actor does with tasks. A log that cannot be written never stops a role."""

    def __init__(self, base: BaseDir, actor: str, clock: Clock) -> None:
        self._path = base.tasks_log
        self._actor = actor
        self._clock = clock

    def note(self, task_id: str, step: str, **facts: object) -> None:
        """`[time] [gen-pr] task-… started soldier=…`"""
        said = [f"{name}={_plain(value)}" for name, value in facts.items() if value is not None]
        head = f"[{isoformat(self._clock.now())}] [{self._actor}]"
        line = " ".join([head, task_id, step, *said])
        with suppress(OSError):
            disk.append_line(self._path, f"{line}\n".encode("utf-8", "backslashreplace"))


def _plain(value: object) -> str:
    """One word as it is; anything else in quotes, so that it cannot pass for a line or a fact."""
    text = str(value)
    if text and text.isprintable() and not set(text) & set(" ='\""):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
