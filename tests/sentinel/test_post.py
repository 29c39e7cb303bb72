"""A watcher's trouble: when a person should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kingdom.errors import KingdomError, TryLater
from kingdom.sentinel.post import OK, TROUBLE, Post, Standing
from kingdom.sentinel.watcher import Finish, Sighting
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock, event
from tests.support.lookout import Lookout, events, setting
from tests.support.waiting import eventually

INTERVAL = 60.0


class Troubled:
    """It meets what it is told to, and finds nothing."""

    name = "troubled"

    def __init__(self) -> None:
        self.trouble: KingdomError | None = None
        self.at_least = 0.0

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[Any]]:
        if self.trouble is not None:
            raise self.trouble
        yield []

    def parse(self, raw: Any) -> Sighting:
        return Sighting("nothing")

    def complete(self, sighting: Sighting) -> Sighting:
        return sighting

    def remember(self, fresh: Sequence[Sighting]) -> None: ...

    def acknowledge(self, done: Sequence[Sighting]) -> None: ...

    def finish(self, *, emitted: int) -> Finish:
        return Finish()

    def break_off(self) -> float:
        return self.at_least

    def close(self) -> None: ...


class Guard:
    def __init__(self, base: BaseDir, before: Any = None) -> None:
        self.clock = MovableClock()
        self.setting = setting(base, self.clock)
        self.watcher = Troubled()
        self.post = Post("troubled", INTERVAL, lambda: self.watcher, self.setting, before)

    def after(self, minutes: float, code: str = "") -> Standing:
        """How it stands when it has looked once more, and met this."""
        self.clock.advance(minutes * 60)
        self.watcher.trouble = TryLater("It is not there.", code=code) if code else None
        self.post.hurry()
        self.post.step()
        looked = self.clock.now()
        eventually(lambda: self.post.step() or self.post.standing.last_look == looked)
        return self.post.standing


@contextmanager
def guard_in(base: BaseDir, before: Any = None) -> Iterator[Guard]:
    made = Guard(base, before)
    try:
        yield made
    finally:
        made.post.close()
        made.setting.bus.close()


def test_trouble_that_changes_its_code_is_alarming_after_an_hour_all_the_same(
    base: BaseDir,
) -> None:
    with guard_in(base) as guard:
        assert guard.after(0).state == OK
        for minutes in range(0, 60, 10):
            standing = guard.after(10, f"code_{minutes}")
            assert (standing.state, standing.is_alarming) == (TROUBLE, False)
        assert guard.after(10, "another").is_alarming
        assert not guard.after(10).is_alarming


def test_a_place_that_asks_to_be_left_alone_is_also_after_trouble(base: BaseDir) -> None:
    with guard_in(base) as guard:
        guard.watcher.at_least = 300.0
        standing = guard.after(1, "gone")
        assert standing.next_look is not None
        assert (standing.next_look - guard.clock.now()).total_seconds() == 300
        assert guard.post.seconds_left() == 300


def test_trouble_that_passes_in_between_is_not(base: BaseDir) -> None:
    with guard_in(base) as guard:
        for _ in range(4):
            assert not guard.after(1, "gone").is_alarming
            assert not guard.after(50, "gone").is_alarming
            assert guard.after(1).state == OK


def test_a_clock_that_is_put_forward_alarms_nobody(base: BaseDir) -> None:
    with guard_in(base) as guard:
        guard.after(1, "gone")
        guard.clock.set_wall(guard.clock.now().replace(year=2031))
        assert not guard.after(1, "gone").is_alarming


def test_trouble_outlives_a_restart_until_a_look_succeeds(base: BaseDir) -> None:
    with guard_in(base) as guard:
        trouble = guard.after(0, "gone")
        well = guard.after(1)
    with guard_in(base, trouble.spelled()) as guard:
        assert guard.post.standing == replace(trouble, next_look=None)
        assert guard.after(1, "gone").since == trouble.since
        assert guard.after(1).state == OK
    with guard_in(base, well.spelled()) as guard:
        assert (guard.post.standing.state, guard.post.standing.last_look) == (OK, None)


def test_an_hour_of_trouble_is_one_also_over_a_restart(base: BaseDir) -> None:
    with guard_in(base) as guard:
        trouble = guard.after(0, "gone")
    before = replace(trouble, since=trouble.since - timedelta(minutes=50)).spelled()
    with guard_in(base, before) as guard:
        assert not guard.after(9, "gone").is_alarming
        assert guard.after(1, "gone").is_alarming


@pytest.mark.parametrize(
    "damage", [None, [], "", {"state": TROUBLE}, {"state": TROUBLE, "since": "soon"}]
)
def test_what_a_former_life_left_damaged_costs_nothing(base: BaseDir, damage: Any) -> None:
    with guard_in(base, damage) as guard:
        assert guard.post.standing == Standing(OK, guard.clock.now())


@pytest.mark.parametrize("pause", [1e12, 1e300, float("inf")])
def test_no_pause_that_is_asked_for_ends_the_process(base: BaseDir, pause: float) -> None:
    with guard_in(base) as guard:
        guard.watcher.at_least = pause
        assert guard.after(1, "gone").next_look is not None


def test_a_limit_met_by_a_clock_that_was_ahead_is_waited_for_two_hours_at_most(
    base: BaseDir,
) -> None:
    """It was set back while the watcher looked."""
    with guard_in(base) as guard:
        guard.after(1)
        later = TryLater("It limits us.", code="limited")
        later.not_before = guard.clock.now() + timedelta(days=365)
        guard.watcher.trouble = later
        guard.post.hurry()
        guard.clock.advance(1)
        looked = guard.clock.now()
        eventually(lambda: guard.post.step() or guard.post.standing.last_look == looked)
        assert guard.post.seconds_left() == 7200


class Odd(Troubled):
    """Something is wrong with each but the last."""

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[Any]]:
        yield ["unreadable", "incomplete", "good"]

    def parse(self, raw: Any) -> Sighting:
        if raw == "unreadable":
            raise RecursionError
        return Sighting(raw, event=event(raw))

    def complete(self, sighting: Sighting) -> Sighting:
        if sighting.about == "incomplete":
            raise ZeroDivisionError
        return sighting


def test_whatever_is_wrong_with_one_sighting_the_others_become_events(base: BaseDir) -> None:
    lookout = Lookout(base, MovableClock(), lambda setting: Odd())
    try:
        assert lookout.look() == 2
    finally:
        lookout.close()
    assert sorted(events(base)) == ["evt-test-good", "evt-test-incomplete"]
