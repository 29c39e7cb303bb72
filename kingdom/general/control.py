"""What people asked for: files in `state/control/` whose presence is the state.

The king writes them; a general obeys, and removes those of a task that has ended.
"""

from __future__ import annotations

import os

from kingdom.store import disk
from kingdom.store.paths import BaseDir

CANCEL, FREEZE = ".cancel", ".freeze"
ALL = "all"


class Control:
    def __init__(self, base: BaseDir) -> None:
        self._directory = base.control
        disk.make_directory(self._directory)
        self.cancelled: set[str] = set()
        self.frozen: set[str] = set()

    def look(self) -> None:
        names = disk.names(self._directory)
        self.cancelled = {name.removesuffix(CANCEL) for name in names if name.endswith(CANCEL)}
        self.frozen = {name.removesuffix(FREEZE) for name in names if name.endswith(FREEZE)}

    @property
    def all_frozen(self) -> bool:
        return ALL in self.frozen

    def is_frozen(self, task_id: str) -> bool:
        return self.all_frozen or task_id in self.frozen

    def forget(self, task_id: str) -> None:
        """It has ended, and what was asked for it is done or void."""
        for suffix, asked in ((CANCEL, self.cancelled), (FREEZE, self.frozen)):
            if task_id in asked:
                disk.remove(os.path.join(self._directory, f"{task_id}{suffix}"))
                asked.discard(task_id)
