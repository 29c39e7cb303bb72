"""Whole directories: how to walk through one, copy what is in it, and remove it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kingdom.store import disk

DEEPEST = 100  # directories inside each other
_CHUNK = 1024 * 1024

Test = Callable[[str], bool]  # of a path


class Found(NamedTuple):
    """Something in a tree. `error`: why it, or what is in it, cannot be looked at."""

    path: str
    facts: os.stat_result | None
    error: OSError | None = None


def tree(
    path: str, follows: Test, leaves_out: Test, above: tuple[tuple[int, int], ...] = ()
) -> Iterator[Found]:
    """This directory and all below it, each directory before its content. Links are followed where
    `follows` says so and they lead somewhere. What went meanwhile is left out."""
    facts: os.stat_result | None = None
    names: list[str] = []
    error: OSError | None = None
    try:
        facts = _facts(path, follows)
        own = (facts.st_dev, facts.st_ino)
        if stat.S_ISDIR(facts.st_mode):
            _refuse_endless(own, above)
            names = sorted(disk.names(path))
    except FileNotFoundError:
        return
    except OSError as caught:
        error = caught
    yield Found(path, facts, error)
    for inside in (os.path.join(path, name) for name in names):
        if not leaves_out(inside):
            yield from tree(inside, follows, leaves_out, (*above, own))


def _refuse_endless(own: tuple[int, int], above: tuple[tuple[int, int], ...]) -> None:
    if own in above:
        raise OSError(errno.ELOOP, "it leads back to a directory above it")
    if len(above) == DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"it lies more than {DEEPEST} directories deep")


def _facts(path: str, follows: Test) -> os.stat_result:
    facts = os.lstat(path)
    if stat.S_ISLNK(facts.st_mode) and follows(path):
        try:
            return os.stat(path)
        except OSError:
            return facts  # it leads nowhere
    return facts


class Unreadable(Exception):
    """Why a file could not be copied, when it is the file's fault and not the copy's."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def copy_file(
    source: str, target: str, *, follow: bool, largest: int
) -> tuple[os.stat_result, bool]:
    """What was copied, and whether it stayed the same meanwhile. FileNotFoundError: it is gone."""
    with _opened(source, follow) as descriptor:
        before = disk.facts_of_open(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable(OSError(errno.EINVAL, "it is not a regular file"))
        if before.st_size > largest:
            raise Unreadable(OSError(errno.EFBIG, f"it is larger than {largest // 1024**3} GiB"))
        write_new(target, _chunks(descriptor, before.st_size))
        after = disk.facts_of_open(descriptor)
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return before, is_same


@contextmanager
def _opened(path: str, follow: bool) -> Iterator[int]:
    try:
        descriptor = disk.open_to_copy(path, follow=follow)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(error) from error
    try:
        yield descriptor
    finally:
        disk.close_file(descriptor)


def _chunks(descriptor: int, size: int) -> Iterator[bytes]:
    """So many bytes, or as many as there are by now."""
    offset = 0
    while offset < size:
        try:
            chunk = disk.read_at(descriptor, min(size - offset, _CHUNK), offset)
        except OSError as error:
            raise Unreadable(error) from error
        if not chunk:
            return
        yield chunk
        offset += len(chunk)


def write_new(path: str, chunks: Iterable[bytes]) -> None:
    """A new file that only its owner may read, whole or not there. Zeros take no room in it."""
    descriptor = disk.create_and_open(path, stat.S_IRUSR | stat.S_IWUSR)
    size, is_hole = 0, False
    try:
        for chunk in chunks:
            is_hole = not chunk.strip(b"\0")
            if not is_hole:
                disk.write_at(descriptor, chunk, size)
            size += len(chunk)
        if is_hole:
            disk.cut(descriptor, size)
    except BaseException:  # an interrupt too: half a file is none
        disk.remove(path)
        raise
    finally:
        disk.close_file(descriptor)


def files_below(root: str) -> Iterator[str]:
    """Every path below that is not a directory, links not followed; what went meanwhile is left
    out."""
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            yield os.path.join(directory, name)


def remove_tree(root: str) -> int:
    """How many files went; links are removed and not followed."""
    try:
        return _remove(root)
    except OSError:
        _make_writable(root)
        return _remove(root)


def _remove(root: str) -> int:
    removed = 0
    for directory, directories, names in os.walk(root, topdown=False):
        for name in names:
            removed += disk.remove(os.path.join(directory, name))
        for name in directories:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                disk.remove(path)
            else:
                disk.remove_directory(path)
    if os.path.isdir(root):
        disk.remove_directory(root)
    return removed


def _make_writable(root: str) -> None:
    """Nothing can be removed from a directory that its owner may not write to."""
    if os.path.isdir(root):
        disk.set_mode(root, stat.S_IRWXU)
    for directory, directories, _ in os.walk(root):
        for path in (os.path.join(directory, name) for name in directories):
            if not os.path.islink(path):
                disk.set_mode(path, stat.S_IRWXU)
