"""Into the background: for good, or as long as the one who started it lives."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable

from kingdom import limits
from kingdom.runtime.children import flush, fork, leave
from kingdom.store import disk

Launch = Callable[[Callable[[], int], str], None]


def detached(live: Callable[[], int], log: str) -> None:
    """A grandchild in a session of its own lives that life; its output is appended to `log`.

    Comes back at once, in the caller only.
    """
    output = _opened(log)
    flush()
    child = limits.fork()
    if child:
        disk.close_file(output)
        _, status = os.waitpid(child, 0)
        if number := os.waitstatus_to_exitcode(status):
            raise limits.limit_in(OSError(number, ""), starting=True) or OSError(
                number, os.strerror(number)
            )
        return
    code = errno.EIO
    try:
        os.setsid()
        if _forked():  # no leader of its session, so no terminal can become its own
            _redirect(output)
            code = live()
        else:
            code = 0
    except BaseException:  # noqa: BLE001 - the child must not go on in the parent's code
        traceback.print_exc()
    finally:
        leave(code)


def _forked() -> bool:
    """Whether this is the child; without one, whoever waits hears why."""
    try:
        return os.fork() == 0
    except OSError as error:
        leave(error.errno or errno.EIO)


def attached(live: Callable[[], int], log: str) -> None:
    """The same in a child that is asked to end when this process does, whatever that dies of."""

    def begin() -> int:
        _redirect(_opened(log))
        return live()

    fork(begin, lambda: None)


def _opened(log: str) -> int:
    """A log that cannot be written keeps nobody from starting; what it would say is lost."""
    try:
        return disk.open_to_append(log)
    except OSError:
        return disk.open_to_append(os.devnull)


def _redirect(output: int) -> None:
    with open(os.devnull, encoding="ascii") as nothing:
        os.dup2(nothing.fileno(), 0)
    for number in (1, 2):
        os.dup2(output, number)
    if output > 2:
        disk.close_file(output)
