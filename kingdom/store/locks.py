"""What processes share through a file: locks, and a page of memory.

Nothing here is synced, and nobody may rely on it after the machine went down. The kernel is asked
through `os` and `fcntl` as named here, for the reason that `disk` gives.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from types import TracebackType

from kingdom.store import disk

_STILL_READABLE = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.EROFS)


class Lock:
    """An advisory lock between processes on a file of its own; the kernel frees it at death.

    A lock works on whatever lies under its name and can be opened at all, a directory too. What
    cannot be opened is put out of the way, unless somebody has it locked.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._open()

    def _open(self) -> None:
        try:
            self._descriptor = _opened(self.path)
        except OSError as error:
            self._descriptor = _made_anew(self.path, error)
        self._facts = os.fstat(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def acquire(self) -> None:
        """Of the file that has the name now: where somebody removed it, others wait at another."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            while not self.is_in_place():
                before = self._descriptor
                self._open()
                os.close(before)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:  # a disk that refuses; nobody else is to wait for it
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            raise

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
        except (FileNotFoundError, NotADirectoryError):
            return False
        return os.path.samestat(facts, self._facts)

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)


def _opened(path: str) -> int:
    """Whoever may read it can lock it."""
    try:
        return disk.open_lock(path)
    except OSError as error:
        if error.errno not in _STILL_READABLE or not disk.exists(path):
            raise
        return disk.open_to_read(path)


def _made_anew(path: str, error: OSError) -> int:
    """Several processes may find the same one unusable: the first puts it out of the way, and the
    others open what it made."""
    try:
        directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        raise error from None
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        try:
            return _opened(path)
        except OSError:
            if held_by(path) is not None or not disk.exists(path):
                raise
            disk.set_aside(path)
            return _opened(path)
    finally:
        os.close(directory)


def is_locked(path: str) -> bool:
    """Whether somebody has it alone; OSError if that cannot be tried. It changes nothing."""
    try:
        descriptor = disk.open_to_read(path)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        disk.close_file(descriptor)
    return False


def held_by(path: str) -> int | None:
    """The process that has locked this file alone, as the system lists it; for a file that cannot
    be opened to try."""
    try:
        inode = os.lstat(path).st_ino
        with open("/proc/locks", encoding="ascii") as listed:
            for line in listed:
                words = line.split()
                if words[1] == "FLOCK" and words[3] == "WRITE" and _inode_in(words[5]) == inode:
                    return int(words[4])
    except (OSError, IndexError, ValueError):
        return None
    return None


def _inode_in(file: str) -> int:
    """Of `device:device:inode`; file systems tell devices in two ways."""
    return int(file.rpartition(":")[2])


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
        descriptor = disk.open_file(path)
        try:
            # Not only long enough but there: with a full disk, a store into a hole is a SIGBUS.
            os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)
            self.memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self.memory.close()
