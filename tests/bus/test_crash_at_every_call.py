"""The process is killed before and after each call to the kernel; the next one puts it right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
from pathlib import Path

import pytest

from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.kingdom import MovableClock
from tests.support.promises import check_directories, check_nothing_is_left_over, drain
from tests.support.scenarios import SCENARIOS, Scenario, small_bus


def crash(scenario: Scenario, base: BaseDir, killer: Killer) -> bool:
    """True if the process died at that call, False if it has fewer calls."""
    clock = MovableClock()

    def work() -> None:
        bus = small_bus(base, clock)
        prepared = scenario.prepare(bus)
        with observed(killer):
            scenario.act(bus, prepared, clock)
        Path(base.path("returned")).touch()

    code = in_child(work)
    assert code in (0, -9)
    return code == -9


def recover_and_judge(scenario: Scenario, base: BaseDir) -> None:
    def work() -> None:
        bus = small_bus(base)
        bus.recover()
        bus.stats()  # a consumer's first look settles what lies in two places
        check_directories(base)
        check_nothing_is_left_over(base)
        scenario.judge(base, os.path.exists(base.path("returned")))
        drain(bus)
        check_directories(base)

    assert in_child(work) == 0


both = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)


@each
@both
def test_killed_at_every_call_that_may_change_the_disk(
    scenario: Scenario, after: bool, scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert kill_at_each(scenario, after, scratch, capfd, CHANGE_NOTHING) > 1


@pytest.mark.long
@each
@both
def test_killed_at_every_call_at_all(
    scenario: Scenario, after: bool, scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert kill_at_each(scenario, after, scratch, capfd, ()) > 3


def kill_at_each(
    scenario: Scenario,
    after: bool,
    scratch: Path,
    capfd: pytest.CaptureFixture[str],
    passing_over: Container[str],
) -> int:
    """One run for each call, until a run has no such call any more; answers how many there were."""
    point, crashed = 0, True
    while crashed:
        point += 1
        base = BaseDir(scratch / str(point))
        os.mkdir(base.root)
        crashed = crash(scenario, base, Killer(point, after=after, passing_over=passing_over))
        try:
            recover_and_judge(scenario, base)
        except AssertionError:
            where = f"{'after' if after else 'before'} call {point} of {scenario.name}"
            pytest.fail(f"killed {where}\n{capfd.readouterr().err}")
        shutil.rmtree(base.root)
    return point - 1
