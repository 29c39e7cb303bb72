"""What reading costs, in figures that do not depend on how fast the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

MEGABYTE = 1024 * 1024


def bytes_read_by(act: Callable[[], object]) -> int:
    """Through system calls, by this process."""
    before = _counted()
    act()
    return _counted() - before


def times_bare_reading(act: Callable[[], object], path: Path) -> float:
    """How many times the work of splitting the file into lines it takes; the best of three."""
    return min(_work(act) for _ in range(3)) / min(_work(lambda: _lines(path)) for _ in range(3))


def _work(act: Callable[[], object]) -> float:
    began = time.thread_time()
    act()
    return time.thread_time() - began


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _counted() -> int:
    name, _, number = Path("/proc/self/io").read_text("ascii").splitlines()[0].partition(": ")
    assert name == "rchar"
    return int(number)
