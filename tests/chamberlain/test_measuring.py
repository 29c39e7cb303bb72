"""Machine, roles and soldiers are measured, and a change of health is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from kingdom.chamberlain import roll
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.machine import Group, Machine, Reading
from kingdom.chamberlain.measuring import FIRST_LOOK, Measuring
from kingdom.models.resources import Tokens, read_resources
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.household import internal_events, office_in, said
from tests.support.kingdom import MovableClock
from tests.support.waiting import eventually

QUIET = Reading(cpu_percent=10.0, memory_percent=20.0, disk_percent=30.0, load=0.5)


class Weather(Machine):
    """A machine that is as a test wants it."""

    reading = QUIET

    def read(self) -> Reading:
        return self.reading

    def is_(self, **values: float | None) -> None:
        self.reading = Reading(**(vars(QUIET) | values))  # type: ignore[arg-type]


@pytest.fixture
def weather(base: BaseDir) -> Weather:
    return Weather(base.root)


@pytest.fixture
def duty(office: Office, weather: Weather) -> Measuring:
    made = Measuring(office, weather)
    made.start()
    return made


def written(base: BaseDir) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(base.resources_file).read_text())
    return found


def told(base: BaseDir, type_: str) -> list[dict[str, Any]]:
    return [one["data"] for one in internal_events(base, type_)]


def test_the_real_machine_is_measured(office: Office, base: BaseDir) -> None:
    duty = Measuring(office)
    duty.start()
    assert duty.step() == FIRST_LOOK
    assert "cpu_percent" not in written(base), "a share of no time at all"
    assert 0 < written(base)["memory_percent"] <= 100
    assert 0 <= written(base)["disk_percent"] <= 100
    assert written(base)["load"] >= 0
    eventually(lambda: duty.step() != FIRST_LOOK, "a first figure of the processor")
    assert 0 <= written(base)["cpu_percent"] <= 100
    assert read_resources(written(base)) is not None
    assert not list(Path(base.state).glob(".tmp-*"))


def test_every_look_is_a_line_in_the_log(
    duty: Measuring, base: BaseDir, clock: MovableClock
) -> None:
    assert duty.step() == 30
    clock.advance(30)
    duty.step()
    lines = list(map(json.loads, Path(base.metrics_log).read_text().splitlines()))
    assert [one["ts"] for one in lines] == ["2026-02-07T10:00:00.000Z", "2026-02-07T10:00:30.000Z"]
    assert lines[0]["cpu_percent"] == 10.0
    assert lines[0]["soldiers"] == {"active": 0, "max": 3}


def test_what_other_duties_say_is_in_it(duty: Measuring, office: Office, base: BaseDir) -> None:
    office.board.tokens = Tokens(status="warning", daily_cost_usd="215.40")
    office.board.burdens["timeouts"] = ("yellow", "5 timeouts in an hour")
    duty.step()
    assert written(base)["tokens"] == {"status": "warning", "daily_cost_usd": "215.40"}
    assert (written(base)["health"], written(base)["reason"]) == ("yellow", "5 timeouts in an hour")
    office.board.burdens.clear()
    duty.step()
    assert written(base)["health"] == "green"
    assert "reason" not in written(base)


@pytest.mark.provokes("system.health_changed", "system.resource_warning")
def test_a_change_of_health_and_each_crossing_is_told_once(
    duty: Measuring, weather: Weather, base: BaseDir
) -> None:
    for cpu in (10, 72, 75, 95, 97, 95):
        weather.is_(cpu_percent=float(cpu))
        duty.step()
    changes = told(base, "system.health_changed")
    assert changes == [
        {"from": "green", "to": "yellow", "reason": "cpu_percent: 72"},
        {"from": "yellow", "to": "red", "reason": "cpu_percent: 95"},
    ]
    assert told(base, "system.resource_warning") == [
        {"metric": "cpu_percent", "value": 72.0, "threshold": 60.0},
        {"metric": "cpu_percent", "value": 95.0, "threshold": 90.0},
    ]
    weather.is_(cpu_percent=1.0)
    duty.step()
    duty.step()
    assert told(base, "system.health_changed")[2:] == [
        {
            "from": "red",
            "to": "green",
            "reason": "cpu_percent: 1, memory_percent: 20, disk_percent: 30",
        }
    ]
    assert len(told(base, "system.resource_warning")) == 2


def test_people_hear_of_red_once_and_once_more_when_it_is_over(
    duty: Measuring, weather: Weather, base: BaseDir
) -> None:
    weather.is_(memory_percent=93.0)
    for _ in range(3):
        duty.step()
    (alert,) = said(base)
    assert alert.startswith("Health is red (memory_percent: 93)")
    weather.is_(memory_percent=70.0)
    for _ in range(3):
        duty.step()
    assert said(base)[1:] == ["Health is no longer red, but yellow."]


def test_a_disk_nearly_full_lets_no_work_in_and_people_hear_of_it(
    duty: Measuring, weather: Weather, base: BaseDir
) -> None:
    weather.is_(disk_percent=96.0)
    duty.step()
    duty.step()
    assert written(base)["health"] == "orange"
    (alert,) = said(base)
    assert "96 % full" in alert
    weather.is_(disk_percent=40.0)
    duty.step()
    duty.step()
    assert written(base)["health"] == "green"
    assert "has room again" in said(base)[1]


def test_the_next_chamberlain_goes_on_from_what_was_measured(
    base: BaseDir, clock: MovableClock, weather: Weather
) -> None:
    for cpu in (95.0, None, 96.0):
        weather.is_(cpu_percent=cpu)
        with office_in(base, clock) as office:
            duty = Measuring(office, weather)
            duty.start()
            duty.step()
            if cpu is None:
                # The next one finds a file without that figure.
                assert written(base)["health"] == "red"
                weather.is_(cpu_percent=96.0)
                duty.step()
    assert len(told(base, "system.health_changed")) == 1
    assert len(told(base, "system.resource_warning")) == 1
    assert len(said(base)) == 1


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"health": "purple"}', '{"health": "red"}'])
def test_a_damaged_file_is_as_good_as_none(office: Office, weather: Weather, damage: str) -> None:
    Path(office.base.resources_file).write_text(damage)
    duty = Measuring(office, weather)
    duty.start()
    duty.step()
    assert written(office.base)["health"] == "green"
    assert told(office.base, "system.health_changed") == []


def test_a_directory_in_the_place_of_its_file_is_moved_aside(
    weather: Weather, base: BaseDir, clock: MovableClock
) -> None:
    with office_in(base, clock) as office:
        duty = Measuring(office, weather)
        duty.start()
        duty.step()
        path = Path(base.resources_file)
        path.unlink()
        path.mkdir()
        (path / "x").touch()
        clock.advance(30)
        assert duty.step() == 30
        assert written(base)["health"] == "green"
    assert (path.parent / "resources.json.aside" / "x").exists()


def test_a_clock_that_jumps_changes_nothing(
    duty: Measuring, weather: Weather, base: BaseDir, clock: MovableClock
) -> None:
    duty.step()
    clock.set_wall(clock.now() + timedelta(days=366))
    duty.step()
    clock.set_wall(clock.now() - timedelta(days=800))
    duty.step()
    assert written(base)["updated_at"].startswith("2024-11-30")
    assert internal_events(base) == []


@pytest.mark.parametrize(("away", "health"), [(30.0, "yellow"), (600.0, "green")])
def test_a_restart_makes_nothing_better(
    base: BaseDir, weather: Weather, clock: MovableClock, away: float, health: str
) -> None:
    """Not yet clearly below: it counts as before, unless that was long ago."""
    weather.is_(cpu_percent=61.0)
    for pause in (0.0, away, away):
        clock.advance(pause)
        with office_in(base, clock) as office:
            duty = Measuring(office, weather)
            duty.start()
            duty.step()
        weather.is_(cpu_percent=58.0)
    assert written(base)["health"] == health


# What roles and soldiers use


WORKER = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
def burn():
    while sum(os.times()[:2]) < 0.3:
        pass
child = os.fork()
burn()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print("done", flush=True)
sys.stdin.readline()
"""


