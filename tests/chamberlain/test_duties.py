"""Duties come round, each in its own time, and one's trouble is not another's."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from kingdom.chamberlain.daemon import FIRST_PAUSE, LONGEST_PAUSE, Chamberlain
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.troubles import TellTroubles
from tests.support.household import office_in, said
from tests.support.kingdom import MovableClock


class Chore:
    name = "chore"

    def __init__(self, every: float) -> None:
        self.every = every
        self.starts = self.steps = 0
        self.trouble: Exception | None = None
        self.stops = 0

    def start(self) -> None:
        self.starts += 1

    def step(self) -> float:
        self.steps += 1
        if self.trouble:
            raise self.trouble
        return self.every

    def stop(self) -> None:
        self.stops += 1


def test_each_duty_comes_round_in_its_own_time(office: Office, clock: MovableClock) -> None:
    often, seldom = Chore(10), Chore(25)
    role = Chamberlain(office.setting, [lambda _: often, lambda _: seldom])
    waits = []
    for _ in range(5):
        waits.append(role.step())
        clock.advance(waits[-1])
    assert waits == [10, 10, 5, 5, 10]
    assert (often.starts, often.steps) == (1, 4)
    assert (seldom.starts, seldom.steps) == (1, 2)


def test_one_that_fails_rests_longer_each_time_and_the_others_go_on(
    office: Office, clock: MovableClock
) -> None:
    good, bad = Chore(1), Chore(1)
    bad.trouble = PermissionError(13, "Permission denied", "state/resources.json")
    role = Chamberlain(office.setting, [lambda _: bad, lambda _: good])
    began, tried = clock.ticks, []
    while clock.ticks - began < 1000:
        before = bad.steps
        wait = role.step()
        if bad.steps > before:
            tried.append(clock.ticks - began)
        clock.advance(wait)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[:4] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4, FIRST_PAUSE * 8]
    assert max(pauses) == LONGEST_PAUSE
    assert good.steps == 1000
    bad.trouble = None
    clock.advance(LONGEST_PAUSE)
    assert role.step() == 1.0


BROKEN = (
    "The chamberlain cannot see to dusting (ZeroDivisionError); it tries again, and all else goes "
    "on. Where it broke is told by: kingdom logs chamberlain"
)
MENDED = "The chamberlain sees to dusting again."


class Bad(Chore):
    """Made anew after each break, so what is to last is kept outside."""

    name = "dusting"

    def __init__(self, is_bad: list[bool]) -> None:
        super().__init__(1)
        self.is_bad = is_bad

    def step(self) -> float:
        super().step()
        return self.every / (not self.is_bad[0])


@pytest.mark.breaks
def test_one_that_breaks_by_a_defect_is_made_anew_and_people_are_told_once(
    office: Office, clock: MovableClock
) -> None:
    is_bad, made, good = [True], [], Chore(1)

    def make(_: Office) -> Bad:
        made.append(Bad(is_bad))
        return made[-1]

    role = Chamberlain(office.setting, [make, lambda _: good, TellTroubles])
    began = clock.ticks
    while clock.ticks - began < 600:
        clock.advance(role.step())
    assert good.steps == 600
    assert [(one.starts, one.steps, one.stops) for one in made[:-1]] == [(1, 1, 1)] * 7
    assert said(office.base) == [BROKEN]
    log = Path(office.base.system_log).read_text()
    assert log.count("duty.broke") == log.count("Traceback") == 1
    troubles = Path(office.path("troubles.json"))
    assert json.loads(troubles.read_text()) == {"dusting": "ZeroDivisionError"}
    is_bad[0] = False
    while clock.ticks - began < 600 + 3 * LONGEST_PAUSE:
        clock.advance(role.step())
    assert said(office.base) == [BROKEN, MENDED]
    assert json.loads(troubles.read_text()) == {}


@pytest.mark.breaks
def test_one_that_breaks_at_every_third_step_is_no_news_each_time(
    office: Office, clock: MovableClock
) -> None:
    class Long(Bad):
        def step(self) -> float:
            self.is_bad[0] = self.steps == 2
            return super().step()

    role = Chamberlain(office.setting, [lambda _: Long([False]), TellTroubles])
    began = clock.ticks
    while clock.ticks - began < 2 * 3600:
        clock.advance(role.step())
    assert said(office.base) == [BROKEN]


@pytest.mark.breaks
def test_what_broke_in_a_former_life_is_told_to_be_over(
    office: Office, clock: MovableClock
) -> None:
    for is_bad in (True, False):
        with office_in(office.base, clock) as once:
            makes = [lambda _, is_bad=is_bad: Bad([is_bad]), TellTroubles]
            Chamberlain(once.setting, makes).step()
    assert said(office.base) == [BROKEN, MENDED]


@pytest.mark.breaks
def test_one_that_cannot_end_keeps_no_other_from_it(office: Office) -> None:
    class Stubborn(Chore):
        def stop(self) -> None:
            raise ZeroDivisionError

    last = Chore(1)
    role = Chamberlain(office.setting, [lambda _: Stubborn(1), lambda _: last])
    role.step()
    role.stop()
    assert last.stops == 1
