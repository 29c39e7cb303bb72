"""The only module that changes what lies on disk.

Every call the kernel sees for `queue/` and `state/` goes through `os`, `fcntl` and `_libc` as named
here, in `libc` and in `locks`. The crash tests replace those names with recorders, so a call that
is written here tomorrow is stopped before and after by the tests of tomorrow; a check of the
sources keeps such calls out of every other module.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from kingdom import pids
from kingdom.store.libc import EXCHANGE, NO_REPLACE, rename, syncfs
from kingdom.store.paths import TEMPORARY_PREFIX
from kingdom.store.rights import DIRECTORY_MODE, MODE, open_rightly, refuse_irregular

ASIDE = ".aside"  # what was in the way of a file, or was there and could not be read
_PIECE = 1024 * 1024

Stamp = tuple[int, int]


def stamp_of(facts: os.stat_result) -> Stamp:
    """Tells one version of a file from the next: inodes are used again, and clocks are coarse."""
    return facts.st_ino, facts.st_mtime_ns


def stamp_at(path: str) -> Stamp:
    """The same for what lies there; a rename takes it along."""
    return stamp_of(os.lstat(path))


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    descriptor = open_rightly(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def set_aside(path: str) -> str:
    """Another name for what is in the way of a file; answers which. If another process was first,
    there is nothing left to do."""
    number = 1
    while True:
        aside = f"{path}{ASIDE}" + (f".{number}" if number > 1 else "")
        try:
            move_anything(path, aside)
        except FileExistsError:
            number += 1
        except FileNotFoundError:
            return aside
        else:
            return aside


def create(path: str, data: bytes, *, sync: bool = False) -> None:
    """A new file with this content; an existing one is an error. All of it or nothing is left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
    try:
        try:
            written = os.write(descriptor, data)
            if written < len(data):
                write_all(descriptor, data[written:])
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:  # an interrupt too: half a file would be in the way of the next try
        os.unlink(path)
        raise


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
    return os.path.join(directory, f"{TEMPORARY_PREFIX}{_writer(os.getpid())}-{name}")


@lru_cache(maxsize=4)  # a child is another writer
def _writer(pid: int) -> str:
    """Pids come again, so its start is named as well."""
    return f"{pid}-{pids.started(pid) or 0}"


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
    if not rename(source, target, NO_REPLACE):
        os.link(source, target, follow_symlinks=False)
        os.unlink(source)


def link_in(source: str, target: str) -> None:
    """The same in two steps, which cost less than the one: ctypes is slow between syncs. After a
    crash both names are left, and a temporary's is removed like any other."""
    os.link(source, target, follow_symlinks=False)
    os.unlink(source)


def link_or_copy(source: str, target: str) -> None:
    """A second name for a file, or a copy where the file system has none. Someone else may change
    the source meanwhile: what then is not a regular file is not taken."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM):
            raise
        copy(source, target)
    if os.path.islink(target) or not os.path.isfile(target):
        os.unlink(target)


def copy(source: str, target: str, limit: int | None = None) -> None:
    """A regular file's content and its times, as a new file; no link is followed, and none that is
    larger than the limit is copied."""
    with _opened(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as given:
        facts = refuse_irregular(given, source)
        if limit is not None and facts.st_size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), source)
        with _opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as made:
            while data := os.read(given, _PIECE):
                write_all(made, data)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def move_anything(source: str, target: str) -> None:
    """The same for what may be a directory or a device, where a link is no way out."""
    if not rename(source, target, NO_REPLACE):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        os.rename(source, target)


def exchange(one: str, other: str) -> None:
    """Both names swap what they mean, in one step."""
    if not rename(one, other, EXCHANGE):
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


def clear_away(path: str) -> None:
    """Nothing has this name afterwards; a directory is kept under another."""
    try:
        remove(path)
    except IsADirectoryError:
        set_aside(path)


def remove_directory(path: str) -> None:
    """An empty one; OSError if there is something in it."""
    os.rmdir(path)


def make_pipe(path: str, data: bytes) -> int:
    """A named pipe with this in it, for as long as the descriptor is open."""
    os.mkfifo(path, MODE)
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    os.write(descriptor, data)
    return descriptor


def drain(path: str, limit: int) -> bytes:
    """What is in a pipe now; never waits."""
    with _opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
        return os.read(descriptor, limit)


def set_mode(path: str, mode: int) -> None:
    os.chmod(path, mode)


def set_time(path: str, seconds: int) -> None:
    """When it was last changed."""
    os.utime(path, (seconds, seconds))


def keep_private(directory: str) -> None:
    """Only its owner may look inside. One of another's is left as it is."""
    facts = os.stat(directory)
    if stat.S_IMODE(facts.st_mode) & 0o077 and facts.st_uid == os.geteuid():
        os.chmod(directory, 0o700)


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
        os.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        return
    sync_directory(parent)


