"""The king is killed before and after each call to the kernel; the next one puts it right."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from kingdom.bus.port import Problem
from kingdom.errors import LeaseLost, TryLater
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.court import Court, court_in
from tests.support.full_disk import NotShowing, Refusing
from tests.support.kingdom import drop, event, files, result
from tests.support.promises import check_directories, check_nothing_is_left_over
from tests.support.reigns import LAST, SCENARIOS, STEPS, Scenario, reign

each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
A_FEW = 8  # points of each scenario, spread over it; all of them in the long run


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
    never = Killer(0, after=False, passing_over=CHANGE_NOTHING)
    with court_in(BaseDir(place)) as court:
        scenario.prepare(court)
        with observed(never):
            reign(court)
        scenario.judge(court)
    return -never.left


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


def test_what_is_recorded_but_not_shown_is_not_done_again(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(result())
    disk_full = NotShowing()
    with observed(disk_full):
        king.step()
    assert disk_full.refused
    court.clock.advance(61)  # what the queue shows is held by nobody any more
    king.step()
    assert court.state("results", "task-20260207-001") == "handled"
    assert [one["type"] for one in court.all("messages")] == ["thread_start", "thread_update"]


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
