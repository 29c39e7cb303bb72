"""The only module that changes anything on disk.

Every call the kernel sees for `queue/` and `state/` goes through `os`, `fcntl` and `_libc` as named
here. The crash tests replace those three names with recorders, so a call written here tomorrow is
stopped before and after by the tests of tomorrow; a check of the sources keeps such calls out of
every other module.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import stat
from types import TracebackType

from kingdom.store.paths import TEMPORARY_PREFIX

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

MODE = 0o644

_libc = ctypes.CDLL(None, use_errno=True)
if hasattr(_libc, "renameat2"):
    # Declared, the call costs a third less.
    _path = ctypes.c_char_p
    _libc.renameat2.argtypes = [ctypes.c_int, _path, ctypes.c_int, _path, ctypes.c_uint]


def _rename(source: str, target: str, flags: int) -> bool:
    """renameat2; False where the kernel or the file system does not know the flag."""
    try:
        call = _libc.renameat2
    except AttributeError:  # a C library older than the call
        return False
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), source, None, target)


Stamp = tuple[int, int]


def stamp_of(facts: os.stat_result) -> Stamp:
    """Tells one version of a file from the next: inodes are used again, and clocks are coarse."""
    return facts.st_ino, facts.st_mtime_ns


def create(path: str, data: bytes, *, sync: bool = False) -> None:
    """A new file with this content; an existing one is an error. All of it or nothing is left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
    try:
        written = os.write(descriptor, data)
        if written < len(data):
            write_all(descriptor, data[written:])
        if sync:
            os.fsync(descriptor)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def create_whole(path: str, data: bytes) -> None:
    """The same for a file that others look at the moment it is there: they see all of it."""
    directory, name = os.path.split(path)
    temporary = _temporary(directory, name)
    remove(temporary)
    create(temporary, data)
    try:
        link_in(temporary, path)
    except FileExistsError:
        remove(temporary)
        raise


def _temporary(directory: str, name: str) -> str:
    """Beside its target, named after its writer: `leftovers` removes it when that is gone."""
    return os.path.join(directory, f"{TEMPORARY_PREFIX}{os.getpid()}-{name}")


def overwrite(path: str, data: bytes) -> None:
    """Other content for a file that nobody reads yet; its blocks and its inode stay."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def move(source: str, target: str) -> None:
    """Rename that never replaces: FileExistsError if the target's name is taken."""
    if not _rename(source, target, _RENAME_NOREPLACE):
        os.link(source, target, follow_symlinks=False)
        os.unlink(source)


def link_in(source: str, target: str) -> None:
    """The same in two steps, which cost less than the one: ctypes is slow between syncs. After a
    crash both names are left, and a temporary's is removed like any other."""
    os.link(source, target, follow_symlinks=False)
    os.unlink(source)


def move_anything(source: str, target: str) -> None:
    """The same for what may be a directory or a device, where a link is no way out."""
    if not _rename(source, target, _RENAME_NOREPLACE):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        os.rename(source, target)


def exchange(one: str, other: str) -> None:
    """Both names swap what they mean, in one step."""
    if not _rename(one, other, _RENAME_EXCHANGE):
        kept = f"{one}.kept"
        os.link(other, kept)
        os.replace(one, other)
        os.rename(kept, one)


def remove(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def remove_directory(path: str) -> None:
    """An empty one; OSError if there is something in it."""
    os.rmdir(path)


def set_mode(path: str, mode: int) -> None:
    os.chmod(path, mode)


def create_and_open(path: str, mode: int) -> int:
    """A descriptor to write a new file with; an existing one is an error."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


def make_directory(path: str) -> None:
    """This directory and its parents, durably; no error if it is there."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    sync_directory(parent)


def make_private_directory(path: str) -> None:
    """One that is new and this user's alone; an existing one is an error."""
    os.mkdir(path, 0o700)


def sync_file(path: str) -> bool:
    """Whether it was there, and now is safe, whatever lies under its name."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_filesystem(path: str) -> None:
    """Everything written so far to the file system that holds this path is safe afterwards."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if not hasattr(_libc, "syncfs"):
            os.sync()
        elif _libc.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
    finally:
        os.close(descriptor)


def replace(path: str, data: bytes, *, sync: bool = True) -> None:
    """Write-then-rename for state files of one writer: readers see the old or the new, whole."""
    directory, name = os.path.split(path)
    temporary = _temporary(directory, name)
    remove(temporary)
    create(temporary, data, sync=sync)
    os.replace(temporary, path)
    if sync:
        sync_directory(directory)


def replace_by(source: str, target: str) -> None:
    """The source under the target's name, instead of whatever had it."""
    os.replace(source, target)


def touch(path: str) -> None:
    """Its time is now; made, empty, if missing."""
    try:
        os.utime(path)
    except FileNotFoundError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, MODE))


