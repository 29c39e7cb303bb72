"""How soon a waiting consumer knows of a file that another process renamed into its queue.

The producer is a process of its own. It makes the file ready, watches until the consumer sleeps,
notes the time and renames; the consumer notes the time when its wait returned. Both read the same
monotonic clock.
"""

from __future__ import annotations

import os
import statistics
import struct
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic_ns

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.store.paths import BaseDir
from tests.bench.children import started
from tests.bench.figures import Figure, at_most, compared
from tests.bench.floors import BareInotify
from tests.bench.ours import STREAM, WORKER
from tests.bench.parcels import parcels
from tests.bench.report import Rate

_WAKES = 20  # of each, in one round
_PATIENCE = 60.0
_STAMP = struct.Struct("q")


class Producer:
    """Renames a file into a directory when told to, once whoever told it has gone to sleep."""

    def __init__(self, stack: ExitStack) -> None:
        order_read, self._order = os.pipe()
        self._answer, answer_write = os.pipe()
        consumer = os.getpid()
        stack.enter_context(started(lambda: _produce(consumer, order_read, answer_write)))
        for descriptor in (order_read, answer_write):
            os.close(descriptor)
        for descriptor in (self._order, self._answer):
            stack.callback(os.close, descriptor)

    def order(self, ready: str, target: str) -> None:
        os.write(self._order, f"{ready}\0{target}\n".encode())

    def renamed_at(self) -> int:
        stamp: int = _STAMP.unpack(os.read(self._answer, _STAMP.size))[0]
        return stamp


def _produce(consumer: int, orders: int, answers: int) -> None:
    with open(orders, encoding="utf-8") as lines:
        for line in lines:
            ready, target = line.rstrip("\n").split("\0")
            while not _sleeps(consumer):
                os.sched_yield()
            stamp = monotonic_ns()
            os.rename(ready, target)
            os.write(answers, _STAMP.pack(stamp))


def _sleeps(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] == b"S"


def waking(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    with ExitStack() as stack:
        producer = Producer(stack)
        wake_ours = _ours(os.path.join(directory, "kingdom"), producer, stack)
        wake_bare = _bare(os.path.join(directory, "bare"), producer, stack)
        ours: list[float] = []
        bare: list[float] = []
        for number in range(rounds + 1):
            pairs = [(wake_ours(), wake_bare()) for _ in range(_WAKES)]
            if number > 0:
                ours.append(statistics.median(pair[0] for pair in pairs))
                bare.append(statistics.median(pair[1] for pair in pairs))
    return [compared("wake-up to bare inotify", ours, bare, at_most(8.0))], [
        Rate("wake-up: kingdom", statistics.median(ours) / 1e3, "µs"),
        Rate("wake-up: bare inotify", statistics.median(bare) / 1e3, "µs"),
    ]


def _ours(directory: str, producer: Producer, stack: ExitStack) -> Callable[[], int]:
    base = BaseDir(directory)
    bus = FileBus(base)
    stack.callback(bus.close)
    bus.recover()

    def wake() -> int:
        parcel = parcels(1)[0]
        ready = base.path("dropped.part")
        _write(ready, parcel.content)
        producer.order(ready, base.path("queue", STREAM, "pending", f"{parcel.id}.json"))
        assert bus.wait([STREAM], _PATIENCE)
        woken = monotonic_ns()
        bus.commit([Move(claim, "completed") for claim in bus.claim(STREAM, WORKER)])
        return woken - producer.renamed_at()

    return wake


def _bare(directory: str, producer: Producer, stack: ExitStack) -> Callable[[], int]:
    watched = os.path.join(directory, "watched")
    os.makedirs(watched)
    inotify = BareInotify(watched)
    stack.callback(inotify.close)

    def wake() -> int:
        parcel = parcels(1)[0]
        ready = os.path.join(directory, "dropped.part")
        _write(ready, parcel.content)
        producer.order(ready, os.path.join(watched, parcel.id))
        inotify.wait()
        woken = monotonic_ns()
        return woken - producer.renamed_at()

    return wake


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
