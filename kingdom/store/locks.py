"""What processes share through a file: locks, and a page of memory.

Nothing here is synced, and nobody may rely on it after the machine went down. The kernel is asked
through `os` and `fcntl` as named here, for the reason that `disk` gives.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from types import TracebackType

_MODE = 0o644


class Lock:
    """An advisory lock between processes on a file of its own; the kernel frees it at death."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _MODE)

    def fileno(self) -> int:
        return self._descriptor

    def acquire(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_share(self) -> bool:
        """Any number may share it at once; whether nobody has it alone."""
        return self._try(fcntl.LOCK_SH)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_in_place(self) -> bool:
        """Whether its name still means this file; one that was removed locks nobody out."""
        try:
            facts = os.lstat(self.path)
        except FileNotFoundError:
            return False
        return os.path.samestat(facts, os.fstat(self._descriptor))

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Lock:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class Locks:
    """Several locks, always taken in the order of their paths."""

    def __init__(self, locks: list[Lock]) -> None:
        self._locks = sorted(locks, key=_path_of) if len(locks) > 1 else locks
        self._taken = 0

    def __enter__(self) -> None:
        try:
            for lock in self._locks:
                lock.acquire()
                self._taken += 1
        except BaseException:  # an interrupt too: what stays locked stops every other process
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for lock in reversed(self._locks[: self._taken]):
            lock.release()
        self._taken = 0


def _path_of(lock: Lock) -> str:
    return lock.path


class SharedPage:
    """A page of memory that is the same in all of them, true until the machine goes down."""

    def __init__(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _MODE)
        try:
            # Not only long enough but there: with a full disk, a store into a hole is a SIGBUS.
            os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)
            self.memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self.memory.close()
