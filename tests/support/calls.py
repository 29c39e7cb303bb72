"""Every call to the kernel that changes the disk, seen one by one.

Only a few modules make such calls, and only through their names `os`, `fcntl` and `_libc`. Here
these are replaced by doubles that hand each call on, after telling an observer of it. A call that
somebody adds to one of the modules tomorrow is seen without a change here; that no other module
makes any is what `tests/unit/test_one_place_for_the_disk.py` checks.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

from kingdom.store import disk, libc, locks, rights

MODULES = (disk, libc, locks, rights)
NAMES = ("os", "fcntl", "_libc")

# These ask the interpreter, not the kernel's file systems.
NOT_CALLS = {"fsencode", "fsdecode", "strerror", "getpid", "geteuid"}

# What these do, a dead process has not done: before and after them the disk is the same.
CHANGE_NOTHING = {
    "access",
    "lstat",
    "stat",
    "chmod",  # names and contents stay
    "listdir",
    "scandir",
    "pread",
    "read",
    "fstat",
    "close",
    "flock",
}

Observer = Callable[[str, tuple[Any, ...], Callable[[], Any]], Any]


class Double:
    """Stands for a module; each function of it goes through the observer."""

    def __init__(self, original: Any, observer: Observer) -> None:
        self._original = original
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        if not callable(value) or isinstance(value, type) or name in NOT_CALLS:
            return value

        def observed(*arguments: Any, **options: Any) -> Any:
            return self._observer(name, arguments, lambda: value(*arguments, **options))

        return observed


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    seams = [
        (one, name, getattr(one, name)) for one in MODULES for name in NAMES if name in vars(one)
    ]
    for module, name, original in seams:
        setattr(module, name, Double(original, observer))
    try:
        yield
    finally:
        for module, name, original in seams:
            setattr(module, name, original)


class Killer:
    """Ends the process with SIGKILL before or after its n-th call, passing over some names."""

    def __init__(self, point: int, *, after: bool, passing_over: Container[str] = ()) -> None:
        self.left = point
        self.after = after
        self.passing_over = passing_over

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in self.passing_over:
            return call()
        self.left -= 1
        if self.left == 0 and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return call()
        finally:  # also when the call failed, as many do on purpose
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> int:
    """Run it in a process of its own; answers the exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent learns of it from the exit code
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
