"""What is to be cancelled or frozen: files in `state/control/` whose presence is the state.

The king writes them when a command comes, or when something newer takes a task's place; generals
read them, and watch the directory. The content says who asked and when, for people, and if it was
no person.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Literal

from kingdom.clock import isoformat
from kingdom.models.ids import is_id
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

Wish = Literal["cancel", "freeze"]
EVERYTHING = "all"  # no task has this name
CANCELLED, SUPERSEDED = "cancelled", "superseded"  # the failures that such a task ends with


class Control:
    def __init__(self, base: BaseDir) -> None:
        self.directory = base.control

    def ask(self, wish: Wish, name: str, *, by: str, at: datetime, code: str = "") -> bool:
        """Whether it is new. `code`: the failure that it then ends with, if no person asked."""
        if self.is_asked(wish, name):
            return False
        disk.make_directory(self.directory)
        told = {"by": by, "at": isoformat(at)} | ({"code": code} if code else {})
        write_json(self._path(wish, name), told)
        return True

    def superseded_by(self, name: str) -> str:
        """What this task is cancelled for; empty if a person asked."""
        told = read_json(self._path("cancel", name), {})
        is_newer = isinstance(told, dict) and told.get("code") == SUPERSEDED
        return str(told.get("by", "")) if is_newer else ""

    def take_back(self, wish: Wish, name: str) -> bool:
        """Whether it had been asked."""
        return disk.remove(self._path(wish, name))

    def is_asked(self, wish: Wish, name: str) -> bool:
        return disk.exists(self._path(wish, name))

    def is_frozen(self, task_id: str) -> bool:
        return self.is_asked("freeze", EVERYTHING) or self.is_asked("freeze", task_id)

    def forget(self, task_id: str) -> None:
        """The task has ended: nothing about it is asked any more."""
        self.take_back("cancel", task_id)
        self.take_back("freeze", task_id)

    def named(self, wish: Wish) -> list[str]:
        """The tasks, and `all`, for which this is asked. What is no id, a temporary too, is no
        task's."""
        ending = f".{wish}"
        found = [name for name in disk.names(self.directory) if name.endswith(ending)]
        return sorted(filter(is_id, (name.removesuffix(ending) for name in found)))

    def _path(self, wish: Wish, name: str) -> str:
        return os.path.join(self.directory, f"{name}.{wish}")