def test_time_of_children_that_have_ended_counts(base: BaseDir) -> None:
    argv = [sys.executable, "-c", WORKER]
    with subprocess.Popen(argv, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        machine, group = Machine(base.root), {"king": Group("role", worker.pid, {worker.pid})}
        worker.stdout.readline()
        assert machine.usage(group, 100.0)["king"].cpu_percent is None
        print("go", file=worker.stdin)
        worker.stdout.readline()
        used = machine.usage(group, 110.0)["king"]
        assert used.cpu_percent is not None
        assert used.cpu_percent >= 5.5, "0.6 seconds of ten"
        assert (used.kind, used.pid, used.processes) == ("role", worker.pid, 1)
        assert used.memory_mb > 1
    assert machine.usage(group, 120.0) == {}


def test_another_process_under_the_same_name_is_not_compared(base: BaseDir) -> None:
    machine = Machine(base.root)
    machine.usage({"king": Group("role", 1, {os.getpid()})}, 100.0)
    found = machine.usage({"king": Group("role", 2, {os.getpid()})}, 130.0)
    assert found["king"].cpu_percent is None


def test_a_role_counts_with_what_it_started_and_no_other_role_does(base: BaseDir) -> None:
    argv = ["sleep", "600"]
    seats = [Seat(base, "king"), Seat(base, "gen-pr")]
    locks = [seat.take() for seat in seats]
    with subprocess.Popen(argv) as one, subprocess.Popen(argv) as other:
        try:
            Path(base.path("state", "gen-pr", "pid")).write_text(f"{other.pid}\n")
            found = roll.groups(base)
        finally:
            one.kill()
            other.kill()
    assert {os.getpid(), one.pid} <= set(found["king"].members)
    assert other.pid not in found["king"].members
    assert found["gen-pr"].members == {other.pid}
    for lock in locks:
        lock.close()
