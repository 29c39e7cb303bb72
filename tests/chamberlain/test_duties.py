"""Duties come round, each in its own time, and one's trouble is not another's."""

from __future__ import annotations

from itertools import pairwise

from kingdom.chamberlain.daemon import FIRST_PAUSE, LONGEST_PAUSE, Chamberlain
from kingdom.chamberlain.duty import Office
from tests.support.kingdom import MovableClock


class Chore:
    name = "chore"

    def __init__(self, every: float) -> None:
        self.every = every
        self.starts = self.steps = 0
        self.trouble: OSError | None = None

    def start(self) -> None:
        self.starts += 1

    def step(self) -> float:
        self.steps += 1
        if self.trouble:
            raise self.trouble
        return self.every

    def stop(self) -> None:
        self.every = 0.0


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
