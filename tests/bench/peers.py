"""Queues that others publish, at the most durable settings they have.

Where a file-based one lacks a sync, it is added around its public interface: the same promise is
compared, and the cheapest way to it is taken. What a peer cannot promise even so is in its note and
shows in the kills.
"""

from __future__ import annotations

import mailbox
import os
import pickle
from typing import Any, BinaryIO

import litequeue
import persistqueue
from huey.storage import FileStorage, SqliteStorage

from tests.bench.contestants import Contestant, Store, sync_directory, sync_file
from tests.bench.parcels import Parcel, id_in

_DONE = b"done"


class _SyncedPickle:
    """A serializer for persist-queue, through which pass all bytes that it writes."""

    @staticmethod
    def dump(value: Any, file: BinaryIO) -> None:
        pickle.dump(value, file)
        file.flush()
        os.fsync(file.fileno())

    @staticmethod
    def load(file: BinaryIO) -> Any:
        return pickle.load(file)


class PersistQueueFile(Store):
    """Its own syncs come once in a hundred messages. The serializer adds those of the contents,
    and the directory is synced after each step that renames into it."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        os.makedirs(directory, exist_ok=True)
        self._queue = persistqueue.Queue(directory, tempdir=directory, serializer=_SyncedPickle)

    def put(self, parcel: Parcel) -> None:
        self._queue.put(parcel.content)
        sync_directory(self._directory)

    def claim(self) -> bytes | None:
        try:
            content: bytes | None = self._queue.get(block=False)
        except persistqueue.Empty:
            return None
        return content

    def done(self, claimed: bytes) -> None:
        self._queue.task_done()
        sync_directory(self._directory)

    def id_of(self, claimed: bytes) -> str | None:
        return id_in(claimed)

    def close(self) -> None:
        self._queue.headf.close()
        self._queue.tailf.close()


class PersistQueueAck(Store):
    def __init__(self, directory: str) -> None:
        self._queue = persistqueue.SQLiteAckQueue(directory)
        self._queue._conn.execute("PRAGMA synchronous = FULL")

    def put(self, parcel: Parcel) -> None:
        self._queue.put(parcel.content)

    def claim(self) -> dict[str, Any] | None:
        try:
            claimed: dict[str, Any] = self._queue.get(block=False, raw=True)
        except persistqueue.Empty:
            return None
        return claimed

    def done(self, claimed: dict[str, Any]) -> None:
        self._queue.ack(id=claimed["pqid"])

    def id_of(self, claimed: dict[str, Any]) -> str | None:
        return id_in(claimed["data"])

    def tidy(self) -> None:
        self._queue.clear_acked_data(max_delete=100_000, keep_latest=0)

    def close(self) -> None:
        self._queue.close()


class LiteQueue(Store):
    """What a lost consumer had locked stays locked until someone asks for it, as here."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self._queue = litequeue.LiteQueue(os.path.join(directory, "lite.db"))
        self._queue.conn.execute("PRAGMA synchronous = FULL")  # its own choice is NORMAL
        for message in list(self._queue.list_locked(threshold_seconds=0)):
            self._queue.retry(message.message_id)

    def put(self, parcel: Parcel) -> None:
        self._queue.put(parcel.text)

    def claim(self) -> litequeue.Message | None:
        return self._queue.pop()

    def done(self, claimed: litequeue.Message) -> None:
        self._queue.done(claimed.message_id)

    def id_of(self, claimed: litequeue.Message) -> str | None:
        return id_in(claimed.data)

    def tidy(self) -> None:
        self._queue.prune()

    def close(self) -> None:
        self._queue.close()


def _key_for(content: bytes) -> str:
    """A put that was killed may have left half a message."""
    return id_in(content) or "damaged"


class HueySqlite(Store):
    """huey forgets a message when it is claimed; done is the result it stores then."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "huey.db")
        self._storage = SqliteStorage(filename=path, fsync=True, strict_fifo=True)

    def put(self, parcel: Parcel) -> None:
        self._storage.enqueue(parcel.content)

    def claim(self) -> bytes | None:
        content: bytes | None = self._storage.dequeue()
        return content

    def done(self, claimed: bytes) -> None:
        self._storage.put_data(_key_for(claimed), _DONE, is_result=True)

    def id_of(self, claimed: bytes) -> str | None:
        return id_in(claimed)

    def tidy(self) -> None:
        self._storage.flush_results()

    def close(self) -> None:
        self._storage.close()


class HueyFile(Store):
    """The same on files, of which huey syncs none. A message that is claimed is gone, so that its
    directory need not be synced before the result is."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self._storage = FileStorage("bench", directory, levels=0)

    def put(self, parcel: Parcel) -> None:
        self._storage.enqueue(parcel.content)
        queue = self._storage.queue_path
        sync_file(os.path.join(queue, max(os.listdir(queue))))  # it does not tell the name
        sync_directory(queue)

    def claim(self) -> bytes | None:
        content: bytes | None = self._storage.dequeue()
        return content

    def done(self, claimed: bytes) -> None:
        key = _key_for(claimed)
        self._storage.put_data(key, _DONE, is_result=True)
        sync_file(self._storage.path_for_key(key))
        sync_directory(self._storage.result_path)
        sync_directory(self._storage.queue_path)

    def id_of(self, claimed: bytes) -> str | None:
        return id_in(claimed)

    def tidy(self) -> None:
        self._storage.flush_results()

    def close(self) -> None:
        pass


class Maildir(Store):
    """Claimed as mail readers do, by a rename from `new/` to `cur/`; done is removed. The library
    syncs what it writes, and the directories are synced here."""

    def __init__(self, directory: str) -> None:
        self._new = os.path.join(directory, "new")
        self._seen = os.path.join(directory, "cur")
        self._box = mailbox.Maildir(directory)

    def put(self, parcel: Parcel) -> None:
        self._box.add(parcel.content)
        sync_directory(self._new)

    def claim(self) -> tuple[str, bytes] | None:
        key = next(self._box.iterkeys(), None)
        if key is None:
            return None
        content = self._box.get_bytes(key)
        path = os.path.join(self._new, key)
        if os.path.exists(path):  # else a lost reader had claimed it already
            os.rename(path, os.path.join(self._seen, f"{key}:2,S"))
        return key, content

    def done(self, claimed: tuple[str, bytes]) -> None:
        self._box.discard(claimed[0])
        sync_directory(self._seen)

    def id_of(self, claimed: tuple[str, bytes]) -> str | None:
        return id_in(claimed[1])

    def close(self) -> None:
        self._box.close()


ON_FILES = (
    Contestant(
        "persist-queue, file",
        PersistQueueFile,
        note="one process only; syncs of contents and directory added",
    ),
    Contestant(
        "huey, file",
        HueyFile,
        note="all syncs added; what is claimed is gone, done is its result",
    ),
    Contestant(
        "Maildir",
        Maildir,
        note="syncs of directories added; done is removed, nothing is kept",
    ),
)
ON_SQLITE = (
    Contestant("persist-queue, SQLite ack", PersistQueueAck, note="WAL, synchronous=FULL"),
    Contestant("litequeue", LiteQueue, note="WAL, synchronous=FULL"),
    Contestant(
        "huey, SQLite",
        HueySqlite,
        note="WAL, fsync=True; what is claimed is gone, done is its result",
    ),
)
