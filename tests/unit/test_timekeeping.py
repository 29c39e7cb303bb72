"""A clock is believed that runs as the other one does, and doubted for a day after a leap."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.runtime import timekeeping
from kingdom.runtime.timekeeping import DAY, Timekeeping, confirm
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock

HOUR = 3600.0


@pytest.fixture
def keeper(base: BaseDir, clock: MovableClock) -> Timekeeping:
    """One that has looked for a day."""
    made = again(base, clock)
    for _ in range(25):
        made.look()
        clock.advance(HOUR)
    assert made.look()
    return made


def again(base: BaseDir, clock: MovableClock) -> Timekeeping:
    return Timekeeping(base, base.path("state", "clock.json"), clock)


def test_at_first_nobody_knows(base: BaseDir, clock: MovableClock) -> None:
    assert not again(base, clock).look()


@pytest.mark.parametrize("days", [-400.0, -1.1, 1.1, 400.0])
def test_a_leap_is_doubted_for_a_day(keeper: Timekeeping, clock: MovableClock, days: float) -> None:
    clock.wall += timedelta(days=days)
    looks = []
    for _ in range(25):
        looks.append(keeper.look())
        clock.advance(HOUR)
    assert looks == [False] * 24 + [True]


@pytest.mark.parametrize("hours", [-23.0, 23.0])
def test_less_than_a_day_is_no_leap(keeper: Timekeeping, clock: MovableClock, hours: float) -> None:
    clock.wall += timedelta(hours=hours)
    assert keeper.look()


def test_a_restart_forgets_no_doubt(
    keeper: Timekeeping, base: BaseDir, clock: MovableClock
) -> None:
    clock.wall += 400 * DAY
    assert not keeper.look()
    for _ in range(23):
        clock.advance(HOUR)
        assert not again(base, clock).look()
    clock.advance(HOUR)
    assert again(base, clock).look()


def test_a_long_rest_is_none_while_the_machine_runs(
    keeper: Timekeeping, base: BaseDir, clock: MovableClock
) -> None:
    keeper.write()
    clock.advance(30 * 24 * HOUR)
    assert again(base, clock).look()


def test_a_long_rest_over_a_boot_is_doubted(
    keeper: Timekeeping, base: BaseDir, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.write()
    monkeypatch.setattr(timekeeping, "boot", lambda: "another")
    clock.wall += DAY / 2
    clock.ticks = 5.0
    assert again(base, clock).look(), "that may have been a short rest"
    monkeypatch.setattr(timekeeping, "boot", lambda: "a third one")
    clock.advance(48 * HOUR)  # ticks count from a boot: that they agree means nothing
    assert not again(base, clock).look()


def test_a_person_s_word_counts_for_the_time_it_was_given(
    keeper: Timekeeping, base: BaseDir, clock: MovableClock
) -> None:
    clock.wall += 400 * DAY
    assert not keeper.look()
    confirm(base, clock.now())
    assert keeper.look()
    clock.wall -= 400 * DAY
    assert not keeper.look()


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"looked_at": "x", "ticks": 1}', "{"])
def test_a_damaged_note_is_none(
    keeper: Timekeeping, base: BaseDir, clock: MovableClock, damage: str
) -> None:
    keeper.write()
    Path(base.path("state", "clock.json")).write_text(damage)
    assert not again(base, clock).look()
