"""What people asked for, as it was at the last look: a step decides by one picture of it."""

from __future__ import annotations

from datetime import datetime

from kingdom.runtime import control
from kingdom.store import disk
from kingdom.store.paths import BaseDir


class Control:
    def __init__(self, base: BaseDir) -> None:
        self._control = control.Control(base)
        disk.make_directory(self._control.directory)
        self.cancelled: set[str] = set()
        self.frozen: set[str] = set()

    def look(self) -> None:
        self.cancelled = set(self._control.named("cancel"))
        self.frozen = set(self._control.named("freeze"))

    @property
    def all_frozen(self) -> bool:
        return control.EVERYTHING in self.frozen

    def is_frozen(self, task_id: str) -> bool:
        return self.all_frozen or task_id in self.frozen

    def why_cancelled(self, task_id: str) -> tuple[str, str]:
        """The failure that it ends with, and a sentence more."""
        newer = self._control.superseded_by(task_id)
        return (control.SUPERSEDED, f"Superseded by {newer}.") if newer else (control.CANCELLED, "")

    def cancel(self, task_id: str, *, by: str, at: datetime) -> None:
        """As the king does it at a person's command."""
        self._control.ask("cancel", task_id, by=by, at=at)
        self.cancelled.add(task_id)

    def forget(self, task_id: str) -> None:
        """It has ended, and what was asked for it is done or void."""
        if task_id in self.cancelled | self.frozen:
            self._control.forget(task_id)
            self.cancelled.discard(task_id)
            self.frozen.discard(task_id)