def open_to_append(path: str) -> int:
    """A descriptor for the output of a process: every write goes to the end, whoever writes."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, MODE)


def append_line(path: str, data: bytes) -> None:
    """One line, one write, at the end of whatever the name means now.

    The file is opened for each line, so a rotation by rename loses none. A writer that was killed,
    or a disk that filled, may have left a line without its end: the next line begins a new one.
    Another's long line seen half written looks the same, so readers pass over empty lines.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, MODE)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(descriptor)


def open_file(path: str) -> int:
    """A descriptor to read and write in place; made, with its name safe, if missing."""
    try:
        return os.open(path, os.O_RDWR)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, MODE)
        sync_directory(os.path.dirname(path))
        return descriptor


def open_to_read(path: str) -> int:
    """A descriptor for one who reads here and there, and follows links."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def close_file(descriptor: int) -> None:
    os.close(descriptor)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    return os.pread(descriptor, size, offset)


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    written = os.pwrite(descriptor, data, offset)
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], offset + written)


def write_synced_at(descriptor: int, data: bytes, offset: int) -> None:
    """The same, safe on return."""
    written = os.pwrite(descriptor, data, offset)
    if written < len(data):
        write_at(descriptor, data[written:], offset + written)
    os.fdatasync(descriptor)


def sync_data(descriptor: int) -> None:
    os.fdatasync(descriptor)


def size_of(descriptor: int) -> int:
    return os.fstat(descriptor).st_size


def read(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """A regular file's content; never follows a link, never waits on a pipe, never reads too much.

    Raises OSError: ELOOP for a symbolic link, EINVAL for anything that is not a regular file,
    EFBIG for one larger than the limit.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        if facts.st_size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        data = os.read(descriptor, facts.st_size + 1)
        while len(data) < facts.st_size:
            more = os.read(descriptor, facts.st_size - len(data))
            if not more:
                break
            data += more
        return data, facts
    finally:
        os.close(descriptor)


def head(path: str, size: int) -> bytes:
    """The first bytes of a file; none if it is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(descriptor, size, 0)
    finally:
        os.close(descriptor)


def tail(path: str, size: int) -> bytes:
    """The last bytes of a file; none if it is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(descriptor, size, max(os.fstat(descriptor).st_size - size, 0))
    finally:
        os.close(descriptor)


def names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def is_in_any(directories: list[str], name: str) -> bool:
    """Whether the name is taken in one of these directories."""
    for directory in directories:
        if os.access(directory + name, os.F_OK, follow_symlinks=False):
            return True
    return False


def exists(path: str) -> bool:
    """Whether the name is taken, by whatever it is; cheaper than asking for facts."""
    return os.access(path, os.F_OK, follow_symlinks=False)


def facts_of(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


class SharedPage:
    """A page of memory that processes share through a file. It is never synced: true until the
    machine goes down, and nobody may rely on it after that."""

    def __init__(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, MODE)
        try:
            # Not only long enough but there: with a full disk, a store into a hole is a SIGBUS.
            os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)
            self.memory = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self.memory.close()


class Lock:
    """An advisory lock between processes on a file of its own; the kernel frees it at death."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, MODE)

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
        facts = facts_of(self.path)
        return facts is not None and os.path.samestat(facts, os.fstat(self._descriptor))

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
        except BaseException:
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
