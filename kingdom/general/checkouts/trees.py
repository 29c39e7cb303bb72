"""Whole directories: how large they are, out of the way, gone. Links are never followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from kingdom import pids
from kingdom.store import disk

_WORK = ".work-"
_numbers = count(1)


@contextmanager
def work_directory(parent: str) -> Iterator[str]:
    """For what is made in several steps and then renamed, or thrown away."""
    pid = os.getpid()
    path = os.path.join(parent, f"{_WORK}{pid}-{pids.started(pid)}-{next(_numbers)}")
    disk.make_private_directory(path)
    try:
        yield path
    finally:
        with suppress(OSError):  # the next one to look removes it
            remove(path)


def clear_work(parent: str) -> None:
    """What was left there by processes that were killed."""
    for name in disk.names(parent):
        words = name.removeprefix(_WORK).split("-")
        if not name.startswith(_WORK) or len(words) != 3 or not words[0].isdecimal():
            continue
        if str(pids.started(int(words[0]))) != words[1]:
            with suppress(OSError):  # a git that outlived its general may still write there
                remove(os.path.join(parent, name))


def remove(path: str) -> None:
    """A directory with all that is in it; no error if there is none."""
    if disk.facts_of(path) is None:
        return
    waiting = [path]
    while waiting:
        below = list(_subdirectories_left(waiting[-1]))
        if below:
            waiting += below
        else:
            disk.remove_directory(waiting.pop())


def remove_anything(path: str) -> None:
    """The same for what may be a file or a link."""
    if os.path.isdir(path) and not os.path.islink(path):
        remove(path)
    else:
        disk.remove(path)


def _subdirectories_left(path: str) -> Iterator[str]:
    """After everything else in there is removed."""
    try:
        with os.scandir(path) as found:
            entries = list(found)
    except PermissionError:
        disk.set_mode(path, 0o700)
        with os.scandir(path) as found:
            entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield entry.path
        else:
            _remove_file(entry.path)


def _remove_file(path: str) -> None:
    try:
        disk.remove(path)
    except PermissionError:  # of the directory: package caches are often read-only
        disk.set_mode(os.path.dirname(path), 0o700)
        disk.remove(path)


def move_aside(path: str, word: str) -> str:
    """Beside where it was, under the first free name such as `repo.broken-1`."""
    for number in count(1):
        target = f"{path}.{word}-{number}"
        with suppress(FileExistsError):
            disk.move_anything(path, target)
            return target
    raise AssertionError("count() ends")


def size(path: str) -> int:
    """Bytes on disk."""
    total, waiting = 0, [path]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    facts = disk.facts_of(entry.path)
                    total += facts.st_blocks * 512 if facts else 0
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return total
