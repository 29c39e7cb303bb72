"""The king is killed before and after each call to the kernel; the next one puts it right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.port import Problem
from kingdom.errors import LeaseLost, TryLater
from kingdom.models.result import Failed, Killed, NeedsHuman, Skipped, Success
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.court import Court, court_in
from tests.support.kingdom import drop, event, files
from tests.support.promises import check_directories, check_nothing_is_left_over

STEPS = 3
LAST = "last"


def task_id(number: int) -> str:
    return f"task-20260207-{number:03d}"


@dataclass(frozen=True)
class Scenario:
    """What was there, and what has to be true once a king was there undisturbed."""

    prepare: Callable[[Court], None]
    judge: Callable[[Court], None]
    name: str
    number: int


def completed(court: Court) -> list[str]:
    names = files(court.base)["events/completed"]
    return [name for name in names if name != f"evt-test-{LAST}"]


# Dispatch


def waiting_events(court: Court) -> None:
    court.soldiers(20)
    about: dict[str, Any] = {"repo": "acme/api", "payload": {"number": 7}}
    court.send(event("a"), event("b", type="not.wanted"), event("c", priority="low"))
    later = court.clock.now() + timedelta(minutes=1)
    court.send(event("old", **about, priority="high"), event("new", **about, created_at=later))
    court.send(*(event(f"more{one}") for one in range(4)))


def each_event_once(court: Court) -> None:
    found = files(court.base)
    assert completed(court) == ["evt-test-b", "evt-test-old"]
    assert "events/pending" not in found
    tasks, starts = court.all("tasks"), court.all("messages")
    by_event = {one["event_id"]: one["id"] for one in tasks}
    assert len(by_event) == len(tasks) == len(found["events/dispatched"]) == 7
    assert sorted(one["task_id"] for one in starts) == sorted(by_event.values())
    for id_ in found["events/dispatched"]:
        assert court.event(id_)["task_id"] == by_event[id_]


# Results

ENDS: list[Any] = [
    Success(task_id=task_id(1), summary="ok", notify_channel="#ops"),
    Failed(task_id=task_id(2), summary="", error="no", error_code="timed_out"),
    NeedsHuman(task_id=task_id(3), summary="", question="?"),
    Skipped(task_id=task_id(4), summary="", reason="draft"),
    Killed(
        task_id=task_id(5),
        summary="",
        error="no",
        proclamation={"channel": "#all", "message": "Hear!"},
    ),
]


def reported(court: Court) -> None:
    court.soldiers(20)
    king = court.king()
    court.send(*(event(str(one)) for one in range(1, 6)))
    king.step()
    court.report(*ENDS)


def each_result_once(court: Court) -> None:
    assert len(completed(court)) == 5
    assert all(court.state("results", task_id(one)) == "handled" for one in range(1, 6))
    told: dict[str, list[str]] = {}
    for one in court.all("messages"):
        told.setdefault(one["task_id"], []).append(one["type"])
    assert told == {
        task_id(1): ["thread_start", "notification", "thread_update"],
        task_id(2): ["thread_start", "thread_update"],
        task_id(3): ["thread_start", "human_input_request"],
        task_id(4): ["thread_start", "thread_update"],
        task_id(5): ["thread_start", "notification", "thread_update"],
    }
    statuses = [court.event(f"evt-test-{one}")["status"] for one in range(1, 6)]
    assert statuses == ["completed", "failed", "completed", "completed", "failed"]


# Answers and commands


def answered(court: Court) -> None:
    reported(court)
    court.king().step()
    said = {"task_id": task_id(3), "text": "yes", "answered_by": "ada"}
    for name in ("first", "second"):
        court.send(event(name, type="slack.human_response", payload=said, priority="high"))


def resumed_once(court: Court) -> None:
    resumed = [one for one in court.all("tasks") if one["type"] == "resume"]
    assert len(resumed) == 1
    (question,) = [one for one in court.all("results") if one["status"] == "needs_human"]
    assert question["answered_by"] == resumed[0]["event_id"]
    assert court.state("results", task_id(3)) == "handled"
    states = {court.state("events", f"evt-test-{one}") for one in ("first", "second")}
    assert states == {"dispatched", "completed"}
    updates = [one for one in court.all("messages") if one["context"].get("answers")]
    assert [one["task_id"] for one in updates] == [resumed[0]["id"]]
    questions = [one for one in court.all("messages") if one["type"] == "human_input_request"]
    assert len(questions) == 1, "asked again"
    refused = [one for one in court.all("messages") if "not taken" in one["content"]]
    assert len(refused) == 1


def commanded(court: Court) -> None:
    reported(court)
    king = court.king()
    king.step()
    court.send(event("open"))
    king.step()
    for name, payload in {
        "retry": {"command": "retry", "task_id": task_id(2)},
        "cancel": {"command": "cancel", "task_id": task_id(6)},
        "freeze": {"command": "freeze"},
        "nonsense": {"command": "dance"},
    }.items():
        court.send(event(name, type="kingdom.command", payload=payload, priority="high"))


def obeyed_once(court: Court) -> None:
    again = [one for one in court.all("tasks") if one.get("original_task_id") == task_id(2)]
    assert len(again) == 1
    assert court.event("evt-test-retry")["task_id"] == again[0]["id"]
    assert sorted(os.listdir(court.base.control)) == ["all.freeze", f"{task_id(6)}.cancel"]
    for name in ("retry", "cancel", "freeze", "nonsense"):
        assert court.state("events", f"evt-test-{name}") == "completed"
    starts = [one["task_id"] for one in court.all("messages") if one["type"] == "thread_start"]
    assert len(starts) == len(set(starts)) == 7


# Schedules


def two_slots_missed(court: Court) -> None:
    court.soldiers(20)
    line = "schedules: [{name: hourly, cron: 0 * * * *, task_type: test.missing}]\n"
    court.general("gen-test", more=line)
    court.king().step()
    court.clock.advance(2 * 3600)


def each_slot_once(court: Court) -> None:
    tasks, starts = court.all("tasks"), court.all("messages")
    assert [one["event_id"] for one in tasks] == ["schedule-hourly"] * 2
    assert [one["task_id"] for one in starts] == [one["id"] for one in tasks]


# Tasks nobody reports on


def one_dropped(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.bury(task_id(1))


def told_once(court: Court) -> None:
    assert court.event("evt-test-1")["status"] == "failed"
    assert [one["type"] for one in court.all("messages")] == ["thread_start", "thread_update"]


SCENARIOS = [
    Scenario(waiting_events, each_event_once, "dispatch", 0),
    Scenario(reported, each_result_once, "results", 1),
    Scenario(answered, resumed_once, "answers", 2),
    Scenario(commanded, obeyed_once, "commands", 3),
    Scenario(two_slots_missed, each_slot_once, "schedules", 4),
    Scenario(one_dropped, told_once, "a dead task", 5),
]
each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
WRITES = ("write", "pwrite", "fsync", "fdatasync", "replace", "renameat2", "link", "mkdir")
A_FEW = 8  # points of each scenario, spread over it; all of them in the long run


def reign(court: Court) -> None:
    king = court.king()
    for _ in range(STEPS):
        king.step()


@each
def test_killed_at_some_calls(
    scenario: Scenario, scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = counted(scenario, scratch / "counted")
    stride = calls // A_FEW
    for point in range(1 + scenario.number % stride, calls, stride):
        kill_at(scenario, point, point % 2 == 0, scratch, capfd)


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@each
def test_killed_at_every_call_that_may_change_the_disk(
    scenario: Scenario, after: bool, scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for point in range(1, counted(scenario, scratch / "counted") + 1):
        kill_at(scenario, point, after, scratch, capfd)


def counted(scenario: Scenario, place: Path) -> int:
    """How many calls there are to be killed at."""
    place.mkdir()
    calls = Refusing(0, CHANGE_NOTHING)
    with court_in(BaseDir(place)) as court:
        scenario.prepare(court)
        with observed(calls):
            reign(court)
        scenario.judge(court)
    return -calls.left


def kill_at(
    scenario: Scenario,
    point: int,
    after: bool,
    scratch: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    base = BaseDir(scratch / str(point))
    os.mkdir(base.root)
    crash(scenario, base, Killer(point, after=after, passing_over=CHANGE_NOTHING))
    if in_child(lambda: judge(scenario, base)) != 0:
        where = f"{'after' if after else 'before'} call {point} of {scenario.name}"
        pytest.fail(f"killed {where}\n{capfd.readouterr().err}")
    shutil.rmtree(base.root)


def crash(scenario: Scenario, base: BaseDir, killer: Killer) -> None:
    def work() -> None:
        court = Court(base)
        scenario.prepare(court)
        court.bus.checkpoint()
        Path(base.path("clock")).write_text(str((court.clock.wall - court.start).total_seconds()))
        with observed(killer):
            reign(court)

    assert in_child(work) in (0, -9)


def judge(scenario: Scenario, base: BaseDir) -> None:
    court = Court(base, keep=True)
    court.clock.advance(float(Path(base.path("clock")).read_text()))
    reign(court)
    scenario.judge(court)
    check_directories(base)
    check_nothing_is_left_over(base)


# A disk that refuses


@each
def test_a_step_that_the_disk_refused_at_some_point_is_finished_by_the_same_king(
    scenario: Scenario, scratch: Path
) -> None:
    for point in range(1 + scenario.number % 3, 60, 3):
        refuse_at(scenario, point, scratch)


@pytest.mark.long
@each
def test_a_step_that_the_disk_refused_anywhere_is_finished_by_the_same_king(
    scenario: Scenario, scratch: Path
) -> None:
    for point in range(1, 200):
        refuse_at(scenario, point, scratch)


def refuse_at(scenario: Scenario, point: int, scratch: Path) -> None:
    place = scratch / str(point)
    place.mkdir()
    with court_in(BaseDir(place)) as court:
        scenario.prepare(court)
        king = court.king()
        with observed(Refusing(point)), suppress(TryLater, OSError):
            king.step()
        if point % 2:  # it comes to it again only when its leases are over
            court.clock.advance(61)
        for _ in range(STEPS):
            with suppress(TryLater):  # as its loop does
                king.step()
            court.clock.advance(61)  # a claim that failed half-way is over with its lease
        # One more commit shows what was refused.
        last = event(LAST, type="not.wanted")
        drop(court.base, "events/pending", f"{last.id}.json", last.to_json())
        king.step()
        try:
            scenario.judge(court)
        except AssertionError as error:
            pytest.fail(f"refused at write {point}: {error}")
    shutil.rmtree(place)


def test_a_new_king_takes_one_at_first_so_that_poison_costs_only_itself(court: Court) -> None:
    court.soldiers(9)
    court.send(*(event(str(one)) for one in range(5)))
    king = court.king()
    with observed(Refusing(5)), pytest.raises(TryLater):
        king.step()
    held = [one for one in court.all("events") if "locked_by" in one["delivery"]]
    assert len(held) == 1


def test_what_someone_else_took_meanwhile_is_let_go_and_the_rest_goes_on(court: Court) -> None:
    court.soldiers(9)
    king = court.king()
    court.send(event("1"), event("2"))
    with observed(Refusing(5)), pytest.raises(TryLater):
        king.step()  # it has the first in hand
    court.clock.advance(61)
    (taken,) = court.bus.claim("events", "operator", ids=["evt-test-1"])
    court.bus.bury(taken, Problem("dropped", "An operator dropped it."))
    with pytest.raises(LeaseLost):
        king.step()
    king.step()
    assert files(court.base)["events/dead"] == ["evt-test-1"]
    assert files(court.base)["events/dispatched"] == ["evt-test-2"]
    assert len(court.all("tasks")) == len(court.all("messages")) == 1


class Refusing:
    """The n-th call that writes finds the disk full."""

    def __init__(self, point: int, passing_over: Container[str] = ()) -> None:
        self.left = point
        self.passing_over = passing_over

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if (name in WRITES) if not self.passing_over else (name not in self.passing_over):
            self.left -= 1
            if self.left == 0:
                raise OSError(28, "No space left on device")
        return call()
