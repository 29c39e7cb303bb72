"""Tasks whose general is gone are told of, and so are threads that nobody closed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.chamberlain.abandoned import EVERY, Abandoned
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.mappings import Mappings
from kingdom.clock import isoformat
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.household import office_in, said
from tests.support.kingdom import MovableClock, task

GRACE = 240.0
LEASE = 3600.0
OVER = "No task waits in vain for gen-pr any more."


@pytest.fixture
def duty(office: Office) -> Abandoned:
    made = Abandoned(office)
    made.start()
    return made


def go_on(duty: Abandoned, clock: MovableClock, seconds: float) -> None:
    for _ in range(int(seconds / EVERY)):
        duty.step()
        clock.advance(EVERY)
    duty.step()


@pytest.fixture
def general(base: BaseDir, clock: MovableClock) -> Iterator[FileBus]:
    """Has two tasks in hand, and is gone."""
    bus = FileBus(base, clock=clock)
    bus.publish("tasks", task(1), task(2))
    assert len(bus.claim("tasks", "gen-pr", limit=2, lease=timedelta(seconds=LEASE))) == 2
    yield bus
    bus.close()


def test_tasks_that_a_general_left_are_told_of_once_and_when_it_is_over(
    duty: Abandoned, general: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    go_on(duty, clock, GRACE * 2)
    assert said(base) == [], "their leases have not passed"
    go_on(duty, clock, LEASE)
    (alert,) = said(base)
    assert alert.startswith("gen-pr does not run, and tasks in progress wait for it (2, such as")
    go_on(duty, clock, LEASE)
    assert len(said(base)) == 1
    lock = Seat(base, "gen-pr").take()
    duty.step()
    assert said(base)[1:] == [OVER]
    lock.close()


def test_a_general_that_runs_or_was_gone_for_a_moment_leaves_nothing(
    duty: Abandoned, general: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    lock = Seat(base, "gen-pr").take()
    go_on(duty, clock, LEASE * 2)
    lock.close()
    go_on(duty, clock, GRACE - EVERY)
    lock = Seat(base, "gen-pr").take()
    go_on(duty, clock, GRACE)
    assert said(base) == []
    lock.close()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"target_general": 3, "delivery": 4}'])
def test_a_damaged_task_is_left_to_the_bus(
    duty: Abandoned, base: BaseDir, clock: MovableClock, content: str
) -> None:
    place = Path(base.queue, "tasks", "in_progress")
    place.mkdir(parents=True, exist_ok=True)
    (place / "task-20260207-001.json").write_text(content)
    go_on(duty, clock, GRACE * 2)
    assert said(base) == []


def threads(base: BaseDir, **created: str) -> None:
    path = Path(base.path("state", "envoy", "thread-mappings.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {
        task: {"channel": "c", "thread_ts": "1", "created_at": at} for task, at in created.items()
    }
    path.write_text(json.dumps(entries))


def test_a_thread_of_a_week_ago_is_logged_once(base: BaseDir, clock: MovableClock) -> None:
    old = isoformat(clock.now() - timedelta(days=7, seconds=1))
    young = isoformat(clock.now() - timedelta(days=6, hours=23, minutes=30))
    threads(base, old=old, young=young, damaged="yesterday")
    log = io.StringIO()
    for _ in range(3):  # lives
        with office_in(base, clock, log) as office:
            duty = Mappings(office)
            duty.start()
            duty.step()
            duty.step()
    (line,) = [json.loads(one) for one in log.getvalue().splitlines() if "thread.old" in one]
    assert (line["task_id"], line["created_at"]) == ("old", old)
    clock.advance(3600)
    with office_in(base, clock, log) as office:
        duty = Mappings(office)
        duty.start()
        duty.step()
        assert log.getvalue().count("thread.old") == 2
        threads(base)
        duty.step()
    assert json.loads(Path(base.path("state", "chamberlain", "old-threads.json")).read_text()) == []


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"a": 3}', '{"a": {"created_at": 5}}'])
def test_damaged_mappings_are_the_envoys_to_notice(office: Office, damage: str) -> None:
    threads(office.base)
    Path(office.base.path("state", "envoy", "thread-mappings.json")).write_text(damage)
    duty = Mappings(office)
    duty.start()
    assert duty.step() > 0
