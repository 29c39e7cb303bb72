"""Into the background: for good, or as long as the one who started it lives."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from kingdom.runtime.children import flush, fork, leave
from kingdom.store import disk

Launch = Callable[[Callable[[], int], str], None]


def detached(live: Callable[[], int], log: str) -> None:
    """A grandchild in a session of its own lives that life; its output is appended to `log`.

    Comes back at once, in the caller only.
    """
    output = _opened(log)
    flush()
    child = os.fork()
    if child:
        disk.close_file(output)
        os.waitpid(child, 0)
        return
    code = 1
    try:
        os.setsid()
        if os.fork() == 0:  # no leader of its session, so no terminal can become its own
            _redirect(output)
            code = live()
        else:
            code = 0
    except BaseException:  # noqa: BLE001 - the child must not go on in the parent's code
        traceback.print_exc()
    finally:
        leave(code)


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
