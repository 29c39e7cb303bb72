"""How fast the chamberlain reads a backlog of the events log, and in how much memory.

Against a bare reader that takes the file line by line and parses each, with the parser of the
standard library, and for comparison with the quick one that the chamberlain uses itself. What ours
does besides: counting by type, general and day, the windows of anomalies, and its ledger, synced,
after every few megabytes.
"""

from __future__ import annotations

import io
import json
import os
import resource
import statistics
import sys
from collections.abc import Callable
from time import perf_counter

import orjson

from kingdom.chamberlain.reading import ReadEvents
from kingdom.clock import SystemClock
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_least, at_most, compared
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.support.event_lines import completed, detected, failed, line
from tests.support.household import office_in

_COMPARED_MB = 32
_MB = 1024 * 1024


def reading(directory: str, rounds: int, megabytes: int) -> tuple[list[Figure], list[Rate]]:
    base = BaseDir(own_place(directory))
    _write_log(base, _COMPARED_MB)
    took: dict[str, list[float]] = {"ours": [], "json": [], "orjson": []}
    for _ in range(rounds):
        took["json"].append(_timed(lambda: _read_bare(base, json.loads))[0])
        took["orjson"].append(_timed(lambda: _read_bare(base, orjson.loads))[0])
        seconds, little = _timed(lambda: _read_ours(base))
        took["ours"].append(seconds)
    _write_log(base, megabytes)
    seconds, much = _timed(lambda: _read_ours(base))
    name = "events log: bytes a second to a bare reader"
    return [
        compared(f"{name} (json)", took["json"], took["ours"], at_least(0.5)),
        compared(f"{name} (orjson)", took["orjson"], took["ours"]),
        compared(
            f"events log: memory at {megabytes} MB to {_COMPARED_MB} MB", [much], [little],
            at_most(1.3),
        ),
    ], [
        *(
            Rate(f"events log: {who}", _COMPARED_MB / statistics.median(spent), "MB/s")
            for who, spent in took.items()
        ),
        Rate(f"events log: {megabytes} MB at once", megabytes / seconds, "MB/s"),
        Rate(f"events log: memory at {megabytes} MB", much / 1024, "MB"),
    ]  # fmt: skip


def _write_log(base: BaseDir, megabytes: int) -> None:
    os.makedirs(base.logs, exist_ok=True)
    kinds: list[Callable[[int], bytes]] = [
        lambda n: detected(f"evt-github-{n}", n),
        lambda n: line("event.dispatched", "king", n, event_id=f"evt-github-{n}",
                       task_id=f"task-20260207-{n}", target_general="gen-pr"),
        lambda n: line("task.created", "king", n, task_id=f"task-20260207-{n}",
                       event_type="github.pr.comment", target_general="gen-pr", priority="low"),
        lambda n: line("task.started", "gen-pr", n, task_id=f"task-20260207-{n}"),
        lambda n: line("soldier.spawned", "gen-pr", n, task_id=f"task-20260207-{n}",
                       soldier_id=f"soldier-{n}"),
        lambda n: failed("gen-pr", n) if n % 10 == 0 else completed("gen-pr", n, n % 600),
        lambda n: line("message.sent", "envoy", n, msg_id=f"msg-{n}", task_id=None, channel="#k"),
    ]  # fmt: skip
    block = b"".join(kind(number) for number in range(0, 72_000, 12) for kind in kinds)
    with open(base.events_log, "wb") as file:
        while file.tell() < megabytes * _MB:
            file.write(block)


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and the most memory in KB, of a process that does it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        began = perf_counter()
        work()
        spent = perf_counter() - began
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writer, f"{spent} {most}".encode())
        os._exit(0)
    os.close(writer)
    with io.FileIO(reader) as answer:
        said = answer.readall().split()
    os.waitpid(child, 0)
    assert len(said) == 2, "the reader failed"
    return float(said[0]), float(said[1])


def _read_bare(base: BaseDir, parse: Callable[[bytes], object]) -> None:
    with open(base.events_log, "rb") as file:
        for one in file:
            parse(one)


def _read_ours(base: BaseDir) -> None:
    """From nothing."""
    with office_in(base, SystemClock()) as office:
        if os.path.exists(office.path("ledger.json")):
            os.unlink(office.path("ledger.json"))
        duty = ReadEvents(office)
        duty.start()
        while duty.step() == 0.0:
            pass
        sys.stderr.flush()
