"""A day's work has one moment in each day, also where the clock is put forward or back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from kingdom.chamberlain.cleaning.slots import latest_slot, moment_of

BERLIN = ZoneInfo("Europe/Berlin")
FORWARD, BACK = date(2026, 3, 29), date(2026, 10, 25)


def test_the_day_begins_with_its_moment() -> None:
    at = datetime(2026, 2, 7, 3, 0, tzinfo=BERLIN)
    assert latest_slot(at - timedelta(seconds=1), "03:00", BERLIN) == date(2026, 2, 6)
    assert latest_slot(at, "03:00", BERLIN) == date(2026, 2, 7)


@pytest.mark.parametrize("at", ["00:00", "01:30", "02:00", "02:30", "03:00", "23:59"])
@pytest.mark.parametrize("day", [FORWARD, BACK])
def test_one_moment_a_day_where_the_clock_is_moved(at: str, day: date) -> None:
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    slots = [latest_slot(begin + timedelta(minutes=10 * n), at, BERLIN) for n in range(6 * 72)]
    turns = [later - earlier for earlier, later in pairwise(slots)]
    assert set(turns) == {timedelta(0), timedelta(days=1)}, "none is left out, none comes again"
    assert day in slots


def test_an_hour_that_comes_twice_counts_the_first_time() -> None:
    assert moment_of(BACK, "02:30", BERLIN) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_an_hour_that_never_comes_is_an_hour_later() -> None:
    assert moment_of(FORWARD, "02:30", BERLIN) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
