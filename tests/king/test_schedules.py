"""When schedules are due, in which zone, across clock changes, and what is caught up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from kingdom.king.schedules import MOST_AT_ONCE, due, next_slot, slots_after

BERLIN = ZoneInfo("Europe/Berlin")  # 2026: forward on 29 March at 2:00, back on 25 October at 3:00
SEOUL = ZoneInfo("Asia/Seoul")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def slots(cron: str, zone: ZoneInfo, after: str, count: int) -> list[str]:
    return [f"{one:%d %H:%M}" for one in islice(slots_after(cron, zone, at(after)), count)]


def test_a_schedule_is_read_in_the_zone_of_the_kingdom() -> None:
    assert next_slot("0 9 * * *", SEOUL, at("2026-02-07 10:00")) == at("2026-02-08 00:00")
    assert next_slot("0 9 * * *", UTC, at("2026-02-07 10:00")) == at("2026-02-08 09:00")
    assert next_slot("0 9 * * 1-5", BERLIN, at("2026-02-07 10:00")) == at("2026-02-09 08:00")


def test_a_slot_is_strictly_after() -> None:
    assert next_slot("0 9 * * *", UTC, at("2026-02-07 09:00")) == at("2026-02-08 09:00")
    assert next_slot("0 9 * * *", UTC, at("2026-02-07 08:59:59.999")) == at("2026-02-07 09:00")


def test_a_time_that_does_not_exist_is_taken_when_the_clock_goes_on() -> None:
    assert slots("30 2 * * *", BERLIN, "2026-03-28 00:00", 3) == [
        "28 01:30",
        "29 01:00",
        "30 00:30",
    ]


def test_two_times_that_do_not_exist_are_one_slot() -> None:
    assert slots("0,30 2 * * *", BERLIN, "2026-03-28 12:00", 3) == [
        "29 01:00",
        "30 00:00",
        "30 00:30",
    ]


def test_a_time_that_comes_twice_counts_once() -> None:
    assert slots("30 2 * * *", BERLIN, "2026-10-24 00:00", 3) == [
        "24 00:30",
        "25 00:30",
        "26 01:30",
    ]


def test_one_who_looks_in_the_second_of_the_two_hours_is_told_no_slot_of_the_past() -> None:
    # 01:10 UTC is 2:10 for the second time; 2:30 was at 00:30 UTC.
    assert slots("30 2 * * *", BERLIN, "2026-10-25 01:10", 1) == ["26 01:30"]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_schedule_by_the_minute_keeps_its_rhythm_when_the_clock_changes(day: str) -> None:
    found = list(islice(slots_after("*/30 * * * *", BERLIN, at(f"{day} 00:00")), 8))
    assert [b - a for a, b in pairwise(found)] == [timedelta(minutes=30)] * 7


@pytest.mark.parametrize("cron", ["30 2 * * *", "0,30 2 * * *", "15 */2 * * *", "* * * * *"])
def test_no_slot_is_named_twice_or_backwards_over_a_year(cron: str) -> None:
    start, last = at("2026-01-01 00:00"), at("2026-01-01 00:00")
    for slot in slots_after(cron, BERLIN, start):
        assert slot > last
        last = slot
        if slot > start + timedelta(days=365 if cron[0] != "*" else 3):
            break


def caught_up(cron: str, after: str, now: str) -> tuple[list[str], bool]:
    found = due(cron, UTC, at(after), at(now))
    return [f"{slot:%d %H:%M}" for slot in found.slots], found.left_out


@pytest.mark.parametrize(
    ("cron", "after", "now", "slots", "left_out"),
    [
        ("0 9 * * *", "2026-02-07 09:00", "2026-02-07 10:00", [], False),
        ("0 9 * * *", "2026-02-07 08:00", "2026-02-07 09:00", ["07 09:00"], False),
        ("0 9 * * *", "2026-02-07 08:00", "2026-02-07 08:59:59", [], False),
        ("0 */4 * * *", "2026-02-07 00:00", "2026-02-07 09:00", ["07 04:00", "07 08:00"], False),
        ("0 9 * * *", "2026-02-01 09:00", "2026-02-07 10:00", ["07 09:00"], True),
        ("0 9 1 * *", "2026-01-20 00:00", "2026-02-07 10:00", [], True),
        ("0 9 8 * *", "2026-01-09 00:00", "2026-02-07 10:00", [], False),
    ],
    ids=["served", "now", "not yet", "two missed", "a week", "too old", "nothing missed"],
)
def test_missed_slots_are_caught_up_for_a_day_back(
    cron: str, after: str, now: str, slots: list[str], left_out: bool
) -> None:
    assert caught_up(cron, after, now) == (slots, left_out)


def test_of_many_missed_slots_the_newest_few_are_caught_up() -> None:
    found = due("* * * * *", UTC, at("2026-02-07 00:00"), at("2026-02-07 10:00"))
    assert found.left_out
    assert len(found.slots) == MOST_AT_ONCE
    assert (found.slots[0], found.slots[-1]) == (at("2026-02-07 09:51"), at("2026-02-07 10:00"))


def test_years_of_downtime_cost_no_more_than_a_day() -> None:
    found = due("* * * * *", UTC, at("2016-02-07 00:00"), at("2026-02-07 10:00"))
    assert (len(found.slots), found.left_out) == (MOST_AT_ONCE, True)


def test_a_clock_put_back_serves_nothing_twice() -> None:
    assert caught_up("0 9 * * *", "2026-02-07 09:00", "2026-02-07 08:30") == ([], False)
