"""Whether a process lives, and since when: pids come again, so a start time tells two apart."""

from __future__ import annotations

import os


def started(pid: int) -> int | None:
    """Start time in clock ticks; None when no such process lives (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None if os.path.exists("/proc/self/stat") else _started_without_proc(pid)
    return None if words[0] in (b"Z", b"X") else int(words[19])


def parent(pid: int) -> int | None:
    """Who started it, or has adopted it since; None when that is not to be known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def _started_without_proc(pid: int) -> int | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return 0
