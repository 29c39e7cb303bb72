"""Which processes belong to a soldier: all below its wrapper, and all that bear its mark.

The wrapper is a subreaper, so what a program leaves behind (also in sessions of its own) stays
below it. The mark in the environment finds the rest, should the wrapper itself have been killed.
Only the standard library, since the wrapper imports this at every start.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from kingdom import pids

MARK = "KINGDOM_SOLDIER_ID"
_DEAD = b"ZX"
_STOPPED = b"Tt"


def started(pid: int) -> int:
    """Its start in clock ticks; 0 when no such process lives."""
    return pids.started(pid) or 0


def is_alive(pid: int, start: int) -> bool:
    return start > 0 and started(pid) == start


def members(wrapper: int, soldier_id: str) -> dict[int, bool]:
    """The living processes of a soldier, without its wrapper, and whether each is stopped."""
    return Survey().members(wrapper, soldier_id)


class Survey:
    """All processes of one moment, to be asked for several soldiers."""

    def __init__(self) -> None:
        self._stopped: dict[int, bool] = {}
        self._children: dict[int, list[int]] = {}
        self._marks: dict[bytes, list[int]] | None = None
        for name in os.listdir("/proc"):
            words = _stat(name) if name.isdecimal() else None
            if words is not None and words[0] not in _DEAD:
                pid = int(name)
                self._stopped[pid] = words[0] in _STOPPED
                self._children.setdefault(int(words[1]), []).append(pid)

    def members(self, wrapper: int | None, soldier_id: str) -> dict[int, bool]:
        """Without a wrapper, those that bear the soldier's mark and what they started."""
        found = set(self._marked().get(soldier_id.encode(), ()))
        waiting = [*found] if wrapper is None else [wrapper, *found]
        while waiting:
            below = set(self._children.get(waiting.pop(), ())) - found
            found |= below
            waiting += below
        found.discard(wrapper or 0)
        return {pid: self._stopped[pid] for pid in found}

    def _marked(self) -> dict[bytes, list[int]]:
        if self._marks is None:
            self._marks = {}
            for pid in self._stopped:
                mark = _mark(pid)
                if mark:
                    self._marks.setdefault(mark, []).append(pid)
        return self._marks


def _stat(name: str) -> list[bytes] | None:
    """The words after the program's name, which may hold anything: state, parent, …"""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _mark(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = b"\0" + file.read()
    except OSError:
        return b""
    after = environment.partition(f"\0{MARK}=".encode())[2]
    return after.partition(b"\0")[0]


def send(pids: Iterable[int], *signals: signal.Signals) -> None:
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                break
