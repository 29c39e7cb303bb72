"""The floors: the least a careful program does with synced files, with SQLite, with inotify.

They keep no delivery record, check no id, take no lock and survive no crash in the middle. They
only do on disk what each step cannot do without.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections import deque
from typing import NamedTuple

from tests.bench.contestants import Contestant, Store, sync_directory
from tests.bench.parcels import Parcel


class _Held(NamedTuple):
    id: str
    content: bytes


class SyncedFiles(Store):
    """Publish: a synced file in `pending/`. Claim: rename to `in_progress/`, both directories
    synced, and the file read. Commit: a synced file with the new content in `completed/`, then the
    one in `in_progress/` removed and that directory synced. Which file is next is known in memory.
    """

    def __init__(self, directory: str) -> None:
        self._pending, self._working, self._completed = (
            os.path.join(directory, name) for name in ("pending", "in_progress", "completed")
        )
        for path in (self._pending, self._working, self._completed):
            os.makedirs(path)
        self._waiting: deque[str] = deque()

    def put(self, parcel: Parcel) -> None:
        _write_synced(self._pending, parcel.id, parcel.content)
        self._waiting.append(parcel.id)

    def claim(self) -> _Held | None:
        if not self._waiting:
            return None
        name = self._waiting.popleft()
        held = f"{self._working}/{name}"
        os.rename(f"{self._pending}/{name}", held)
        sync_directory(self._working)
        sync_directory(self._pending)
        with open(held, "rb", buffering=0) as file:
            return _Held(name, file.read())

    def done(self, claimed: _Held) -> None:
        _write_synced(self._completed, claimed.id, claimed.content)
        os.unlink(f"{self._working}/{claimed.id}")
        sync_directory(self._working)

    def id_of(self, claimed: _Held) -> str:
        return claimed.id

    def close(self) -> None:
        self._waiting.clear()


def _write_synced(directory: str, name: str, content: bytes) -> None:
    temporary = f"{directory}/.tmp-{name}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, f"{directory}/{name}")
    sync_directory(directory)


class BareSqlite(Store):
    """One row per message, one transaction per step, WAL and synchronous=FULL."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "bare.db")
        self._connection = sqlite3.connect(path, isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE IF NOT EXISTS message"
            " (number INTEGER PRIMARY KEY, id TEXT UNIQUE, state TEXT, content BLOB)",
            "CREATE INDEX IF NOT EXISTS by_state ON message (state)",
        ):
            self._connection.execute(statement)

    def put(self, parcel: Parcel) -> None:
        self._connection.execute(
            "INSERT INTO message (id, state, content) VALUES (?, 'pending', ?)",
            (parcel.id, parcel.content),
        )

    def claim(self) -> _Held | None:
        rows = self._connection.execute(
            "UPDATE message SET state = 'in_progress' WHERE number ="
            " (SELECT number FROM message WHERE state = 'pending' ORDER BY number LIMIT 1)"
            " RETURNING id, content"
        ).fetchall()
        return _Held(*rows[0]) if rows else None

    def done(self, claimed: _Held) -> None:
        self._connection.execute(
            "UPDATE message SET state = 'completed', content = ? WHERE id = ?",
            (claimed.content, claimed.id),
        )

    def id_of(self, claimed: _Held) -> str:
        return claimed.id

    def close(self) -> None:
        self._connection.close()


class BareInotify:
    """One directory, one kind of event, one blocking read."""

    _CREATE, _MOVED_TO = 0x100, 0x80

    def __init__(self, directory: str, *, created: bool = False) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_CLOEXEC)
        wanted = self._CREATE | self._MOVED_TO if created else self._MOVED_TO
        watch = libc.inotify_add_watch(self._descriptor, os.fsencode(directory), wanted)
        if watch < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), directory)

    def wait(self) -> bytes:
        return os.read(self._descriptor, 4096)

    def close(self) -> None:
        os.close(self._descriptor)


FILES = Contestant("bare synced files", SyncedFiles)
SQLITE = Contestant("bare SQLite", BareSqlite, note="WAL, synchronous=FULL")
