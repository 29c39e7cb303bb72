"""`state/sessions.json`: every living soldier, of all generals, as a JSON array.

Each general rewrites its own entries, under a lock that it waits for only when it ends. The limit
over all generals is looked up here, in the same moment in which new soldiers are entered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from kingdom.clock import Clock
from kingdom.general.spec import SoldierFiles
from kingdom.runtime.processes import until
from kingdom.runtime.registry import registry_lock
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

Entry = dict[str, Any]
_LONGEST_START = 60.0  # seconds after which a soldier that has not begun counts as none
_LAST_PATIENCE = 3.0  # seconds; whoever ends a general has more


class Register:
    """The file, while its lock is held."""

    def __init__(self, path: str, general: str, files: SoldierFiles, now: float) -> None:
        self._path = path
        self._general = general
        self._files = files
        self._now = now
        self._entries = _entries(path)

    def others(self) -> int:
        """Soldiers of other generals. One whose general is down may have ended long ago, so each
        is looked for."""
        theirs = (entry for entry in self._entries if entry.get("general") != self._general)
        return sum(map(self._may_live, theirs))

    def _may_live(self, entry: Entry) -> bool:
        runner = self._files.runner_of(str(entry.get("id")))
        if runner is not None:
            return runner.is_alive()
        try:
            entered = datetime.fromisoformat(str(entry.get("started_at"))).timestamp()
        except ValueError:
            return False
        return abs(self._now - entered) < _LONGEST_START

    def write(self, own: Iterable[Entry]) -> None:
        """These are this general's now; nothing is written that is there already."""
        kept = [entry for entry in self._entries if entry.get("general") != self._general]
        entries = [*kept, *own]
        if entries != self._entries or not disk.exists(self._path):
            write_json(self._path, entries, sync=False)
            self._entries = entries


class Registry:
    def __init__(self, base: BaseDir, general: str, files: SoldierFiles, clock: Clock) -> None:
        disk.make_directory(base.state)
        self._path = base.sessions_file
        self._general = general
        self._files = files
        self._clock = clock
        self._lock = Lock(registry_lock(base))

    @contextmanager
    def open(self, patience: float = 0.0) -> Iterator[Register | None]:
        """None when another general has it just now."""
        if not until(self._lock.try_acquire, patience):
            yield None
            return
        try:
            now = self._clock.now().timestamp()
            yield Register(self._path, self._general, self._files, now)
        finally:
            self._lock.release()

    def close(self, own: Iterable[Entry], patience: float = _LAST_PATIENCE) -> None:
        """What is entered last is what stays: another general may have been at it until now."""
        with suppress(OSError), self.open(patience) as register:
            if register is not None:
                register.write(own)
        self._lock.close()


def _entries(path: str) -> list[Entry]:
    found = read_json(path, [])
    if not isinstance(found, list):
        return []
    return [entry for entry in found if isinstance(entry, dict)]
