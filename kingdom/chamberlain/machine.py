"""What the machine says: the only module that asks psutil.

Figures of the processor are shares of the time since the look before; there is none before the
second look.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import psutil

from kingdom.models.resources import Usage

MEGABYTE = 1_000_000
_LEAST = 1.0  # seconds between two looks, so that a few ticks of the clock do not pass for a share


@dataclass(frozen=True)
class Reading:
    cpu_percent: float | None
    memory_percent: float
    disk_percent: float
    load: float


class Group(NamedTuple):
    """Processes that are counted together, under the one that began them."""

    kind: Literal["role", "soldier"]
    root: int
    members: Collection[int]


class Machine:
    def __init__(self, root: str) -> None:
        self._root = root
        self._cores = psutil.cpu_count() or 1
        self._before = _processor()
        self._groups: dict[str, tuple[int, float, float]] = {}  # its root, seconds used, when

    def read(self) -> Reading:
        return Reading(
            cpu_percent=self._cpu_percent(),
            memory_percent=float(psutil.virtual_memory().percent),
            disk_percent=float(psutil.disk_usage(self._root).percent),
            load=round(os.getloadavg()[0], 2),
        )

    def _cpu_percent(self) -> float | None:
        now = _processor()
        busy, passed = now[0] - self._before[0], now[1] - self._before[1]
        if passed < _LEAST * self._cores:
            return None
        self._before = now
        return round(min(max(busy / passed, 0.0), 1.0) * 100, 1)

    def usage(self, groups: Mapping[str, Group], now: float) -> dict[str, Usage]:
        """Of each group that still is there. What a process has collected of its dead children
        counts, too: of a compiler that ran between two looks nothing else is left."""
        found, seen = {}, {}
        for name, group in groups.items():
            alive = [one for one in map(_process, group.members) if one is not None]
            if not alive:
                continue
            spent, memory = _sum(one[0] for one in alive), _sum(one[1] for one in alive)
            seen[name] = (group.root, spent, now)
            share = _share(self._groups.get(name), seen[name])
            found[name] = Usage(
                kind=group.kind,
                pid=group.root,
                processes=len(alive),
                cpu_percent=None if share is None else round(share * 100, 1),
                memory_mb=round(memory / MEGABYTE, 1),
            )
        self._groups = seen
        return found


def _share(before: tuple[int, float, float] | None, now: tuple[int, float, float]) -> float | None:
    if before is None or before[0] != now[0] or now[2] <= before[2]:
        return None
    return max(now[1] - before[1], 0.0) / (now[2] - before[2])


def _processor() -> tuple[float, float]:
    """Seconds in which it worked, and all seconds, over all cores since the machine started."""
    times: Any = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # in user already
    total = sum(times) - guests
    return total - times.idle - getattr(times, "iowait", 0.0), total


def _process(pid: int) -> tuple[float, float] | None:
    """Seconds of processor time and bytes of memory; None when it has just ended."""
    try:
        process: Any = psutil.Process(pid)
        times = process.cpu_times()
        seconds = times.user + times.system + times.children_user + times.children_system
        return float(seconds), float(process.memory_info().rss)
    except psutil.Error:
        return None


def _sum(values: Iterable[float]) -> float:
    return float(sum(values))
