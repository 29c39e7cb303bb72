"""A disk that refuses one write, as a full one does, and takes the next."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

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
