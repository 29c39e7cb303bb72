"""A claim that the disk refuses half-way keeps nothing that its caller did not get."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.backoff import Policy
from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move
from kingdom.errors import KingdomError, TryLater
from kingdom.models.base import Record
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.full_disk import Failing, FailingForGood, damaged
from tests.support.kingdom import MovableClock, event, files, message, result, task
from tests.support.promises import DONE, check_directories
from tests.support.scenarios import small_bus

MAKE: dict[str, Callable[[int], Record]] = {
    "tasks": task,  # moves as it is claimed; the others are replaced where they lie
    "messages": lambda number: message(number, task_id=f"task-20260207-{number:03d}"),
    "results": result,  # among other files, and never compared with what lies there
}
NUMBERS = (1, 2, 3)
LEASE = timedelta(seconds=60)
A_LOOK = 0.3  # seconds after which one that is told of nothing looks for itself
SHORTLY = 3  # seconds in which what could not be read is judged, and no lease ends


@dataclass
class World:
    """Three messages, one bus that is refused, and another that is not."""

    base: BaseDir
    clock: MovableClock
    stream: str
    refused: FileBus
    other: FileBus

    def close(self) -> None:
        self.refused.close()
        self.other.close()

    def ids(self) -> list[str]:
        return sorted(MAKE[self.stream](number).id for number in NUMBERS)

    def everything(self, bus: FileBus) -> list[Claim]:
        """Whatever can be claimed before any lease ends."""
        self.clock.advance(A_LOOK)
        found = bus.claim(self.stream, "next", 10, lease=LEASE)
        self.clock.advance(SHORTLY)
        return found + bus.claim(self.stream, "next", 10, lease=LEASE)

    def check_nothing_is_lying_around(self) -> None:
        check_directories(self.base)
        assert os.listdir(self.base.path("state/bus/tmp")) == []

    def finish(self, claims: list[tuple[FileBus, Claim]]) -> None:
        """Each message is handled once, and nobody was taken for dead."""
        assert sorted(claim.id for _, claim in claims) == self.ids()
        for bus, claim in claims:
            assert not claim.taken_over
            assert claim.message.delivery.crash_count == 0
            bus.commit([Move(claim, DONE[self.stream])])
        self.check_nothing_is_lying_around()
        assert self.everything(self.refused) == self.everything(self.other) == []


def worlds(scratch: Path, stream: str, *, published_by: str = "itself") -> Iterator[World]:
    """A fresh one each time."""
    for number in range(1000):
        base, clock = BaseDir(scratch / str(number)), MovableClock()
        os.mkdir(base.root)
        world = World(base, clock, stream, small_bus(base, clock), small_bus(base, clock))
        for bus in (world.refused, world.other):
            bus.wait([stream], 0)  # has begun to follow the stream
            if published_by == "another, untold":
                bus._view.watch.close()
        publisher = world.refused if published_by == "itself" else world.other
        publisher.publish(stream, *map(MAKE[stream], NUMBERS))
        clock.advance(A_LOOK)
        yield world
        world.close()
        shutil.rmtree(base.root)


def attempt(world: World, failing: Failing, **options: Any) -> list[Claim] | None:
    """What the refused bus answered; None if it said that it could not."""
    with observed(failing):
        try:
            return world.refused.claim(world.stream, "first", 3, lease=LEASE, **options)
        except TryLater:
            return None


each_stream = pytest.mark.parametrize("stream", MAKE)
each_publisher = pytest.mark.parametrize("published_by", ["itself", "another", "another, untold"])
each_next = pytest.mark.parametrize("next_one", ["refused", "other"])


@each_stream
@each_publisher
@each_next
def test_refused_at_any_call_it_keeps_only_what_it_answers(
    scratch: Path, stream: str, published_by: str, next_one: str
) -> None:
    short = refusals = 0
    for point, world in enumerate(worlds(scratch, stream, published_by=published_by), 1):
        failing, bus = Failing(point), getattr(world, next_one)
        answer = attempt(world, failing)
        world.check_nothing_is_lying_around()
        rest = world.everything(bus)
        world.finish([(world.refused, one) for one in answer or []] + [(bus, one) for one in rest])
        refusals += answer is None
        short += answer is not None and 0 < len(answer) < 3
        if not failing.has_failed:
            break
    assert refusals > 5
    assert short > 10


@each_stream
@each_next
def test_of_named_ones_all_or_none_are_taken(scratch: Path, stream: str, next_one: str) -> None:
    refusals = 0
    for point, world in enumerate(worlds(scratch, stream), 1):
        failing, bus = Failing(point), getattr(world, next_one)
        before = contents(world.base)
        answer = attempt(world, failing, ids=world.ids())
        world.check_nothing_is_lying_around()
        if answer is None:
            refusals += 1
            assert contents(world.base) == before  # the claim left no trace
            world.finish([(bus, one) for one in world.everything(bus)])
        else:
            world.finish([(world.refused, one) for one in answer])
        if not failing.has_failed:
            break
    assert refusals > 15


def contents(base: BaseDir) -> dict[str, bytes]:
    paths = [p for top in ("queue", "state/results") for p in Path(base.path(top)).rglob("*.json")]
    return {str(path): path.read_bytes() for path in paths}


@each_stream
def test_a_disk_that_refuses_for_good_costs_a_lease_at_most(scratch: Path, stream: str) -> None:
    for point, world in enumerate(worlds(scratch, stream), 1):
        failing = FailingForGood(point)
        answer = attempt(world, failing)
        world.clock.advance(LEASE.total_seconds() + 1)
        claims = world.everything(world.other)
        assert sorted(one.id for one in claims) == world.ids()
        world.other.commit([Move(claim, DONE[stream]) for claim in claims])
        for late in answer or []:
            with pytest.raises(KingdomError, match="no longer held"):
                world.refused.commit([Move(late, DONE[stream])])
        check_directories(world.base)
        if not failing.has_failed:
            break


@each_stream
def test_an_extension_that_is_refused_leaves_the_claim_as_it_was(
    scratch: Path, stream: str
) -> None:
    refusals = 0
    for point, world in enumerate(worlds(scratch, stream), 1):
        claims = world.refused.claim(stream, "first", 3, lease=LEASE)
        failing = Failing(point)
        with observed(failing):
            try:
                claims[0] = world.refused.extend(claims[0], 2 * LEASE)
            except KingdomError:
                refusals += 1
        world.finish([(world.refused, claim) for claim in claims])
        if not failing.has_failed:
            break
    assert refusals > 5


def test_the_refusal_is_said_by_the_claim_that_takes_nothing(base: BaseDir) -> None:
    bus = small_bus(base)
    bus.publish("events", *(event(str(number)) for number in NUMBERS))
    room = 1

    def full(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        nonlocal room
        if name == "write":
            room -= 1
            if room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call()

    with observed(full):
        (first,) = bus.claim("events", "king", 3)
        with pytest.raises(KingdomError, match="No space left"):
            bus.claim("events", "king", 3)
    assert first.id == "evt-test-1"
    assert [claim.id for claim in bus.claim("events", "king", 3)] == ["evt-test-2", "evt-test-3"]
    bus.close()


def test_poison_that_cannot_be_buried_is_buried_by_the_next_claim(
    base: BaseDir, clock: MovableClock
) -> None:
    point, failing = 0, Failing(1)
    while point == 0 or failing.has_failed:
        point += 1
        bus = small_bus(base, clock, policies={"tasks": Policy(max_crashes=1)})
        bus.publish("tasks", task(point))
        for _ in range(2):
            assert in_child(lambda: small_bus(base, clock).claim("tasks", "gen-pr")) == 0
        failing = Failing(point)
        with observed(failing), suppress(TryLater):
            assert bus.claim("tasks", "gen-pr") == []
        clock.advance(SHORTLY)
        assert bus.claim("tasks", "gen-pr") == []
        assert len(files(base)["tasks/dead"]) == point
        check_directories(base)
        bus.close()
    assert point > 30


def test_one_file_of_a_long_queue_that_cannot_be_read_does_not_stop_the_others(
    base: BaseDir, clock: MovableClock
) -> None:
    """A long queue is read again as it is claimed."""
    small_bus(base, clock).publish("events", *(event(f"{number:03}") for number in range(100)))
    bus = small_bus(base, clock)
    assert bus.wait(["events"], 0) == {"events"}

    bad: list[str] = []

    def broken(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        if name == "open" and "/events/pending/" in arguments[0]:
            bad.append(arguments[0])  # the first that is read again
            if arguments[0] == bad[0]:
                raise damaged()
        return call()

    with observed(broken):
        assert len(bus.claim("events", "king", 100)) == 99
        clock.advance(SHORTLY)
        assert bus.claim("events", "king", 100) == []
    assert files(base)["events/dead"] == [Path(bad[0]).stem]
    bus.close()


def test_a_file_that_could_not_be_read_once_is_read_in_the_end(
    base: BaseDir, clock: MovableClock
) -> None:
    small_bus(base, clock).publish("events", event("1"))
    bus = small_bus(base, clock)

    def broken(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        if name == "read":
            raise damaged()
        return call()

    with observed(broken):
        assert bus.claim("events", "king") == []
    clock.advance(SHORTLY)
    assert [claim.id for claim in bus.claim("events", "king")] == ["evt-test-1"]
    bus.close()
