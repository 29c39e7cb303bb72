"""The king: from an event's file to its task's, and how fast a backlog becomes tasks.

The king is a process of its own, with all in place but soldiers: nobody claims the tasks, and the
limit of soldiers is out of reach.
"""

from __future__ import annotations

import os
import statistics
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic_ns, perf_counter

from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock
from kingdom.king.daemon import make
from kingdom.models.event import Event
from kingdom.ops.init import init
from kingdom.runtime.role import run
from kingdom.store.paths import BaseDir
from tests.bench.children import started
from tests.bench.figures import Figure, at_least, at_most, compared
from tests.bench.floors import FILES, BareInotify
from tests.bench.ours import STREAM
from tests.bench.parcels import parcels
from tests.bench.place import own_place
from tests.bench.report import Rate

WAITING = 1000
_FILES_OF_A_DISPATCH = 3  # the event as it is now, its task, the message that opens the thread
_EVENTS = 40  # of each round
_TYPE = "github.pr.review_requested"


def reacting(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    """Both sides are medians of a round; a publish is one of the bus's own."""
    with ExitStack() as stack:
        base = _kingdom(own_place(directory))
        arrivals = BareInotify(base.path("queue", "tasks", "pending"), created=True)
        stack.callback(arrivals.close)
        stack.enter_context(started(lambda: _be_king(base)))
        floor = FileBus(BaseDir(own_place(directory)))
        stack.callback(floor.close)
        _drop(base, 0)
        arrivals.wait()  # it is up
        ours, floors = [], []
        for number in range(rounds + 1):
            reactions = [_reaction(base, arrivals, number * _EVENTS + n) for n in range(_EVENTS)]
            publishes = [_publish(floor) for _ in range(_EVENTS)]
            if number > 0:
                ours.append(statistics.median(reactions))
                floors.append(statistics.median(publishes))
    return [compared("event to task, to one durable publish", ours, floors, at_most(8.0))], [
        Rate("event to task: kingdom", statistics.median(ours) / 1e3, "µs"),
        Rate("event to task: one durable publish", statistics.median(floors) / 1e3, "µs"),
    ]


def dispatching(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    ours, floors = [], []
    for number in range(rounds + 1):
        rates = _dispatch_rate(own_place(directory)), _floor_rate(own_place(directory))
        if number > 0:
            ours.append(rates[0])
            floors.append(rates[1])
    name = f"{WAITING:,} waiting events, to three synced files each"
    return [compared(name, ours, floors, at_least(1 / 3))], [
        Rate("dispatch: kingdom", statistics.median(ours), "a second"),
        Rate("dispatch: three bare synced files", statistics.median(floors), "a second"),
    ]


def _kingdom(directory: str) -> BaseDir:
    base = BaseDir(directory)
    init(base)
    local = Path(base.path("config", "local"))
    (local / "king.yaml").write_text("concurrency: {max_soldiers: 1000000}\n")
    (local / "system.yaml").write_text("runtime: {engine: rehearsal}\n")
    return base


def _be_king(base: BaseDir) -> None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    run(base, "king", make, os.environ)


def _event(number: int) -> Event:
    return Event(
        id=f"evt-bench-{number:07d}",
        type=_TYPE,
        source="bench",
        payload={"text": parcels(1)[0].task.payload["text"]},
        created_at=SystemClock().now(),
        trust="member",
    )


def _drop(base: BaseDir, number: int) -> int:
    """As any tool would, by a rename; answers when."""
    event = _event(number)
    ready = base.path("dropped.part")
    Path(ready).write_bytes(event.to_json())
    began = monotonic_ns()
    os.rename(ready, base.path("queue", "events", "pending", f"{event.id}.json"))
    return began


def _reaction(base: BaseDir, arrivals: BareInotify, number: int) -> int:
    began = _drop(base, number + 1)
    arrivals.wait()
    return monotonic_ns() - began


def _publish(floor: FileBus) -> int:
    task = parcels(1)[0].task
    began = monotonic_ns()
    floor.publish(STREAM, task)
    return monotonic_ns() - began


def _dispatch_rate(directory: str) -> float:
    base = _kingdom(directory)
    with closing(FileBus(base)) as bus:
        bus.publish("events", *[_event(number) for number in range(WAITING)])
    os.sync()
    pending = base.path("queue", "events", "pending")
    began = perf_counter()
    with started(lambda: _be_king(base)):
        starting = None
        while left := len(os.listdir(pending)):
            if starting is None and left < WAITING:
                starting = perf_counter(), WAITING - left  # what came before was the start
    moment, already = starting or (began, 0)
    return (WAITING - already) / (perf_counter() - moment)


def _floor_rate(directory: str) -> float:
    os.makedirs(directory)
    store = FILES.open(os.path.join(directory, "floor"))
    sent = parcels(WAITING * _FILES_OF_A_DISPATCH // 3)
    os.sync()
    began = perf_counter()
    for parcel in sent:
        for part in range(_FILES_OF_A_DISPATCH):
            store.put(parcel._replace(id=f"{parcel.id}-{part}"))
    took = perf_counter() - began
    store.close()
    return WAITING / took
