"""What goes when it is pruned, and what does not."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.pruning import Ended
from kingdom.bus.port import Move
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD
from tests.support.kingdom import MovableClock, event, files


def completed(bus: FileBus, clock: MovableClock) -> Path:
    """One that ended a day ago, by its own word and by its time on disk."""
    clock.set_wall(clock.now() + timedelta(days=400))  # mtimes are of today, whenever that is
    bus.publish("events", event("1"))
    (claim,) = bus.claim("events", "king")
    bus.commit([Move(claim, "completed")])
    clock.advance(86400)
    return Path(bus.base.path("queue/events/completed/evt-test-1.json"))


def judged(bus: FileBus, before: datetime, state: str = "") -> list[Ended]:
    found = [
        bus.ended("events", name, before, state=state)
        for name in bus.old_names("events", before, state=state)
        if name
    ]
    return [one for one in found if one is not None]


def test_one_that_is_touched_after_it_was_judged_is_left_alone(
    bus: FileBus, clock: MovableClock
) -> None:
    path = completed(bus, clock)
    (one,) = judged(bus, clock.now())
    path.touch()
    assert bus.forget("events", [one]) == 0
    assert path.exists()
    assert bus.forget("events", judged(bus, clock.now())) == 1
    assert not path.exists()


def test_a_damaged_one_goes_by_its_time_on_disk(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    path = completed(bus, clock)
    path.write_text("{")
    age(path, clock.now() - timedelta(days=3))
    assert judged(bus, clock.now() - timedelta(days=4)) == []
    (one,) = judged(bus, clock.now() - timedelta(days=2))
    assert one.record is None
    assert bus.prune("events", clock.now()) == 1
    assert files(base) == {}


def test_what_was_set_aside_counts_from_that_day_however_old_the_file_is(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    path = Path(base.path("queue/events/dead/old.json"))
    path.write_text("{")
    beside = path.with_name("old.json.reason.json")
    beside.write_text("{}")
    age(path, clock.now() - timedelta(days=900))
    age(beside, clock.now() - timedelta(days=1))
    assert bus.prune("events", clock.now() - timedelta(days=2), state=DEAD) == 0
    assert bus.prune("events", clock.now(), state=DEAD) == 1
    assert not path.exists()
    assert not beside.exists()


def test_a_directory_that_was_set_aside_stops_nobody(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    clock.set_wall(clock.now() + timedelta(days=400))
    dead = Path(base.path("queue/events/dead"))
    (dead / "a.json").mkdir()
    (dead / "b.json").write_text("{")
    assert bus.prune("events", clock.now(), state=DEAD) == 1
    assert [path.name for path in dead.iterdir()] == ["a.json"]


def test_a_link_goes_and_what_it_leads_to_stays(
    bus: FileBus, base: BaseDir, scratch: Path, clock: MovableClock
) -> None:
    clock.set_wall(clock.now() + timedelta(days=400))
    elsewhere = scratch / "precious"
    elsewhere.write_text("mine")
    link = Path(base.path("queue/events/completed/link.json"))
    link.symlink_to(elsewhere)
    assert bus.prune("events", clock.now()) == 1
    assert not link.is_symlink()
    assert elsewhere.read_text() == "mine"


def test_who_settles_does_not_wait_for_one_who_hangs(
    open_bus: Callable[..., FileBus], base: BaseDir
) -> None:
    other, bus = open_bus(), open_bus()
    other.publish("events", event("1"))
    with other._ledger.slot.commit:
        assert not bus.try_settle()
    assert bus.try_settle()
    assert files(base) == {"events/pending": ["evt-test-1"]}


def age(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))
