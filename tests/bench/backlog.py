"""Whether a claim costs more when many wait: a hundred against a hundred thousand.

The short queue's consumer is opened anew for each round, so that it has what a consumer knows best:
a queue it has just read. Both have read theirs before the first claim that counts. Claims alternate
between the two, and what was claimed is completed and replaced between the rounds.
"""

from __future__ import annotations

import statistics
from datetime import timedelta
from time import perf_counter

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move, New
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_most, compared
from tests.bench.ours import STREAM, WORKER
from tests.bench.parcels import tasks
from tests.bench.place import own_place
from tests.bench.report import Rate

FEW = 100
_AT_ONCE = 1000
_CLAIMS = 20
_LEASE = timedelta(hours=1)


def claiming(directory: str, rounds: int, many: int) -> tuple[list[Figure], list[Rate]]:
    short, long = BaseDir(own_place(directory)), BaseDir(own_place(directory))
    _fill(short, FEW)
    _fill(long, many)
    behind_few: list[float] = []
    behind_many: list[float] = []
    backlogged = _reader(long)
    for number in range(rounds + 1):
        fresh = _reader(short)
        took = _alternate(fresh, backlogged)
        fresh.close()
        if number > 0:
            behind_few.append(took[0])
            behind_many.append(took[1])
    backlogged.close()
    name = f"claim with {many:,} pending to one with {FEW}"
    return [compared(name, behind_many, behind_few, at_most(1.5))], [
        Rate(f"claim: {FEW} pending", statistics.median(behind_few) * 1e6, "µs"),
        Rate(f"claim: {many:,} pending", statistics.median(behind_many) * 1e6, "µs"),
    ]


def _fill(base: BaseDir, count: int) -> None:
    bus = FileBus(base, durable=False)
    for start in range(0, count, _AT_ONCE):
        bus.publish(STREAM, *tasks(min(_AT_ONCE, count - start)))
    bus.close()


def _reader(base: BaseDir) -> FileBus:
    bus = FileBus(base)
    bus.recover()
    bus.wait([STREAM], 0)
    return bus


def _alternate(*buses: FileBus) -> list[float]:
    """Seconds that a claim took each bus, at the median."""
    took: list[list[float]] = [[] for _ in buses]
    held: list[list[Claim]] = [[] for _ in buses]
    for _ in range(_CLAIMS):
        for number, bus in enumerate(buses):
            started = perf_counter()
            claims = bus.claim(STREAM, WORKER, lease=_LEASE)
            took[number].append(perf_counter() - started)
            held[number] += claims
    for bus, claims in zip(buses, held, strict=True):
        assert len(claims) == _CLAIMS
        new = [New(STREAM, task) for task in tasks(_CLAIMS)]
        bus.commit([Move(claim, "completed") for claim in claims], new)
        bus.wait([STREAM], 0)
    return [statistics.median(values) for values in took]
