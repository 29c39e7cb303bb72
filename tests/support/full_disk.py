"""A disk that refuses: one write, as a full one does, or any call, as a damaged one does."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WRITES = ("write", "pwrite", "fsync", "fdatasync", "replace", "renameat2", "link", "mkdir")


class Refusing:
    """An observer of calls: the n-th that writes finds the disk full."""

    def __init__(self, point: int) -> None:
        self.left = point

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in WRITES:
            self.left -= 1
            if self.left == 0:
                raise _full()
        return call()


class Failing:
    """An observer of calls: the n-th of them fails, whatever it is."""

    def __init__(self, point: int) -> None:
        self.left = point

    @property
    def has_failed(self) -> bool:
        return self.left <= 0

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        self.left -= 1
        if self.left == 0:
            raise damaged()
        return call()


class FailingOnce(Failing):
    """The n-th call of this name fails."""

    def __init__(self, name: str, point: int) -> None:
        super().__init__(point)
        self.name = name

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        return super().__call__(name, arguments, call) if name == self.name else call()


class FailingForGood(Failing):
    """The same, and each one after it as well; only what asks nothing of the disk still works."""

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in ("flock", "close"):
            return call()
        self.left -= 1
        if self.left <= 0:
            raise damaged()
        return call()


class NotShowing:
    """Takes a commit's record, and then refuses to change the queue, once."""

    def __init__(self) -> None:
        self.recorded = self.refused = False

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "pwrite" and arguments[1].startswith(b"#"):
            self.recorded = True
        if self.recorded and not self.refused and name in ("renameat2", "link"):
            self.refused = True
            raise _full()
        return call()


def _full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def damaged() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A real one that can be filled."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs mount, which is not installed")
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a tmpfs: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
