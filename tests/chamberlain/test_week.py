"""Days of life: afterwards exactly what the table allows is there, and each work was done once.

The bus and all duties are real, and so is the role that goes round; the others are played.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kingdom.chamberlain.cleaning.slots import latest_slot, moment_of
from kingdom.chamberlain.daily import week_of
from kingdom.chamberlain.reading import ReadEvents
from kingdom.ops.relations import _event_logs
from kingdom.runtime.timekeeping import confirm
from kingdom.store.log_files import put_away_events
from kingdom.store.paths import BaseDir
from tests.chamberlain.test_cleaning import tidy
from tests.support.household import internal_events, office_in
from tests.support.kingdom import MovableClock
from tests.support.weeks import Life

ZONE = "Europe/Berlin"
START = datetime(2026, 3, 23, 11, 0, tzinfo=UTC)  # six days before the clock is put forward


def lived(base: BaseDir, seed: int, days: dict[str, int] | None = None) -> Life:
    life = Life(base, MovableClock(START), Random(seed))
    life.days.update(days or {})
    life.configure(ZONE)
    confirm(base, START)
    return life


def check(life: Life, *, nights_in_one_look: bool = True) -> None:
    """All that can be told after the last day."""
    figures = _figures(life)
    _check_days(life, figures, nights_in_one_look=nights_in_one_look)
    _check_reports(life)
    before = life.there()
    assert life.allowed(life.clock.now()) <= before, "nothing went too early"
    with office_in(life.base, life.clock) as office:
        tidy(office)
    assert life.there() == life.allowed(life.clock.now())
    _check_logs(life)
    _check_totals(life, figures)


def _figures(life: Life) -> dict[str, Any]:
    with office_in(life.base, life.clock) as office:
        reader = ReadEvents(office)
        reader.start()
        reader.step()
    found: dict[str, Any] = json.loads(Path(life.base.path("logs/analysis/stats.json")).read_text())
    return found


def _check_totals(life: Life, stats: dict[str, Any]) -> None:
    """Each line was counted once, on its day."""
    assert stats["totals"]["event.detected"] == len(life.emitted)
    days = Counter(_local(at).date().isoformat() for at, _ in life.emitted)
    assert _by_day(stats, "event.detected") == days


def _check_days(life: Life, stats: dict[str, Any], *, nights_in_one_look: bool) -> None:
    """Each day on which someone was there began once and its log was put away once; each night
    was cleaned once, by the first who was there after its hour."""
    there = sorted({_local(at).date() for at in life.looks})
    begun = Counter(day.isoformat() for day in there[1:])
    assert len(begun) >= 5
    assert _by_day(stats, "system.token_budget_reset") == begun
    assert _by_day(stats, "recovery.log_rotated") == begun
    first: dict[date, datetime] = {}
    for at in life.looks:
        first.setdefault(latest_slot(at, "03:00", ZoneInfo(ZONE)), at)
    nights = [_local(at).date().isoformat() for _, at in sorted(first.items())[1:]]
    assert len(nights) >= 5
    cleaned = _by_day(stats, "recovery.files_cleaned")
    if nights_in_one_look:
        assert cleaned == Counter(nights)
    else:  # one who is killed in the middle leaves the night to the next
        assert len(nights) // 2 < cleaned.total() <= len(nights)


def _check_reports(life: Life) -> None:
    """Each time that someone was there the last that was due had come, and each came once."""
    due = [_local(at).date() - timedelta(1 if _local(at).hour >= 9 else 2) for at in life.looks]
    begun = _local(START).date()
    expected = {("daily_report", str(day)) for day in due if day >= begun}
    mondays = [week_of(day - timedelta(days=6))[0] for day in due]
    expected |= {("weekly_report", str(day)) for day in mondays if day >= begun}
    assert len(expected) >= 5
    messages = Path(life.base.path("queue/messages")).glob("*/msg-*.json")
    contexts = [json.loads(path.read_text()).get("context", {}) for path in messages]
    reports = Counter((one["kind"], one["date"]) for one in contexts if "kind" in one)
    assert reports == Counter(expected)


def _by_day(stats: dict[str, Any], type_: str) -> Counter[str]:
    return +Counter({day: one["totals"].get(type_, 0) for day, one in stats["days"].items()})


def _local(at: datetime) -> datetime:
    return at.astimezone(ZoneInfo(ZONE))


def _check_logs(life: Life) -> None:
    """Each day that is kept has one log, and no line of it is missing."""
    days = [Path(path).name for path in put_away_events(life.base)]
    assert [name for name in days if name.count("-") > 1] == [], "a day was split twice"
    lines = [
        json.loads(line)["data"]["event_id"]
        for path in _event_logs(life.base)
        for line in Path(path).read_text().splitlines()
        if '"event.detected"' in line
    ]
    emitted = [id_ for _, id_ in life.emitted]
    assert lines == emitted[len(emitted) - len(lines) :]
    oldest = life.clock.now() - timedelta(days=life.days["logs"] + 2)
    assert len(lines) >= sum(at > oldest + timedelta(days=2) for at, _ in life.emitted)


@pytest.mark.parametrize("seed", range(2))
def test_a_week_and_a_half_with_restarts(base: BaseDir, seed: int) -> None:
    life = lived(base, seed)
    life.live(days=10, events_a_day=20, at_once=1, restarts_a_day=2.0)
    assert life.restarts > 5
    check(life)


def test_a_week_without_a_restart(base: BaseDir) -> None:
    """Each night once, at its hour, also in the night in which the clock is put forward."""
    life = lived(base, 0)
    life.live(days=8, events_a_day=20, at_once=1, restarts_a_day=0.0)
    begun = START.astimezone(ZoneInfo(ZONE)).date()
    nights = [begun + timedelta(days=number) for number in range(1, 9)]
    told = [
        datetime.fromisoformat(one["ts"])
        for path in _event_logs(base)
        for one in map(json.loads, Path(path).read_text().splitlines())
        if one["type"] == "recovery.files_cleaned"
    ]
    due = [moment_of(day, "03:00", ZoneInfo(ZONE)) for day in nights]
    late = [at - slot for at, slot in zip(told, due, strict=True)]
    assert all(timedelta(0) <= one < timedelta(minutes=30) for one in late)
    assert {later - earlier for earlier, later in pairwise(due)} == {
        timedelta(hours=24),
        timedelta(hours=23),
    }
    rotated = [Path(path).name for path in put_away_events(base)]
    # That of the first day was put away more than seven days before the last cleaning.
    assert rotated == [f"events-{day:%Y%m%d}.log" for day in nights[:-1]]
    assert len(internal_events(base, "recovery.log_rotated")) == 1, "today's log tells of one"
    assert {_local(at).date() for at in life.looks} == {begun, *nights}, "each day counts below"
    check(life)


@pytest.mark.long
def test_a_busy_week(base: BaseDir) -> None:
    """20,000 events a day."""
    kept = {"queue": 2, "results": 2, "prompts": 1, "session_logs": 2, "seen": 3}
    life = lived(base, 1, kept)
    life.live(days=7, events_a_day=20_000, at_once=200, restarts_a_day=2.0)
    check(life, nights_in_one_look=False)
