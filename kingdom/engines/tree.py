"""Which processes belong to a soldier: all below its wrapper, and all that bear its mark.

The wrapper is a subreaper, so what a program leaves behind (also in sessions of its own) stays
below it. Marks find the rest, should the wrapper itself have been killed: one in the environment,
and a number for those that were started with another environment. The number is a limit of locks,
which every process hands down and which the kernel itself has ignored since 2.4.
Only the standard library, since the wrapper imports this at every start.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Collection, Iterable
from contextlib import suppress

from kingdom import pids

MARK = "KINGDOM_SOLDIER_ID"
_RLIMIT_LOCKS = 10
_NAMED = b"Max file locks"
_LARGEST = 2**61 - 1  # a prime, so that different soldiers hardly ever get the same number
_DEAD = b"ZX"
_STOPPED = b"Tt"


def started(pid: int) -> int:
    """Its start in clock ticks; 0 when no such process lives."""
    return pids.started(pid) or 0


def is_alive(pid: int, start: int) -> bool:
    return start > 0 and started(pid) == start


def mark(soldier_id: str) -> None:
    """This process and all it will start, whatever their environment. Where a lower limit is set
    that nobody may raise, the environment has to do."""
    number = _number(soldier_id)
    with suppress(OSError, ValueError):
        resource.setrlimit(_RLIMIT_LOCKS, (number, number))


def members(wrapper: int, soldier_id: str) -> dict[int, bool]:
    """The living processes of a soldier, without its wrapper, and whether each is stopped."""
    return Survey().members(wrapper, soldier_id)


class Survey:
    """All processes of one moment, to be asked for several soldiers."""

    def __init__(self) -> None:
        self._stopped: dict[int, bool] = {}
        self._children: dict[int, list[int]] = {}
        self._marks: dict[bytes | int, list[int]] | None = None
        for name in os.listdir("/proc"):
            words = _stat(name) if name.isdecimal() else None
            if words is not None and words[0] not in _DEAD:
                pid = int(name)
                self._stopped[pid] = words[0] in _STOPPED
                self._children.setdefault(int(words[1]), []).append(pid)

    def members(self, wrapper: int | None, soldier_id: str) -> dict[int, bool]:
        """Without a wrapper, those that bear the soldier's mark and what they started."""
        marks = self._marked()
        numbered = marks.get(_number(soldier_id), ())
        found = {*marks.get(soldier_id.encode(), ()), *filter(_is_ours, numbered)}
        waiting = [wrapper, *found] if wrapper else [*found]  # 0 is the parent of all there is
        while waiting:
            below = set(self._children.get(waiting.pop(), ())) - found
            found |= below
            waiting += below
        found.discard(wrapper or 0)
        return {pid: self._stopped[pid] for pid in found}

    def below(self, root: int, without: Collection[int] = ()) -> set[int]:
        """It and all that it started, but for those and what they started."""
        found, waiting = {root}, [root]
        while waiting:
            new = set(self._children.get(waiting.pop(), ())) - found - {*without}
            found |= new
            waiting += new
        return found

    def _marked(self) -> dict[bytes | int, list[int]]:
        if self._marks is None:
            self._marks = {}
            for pid in self._stopped:
                for one in (_name_on(pid), _number_on(pid)):
                    self._marks.setdefault(one, []).append(pid)
        return self._marks


def _stat(name: str) -> list[bytes] | None:
    """The words after the program's name, which may hold anything: state, parent, …"""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _name_on(pid: int) -> bytes:
    environment = b"\0" + _content(pid, "environ")
    after = environment.partition(f"\0{MARK}=".encode())[2]
    return after.partition(b"\0")[0]


def _number_on(pid: int) -> int:
    """0: none."""
    words = _content(pid, "limits").partition(_NAMED)[2].split(maxsplit=2)
    return int(words[0]) if words and words[0].isdigit() else 0


def words_of(pid: int) -> list[str]:
    """What it was called with; none when it is gone."""
    return [os.fsdecode(word) for word in _content(pid, "cmdline").split(b"\0")[:-1]]


def _number(soldier_id: str) -> int:
    return int.from_bytes(soldier_id.encode(), "big") % _LARGEST


def _is_ours(pid: int) -> bool:
    """What runs as someone else (`sudo`) cannot be ended by us, so nobody may wait for its end."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _content(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def send(pids: Iterable[int], *signals: signal.Signals) -> None:
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                break
