"""Where the bench works: a directory of its own on a real disk, which is gone afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

IN_MEMORY = ("tmpfs", "ramfs")

# From <linux/fs.h>; the numbers hold on 64-bit systems.
_GET_FLAGS, _SET_FLAGS, _TOP_OF_TREES = 0x80086601, 0x40086602, 0x00020000
_FLAGS = struct.Struct("l")


@contextmanager
def work_directory(given: str | None, beside: str) -> Iterator[str]:
    """In the directory given, else beside the checkout, or in it where one may not write there."""
    parent = given or os.path.dirname(beside)
    if not os.access(parent, os.W_OK):
        parent = beside
    before = signal.signal(signal.SIGTERM, _leave)
    path = tempfile.mkdtemp(prefix=".kingdom-bench-", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.sync()  # or ext4 without a journal passes over the removed for minutes, see below
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def section(directory: str, name: str) -> Iterator[str]:
    """A part of it for one measurement. It stays until all are over, see `_keep_apart`."""
    path = os.path.join(directory, name)
    os.mkdir(path)
    _keep_apart(path)
    yield path


def own_place(directory: str) -> str:
    """A path in a section that nobody else uses and that is still to be made. The name above it is
    random, because regions are chosen by it, and the last run's may still bear its traces."""
    return os.path.join(tempfile.mkdtemp(dir=directory), "store")


def _keep_apart(directory: str) -> None:
    """Ask for each subdirectory to lie in a region of its own, as `chattr +T` does. Where ext4 has
    no journal it passes over what was removed within a minute, one by one, and what one contestant
    removed would slow the next one's creating. Elsewhere there is nothing to ask for.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):
        answer = fcntl.ioctl(descriptor, _GET_FLAGS, _FLAGS.pack(0))
        flags = _FLAGS.unpack(answer)[0] | _TOP_OF_TREES
        fcntl.ioctl(descriptor, _SET_FLAGS, _FLAGS.pack(flags))
    os.close(descriptor)


def file_system_of(path: str, mounts: str | None = None) -> str:
    """The type of the file system that holds this path: ext4, tmpfs, ..."""
    found, longest = "unknown", -1
    for line in (mounts if mounts is not None else _mounts()).splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].encode().decode("unicode_escape")
        inside = os.path.join(os.path.realpath(path), "").startswith(os.path.join(point, ""))
        if inside and len(point) >= longest:
            found, longest = right.split(" ")[0], len(point)
    return found


def _mounts() -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
