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
from zoneinfo import ZoneInfo

import pytest

from kingdom.chamberlain.cleaning.slots import moment_of
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
    return life


def check(life: Life) -> None:
    """All that can be told after the last day."""
    by_nights = Counter(_told(life, "recovery.files_cleaned"))
    assert set(by_nights.values()) <= {1}, "no day was cleaned twice"
    before = life.there()
    assert life.allowed(life.clock.now()) <= before, "nothing went too early"
    with office_in(life.base, life.clock) as office:
        tidy(office)
    assert life.there() == life.allowed(life.clock.now())
    _check_logs(life)
    _check_figures(life)


def _check_figures(life: Life) -> None:
    """Each line was counted once, on its day, and each day reported once."""
    with office_in(life.base, life.clock) as office:
        reader = ReadEvents(office)
        reader.start()
        reader.step()
    stats = json.loads(Path(life.base.path("logs/analysis/stats.json")).read_text())
    assert stats["totals"]["event.detected"] == len(life.emitted)
    days = Counter(at.astimezone(ZoneInfo(ZONE)).date().isoformat() for at, _ in life.emitted)
    assert {day: one["totals"].get("event.detected", 0) for day, one in stats["days"].items()} == {
        day: days[day] for day in stats["days"]
    }
    lines = [
        line for path in _event_logs(life.base) for line in Path(path).read_text().splitlines()
    ]
    begun = [json.loads(one)["data"]["date"] for one in lines if "token_budget_reset" in one]
    assert begun == sorted(set(begun)), "no day began twice"
    messages = Path(life.base.path("queue/messages")).glob("*/msg-*.json")
    contexts = [json.loads(path.read_text()).get("context", {}) for path in messages]
    reports = Counter((one["kind"], one["date"]) for one in contexts if "kind" in one)
    assert reports
    assert set(reports.values()) == {1}, "each report came once"


def _told(life: Life, type_: str) -> list[date]:
    """The days whose work was told of, by the hour at which it was due."""
    found = []
    for path in _event_logs(life.base):
        for line in Path(path).read_text().splitlines():
            if f'"{type_}"' in line:
                moment = datetime.fromisoformat(json.loads(line)["ts"]).astimezone(ZoneInfo(ZONE))
                found.append((moment - timedelta(hours=3)).date())
    return found


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
    confirm(base, START)
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
    assert rotated == [
        f"events-{day:%Y%m%d}.log" for day in [begun, *nights][-1 - len(rotated) : -1]
    ]
    assert len(internal_events(base, "recovery.log_rotated")) == 1, "today's log tells of one"
    check(life)


@pytest.mark.long
def test_a_busy_week(base: BaseDir) -> None:
    """20,000 events a day."""
    kept = {"queue": 2, "results": 2, "prompts": 1, "session_logs": 2, "seen": 3}
    life = lived(base, 1, kept)
    life.live(days=7, events_a_day=20_000, at_once=200, restarts_a_day=2.0)
    check(life)