def make_private_directory(path: str) -> None:
    """One that is new and this user's alone; an existing one is an error."""
    os.mkdir(path, DIRECTORY_MODE)


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
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


def sync_filesystem(path: str) -> None:
    """Everything written so far to the file system that holds this path is safe afterwards."""
    with _opened(path, os.O_RDONLY) as descriptor:
        if not syncfs(descriptor, path):
            os.sync()


def replace(path: str, data: bytes, *, sync: bool = True) -> None:
    """Write-then-rename for state files of one writer: readers see the old or the new, whole.

    What cannot be read is not lost: it gets another name, as does a directory in the way.
    """
    directory, name = os.path.split(path)
    temporary = _temporary(directory, name)
    remove(temporary)
    create(temporary, data, sync=sync)
    if not os.access(path, os.R_OK) and os.access(path, os.F_OK, follow_symlinks=False):
        set_aside(path)
    try:
        os.replace(temporary, path)
    except IsADirectoryError:
        set_aside(path)
        os.replace(temporary, path)
    if sync:
        sync_directory(directory)


def replace_by(source: str, target: str) -> None:
    """The source under the target's name, instead of whatever had it."""
    os.replace(source, target)


def touch(path: str) -> None:
    """Its time is now; made, empty, if missing."""
    try:
        os.utime(path, follow_symlinks=False)
    except FileNotFoundError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, MODE))
    except PermissionError:  # another user's, in a directory of ours
        set_aside(path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, MODE))


def write_over(path: str, data: bytes) -> None:
    """Content of always the same length, small enough to be whole at any moment; its time is now.
    Made if missing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, MODE)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def open_to_append(path: str) -> int:
    """A descriptor for the output of a process: every write goes to the end, whoever writes."""
    return open_rightly(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def append_line(path: str, data: bytes) -> None:
    """One line, one write, at the end of whatever the name means now.

    The file is opened for each line, so a rotation by rename loses none. A writer that was killed,
    or a disk that filled, may have left a line without its end: the next line begins a new one.
    Another's long line seen half written looks the same, so readers pass over empty lines.
    """
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
        size = refuse_irregular(descriptor, path).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def open_file(path: str) -> int:
    """A descriptor to read and write in place; made, with its name safe, if missing. What is no
    file is put out of the way."""
    try:
        descriptor = open_rightly(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            refuse_irregular(descriptor, path)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO):
            raise
        set_aside(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, MODE)
    try:
        sync_directory(os.path.dirname(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_lock(path: str) -> int:
    """A descriptor to lock with; made if missing, whatever it is if not."""
    return open_rightly(path, os.O_RDWR | os.O_CREAT)


def open_to_read(path: str) -> int:
    """A descriptor for one who reads here and there, and follows links."""
    return open_rightly(path, os.O_RDONLY)


def open_to_copy(path: str, *, follow: bool) -> int:
    """The same for one who changes nothing, not even a right that is missing."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))


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


def facts_of_open(descriptor: int) -> os.stat_result:
    """Of what was opened, whatever its name means by now."""
    return os.fstat(descriptor)


def cut(descriptor: int, size: int) -> None:
    """What comes after so many bytes is gone."""
    os.ftruncate(descriptor, size)


def read(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """A regular file's content; never follows a link, never waits on a pipe, never reads too much.

    Raises OSError: ELOOP for a symbolic link, EINVAL for anything that is not a regular file,
    EFBIG for one larger than the limit.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = refuse_irregular(descriptor, path)
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
        with _opened(path, os.O_RDONLY) as descriptor:
            return os.pread(descriptor, size, 0)
    except FileNotFoundError:
        return b""


def tail(path: str, size: int) -> bytes:
    """The last bytes of a file; none if it is missing."""
    try:
        with _opened(path, os.O_RDONLY) as descriptor:
            return os.pread(descriptor, size, max(os.fstat(descriptor).st_size - size, 0))
    except FileNotFoundError:
        return b""


def ends(path: str, size: int) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file, in one look."""
    with _opened(path, os.O_RDONLY) as descriptor:
        last = max(os.fstat(descriptor).st_size - size, 0)
        return os.pread(descriptor, size, 0), os.pread(descriptor, size, last)


def names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def entries(directory: str) -> Iterator[os.DirEntry[str]]:
    """The same bit by bit, for directories that hold very many."""
    try:
        found = os.scandir(directory)
    except FileNotFoundError:
        return
    with found:
        yield from found


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
    except (FileNotFoundError, NotADirectoryError):
        return None


def facts_in_foreign(path: str) -> os.stat_result | None:
    """The same where a soldier keeps the directory, and may have made anything of it."""
    try:
        return os.lstat(path)
    except OSError:
        return None
