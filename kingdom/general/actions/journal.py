"""What became of the actions of one row of tasks: `state/results/{first task}-actions.json`.

Before something is posted its entry says `intended`, and `done` when that is known. One that is
found `intended` belongs to a life that ended in between: it becomes `doubtful`, as does one whose
answer was lost, and rests until whatever was under way has arrived. One that is `refused` counts
for the attempt that it names.

All tasks that continue one another share the file. Without it nothing is posted twice either, since
GitHub itself is asked before each post, except for what is under way at that very moment.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from kingdom.clock import isoformat
from kingdom.errors import TryLater
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

SUFFIX = "actions.json"

Entry = dict[str, Any]


class JournalFailed(TryLater):
    """The disk does not give or take what must be known before anything is posted."""

    code = "disk_failed"


class Journal:
    """Of one writer at a time; `name` marks what is posted, as it did the first time."""

    def __init__(self, base: BaseDir, lineage: str, name: str, *, sync: bool = True) -> None:
        self._path = os.path.join(base.results, f"{lineage}-{SUFFIX}")
        self._sync = sync
        try:
            found = read_json(self._path, needed=True)
        except OSError as error:
            raise JournalFailed(f"{self._path} cannot be read: {error.strerror}.") from error
        kept: dict[str, Any] = found if isinstance(found, dict) else {}
        entries = kept.get("actions")
        self.name = _text(kept, "name") or name
        self._entries: dict[str, Entry] = {
            key: entry
            for key, entry in (entries.items() if isinstance(entries, dict) else ())
            if isinstance(entry, dict)
        }
        tries = kept.get("tries")
        self.tries = tries if type(tries) is int and tries > 0 else 0
        self.waits_since = moment(_text(kept, "waits_since"))

    def entry(self, key: str) -> Entry:
        return self._entries.get(key, {})

    def note(self, key: str, state: str, at: datetime, **facts: str) -> None:
        entry = {"state": state, "at": isoformat(at)} | {k: v for k, v in facts.items() if v}
        self._entries[key] = entry
        if state == "done":  # it goes on
            self.tries, self.waits_since = 0, None
        self._write()

    def forget(self, key: str) -> None:
        if self._entries.pop(key, None) is not None:
            self._write()

    def note_wait(self, now: datetime) -> None:
        """Once more nothing could be done."""
        self.tries += 1
        self.waits_since = min(self.waits_since or now, now)
        self._write()

    def _write(self) -> None:
        since = isoformat(self.waits_since) if self.waits_since else None
        kept = {"name": self.name, "actions": self._entries, "tries": self.tries}
        try:
            disk.make_directory(os.path.dirname(self._path))
            write_json(self._path, kept | {"waits_since": since}, sync=self._sync)
        except OSError as error:
            raise JournalFailed(f"{self._path} cannot be written: {error.strerror}.") from error


def moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _text(raw: Entry, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
