"""A process of our own for a while: it is killed when the work with it ends, whatever it does."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def started(job: Callable[[], None]) -> Iterator[int]:
    """Yields its process id. It leaves by no other way than its death."""
    pid = os.fork()
    if pid == 0:
        _become(job)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _become(job: Callable[[], None]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    status = 1
    try:
        job()
        status = 0
    except KeyboardInterrupt:
        pass
    except Exception:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)
