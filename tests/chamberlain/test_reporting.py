"""Reports come once, in the morning, of what is over; missed ones are not all made up."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from kingdom.chamberlain.reading import ReadEvents
from kingdom.chamberlain.reporting import ReportDaily
from kingdom.errors import TryLater
from kingdom.store.paths import BaseDir
from kingdom.store.spending import Spent, note
from kingdom.words.charts import sparkline
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.event_lines import append, completed, failed, line, timeout
from tests.support.full_disk import Refusing
from tests.support.household import office_in
from tests.support.kingdom import MovableClock

DAY = date(2026, 2, 7)  # a Saturday
NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)


def spend(base: BaseDir, soldier: str, cost: str | None, day: date = DAY) -> None:
    amount = None if cost is None else Decimal(cost)
    at = f"{day}T12:00:00.000Z"
    note(base, day, Spent(at, "task-1", soldier, "gen-pr", "acme/web", "claude", (), amount, {}))


def live(base: BaseDir, clock: MovableClock) -> None:
    """A chamberlain that begins, reads, and reports what is due."""
    with office_in(base, clock) as office:
        reader, reporter = ReadEvents(office), ReportDaily(office)
        reader.start()
        reporter.start()
        reporter.step()
        reader.step()
        reporter.step()
        reporter.step()


def reports(base: BaseDir, kind: str = "daily_report") -> list[dict[str, Any]]:
    found = Path(base.path("queue/messages")).glob("*/*.json")
    messages = [json.loads(path.read_text()) for path in found]
    listed = [one for one in messages if one["type"] == "report" and one["context"]["kind"] == kind]
    return sorted(listed, key=lambda one: str(one["context"]["date"]))


def dates(base: BaseDir, kind: str = "daily_report") -> list[str]:
    return [one["context"]["date"] for one in reports(base, kind)]


def a_day(base: BaseDir, at: datetime = NOON) -> None:
    append(
        base,
        line("task.created", "king", at, task_id="t", event_type="e", target_general="gen-pr",
             priority="low"),
        line("soldier.spawned", "gen-pr", at, task_id="t", soldier_id="s"),
        completed("gen-pr", at, 400.0),
        completed("gen-pr", at, 440.0),
        failed("gen-jira", at),
        timeout(at),
        line("task.needs_human", "gen-pr", at, task_id="t", question="?"),
        line("system.health_changed", "chamberlain", at, **{"from": "green"}, to="yellow",
             reason="cpu_percent: 72"),
        line("queue.buried", "king", at, stream="events", id="e", code="x", reason="bad"),
    )  # fmt: skip


def test_the_report_of_the_day_before_at_nine(base: BaseDir, clock: MovableClock) -> None:
    a_day(base)
    spend(base, "soldier-1", "1.25")
    spend(base, "soldier-2", None)
    clock.set_wall(datetime(2026, 2, 8, 8, 59, tzinfo=UTC))
    live(base, clock)
    assert reports(base) == []
    clock.set_wall(datetime(2026, 2, 8, 9, 0, tzinfo=UTC))
    for _ in range(3):
        live(base, clock)
    (message,) = reports(base)
    context = message["context"]
    assert {key: context[key] for key in ("type", "kind", "date")} == {
        "type": "daily_report",
        "kind": "daily_report",
        "date": "2026-02-07",
    }
    tasks = {
        name: context["tasks"][name] for name in ("created", "completed", "failed", "needs_human")
    }
    assert tasks == {"created": 1, "completed": 2, "failed": 1, "needs_human": 1}
    assert context["soldiers"]["spawned"] == context["soldiers"]["timeout"] == 1
    assert context["avg_duration_seconds"] == {"gen-pr": 420}
    assert (context["costs"]["usd"], context["costs"]["unpriced"]) == ("1.25", 1)
    assert context["health_changes"][0]["to"] == "yellow"
    assert context["dead_letters"]["count"] == 1
    written = json.loads(Path(base.path("logs/analysis/report-2026-02-07.json")).read_text())
    assert written == {key: value for key, value in context.items() if key != "kind"}
    assert message["content"] == (
        "Tasks: 1 created, 2 completed, 1 failed, 1 with a question\n"
        "Soldiers: 1 sent out, 1 out of time\n"
        "gen-pr: 2 completed in 7m on average, 95 % within 7m\n"
        "Cost: $1.25 (attempts: 2)\n"
        "Attempts whose price is unknown: 1; it cost more than that.\n"
        "Dearest: task-1 of gen-pr ($1.25)\n"
        "Why tasks failed: reported_failure 1\n"
        "02-07 12:00 health went from green to yellow (cpu_percent: 72)\n"
        "Dead letters: 1. See: kingdom queue ls --state dead\n"
        "Last 7 days: completed ▁▁▁▁▁▁█  cost ▁▁▁▁▁▁█"
    )


def test_of_several_that_were_missed_the_last_is_made_up(
    base: BaseDir, clock: MovableClock
) -> None:
    a_day(base)
    clock.set_wall(datetime(2026, 2, 8, 10, tzinfo=UTC))
    live(base, clock)
    for number in range(1, 5):
        a_day(base, NOON + timedelta(days=number))
    clock.set_wall(datetime(2026, 2, 12, 10, tzinfo=UTC))
    live(base, clock)
    assert dates(base) == ["2026-02-07", "2026-02-11"]


def test_of_a_day_that_nothing_is_known_of_nothing_is_said(
    base: BaseDir, clock: MovableClock
) -> None:
    clock.set_wall(datetime(2026, 2, 8, 10, tzinfo=UTC))
    live(base, clock)
    assert reports(base) == []


def test_the_week_is_reported_on_mondays(base: BaseDir, clock: MovableClock) -> None:
    for number in range(1, 13):
        a_day(base, NOON + timedelta(days=number - 1))
        clock.set_wall(datetime(2026, 2, 7, 9, 30, tzinfo=UTC) + timedelta(days=number))
        live(base, clock)
    assert len(dates(base)) == 12
    first, second = reports(base, "weekly_report")
    assert (first["context"]["date"], first["context"]["until"]) == ("2026-02-02", "2026-02-08")
    assert first["context"]["tasks"]["completed"] == 4
    assert second["context"]["tasks"]["completed"] == 14
    assert Path(base.path("logs/analysis/report-2026-W06.json")).exists()
    assert second["content"].startswith("Report of the week from 2026-02-09 to 2026-02-15")


def test_days_and_hours_are_those_of_the_kingdom(base: BaseDir, clock: MovableClock) -> None:
    Path(base.config).mkdir(parents=True, exist_ok=True)
    Path(base.config, "system.yaml").write_text("timezone: Asia/Seoul\nlanguage: ko\n")
    Path(base.config, "chamberlain.yaml").write_text(yaml.safe_dump({"report": {"at": "07:30"}}))
    seoul = ZoneInfo("Asia/Seoul")
    append(base, completed(at=datetime(2026, 2, 7, 0, 10, tzinfo=seoul)))
    append(base, completed(at=datetime(2026, 2, 6, 23, 50, tzinfo=seoul)))
    clock.set_wall(datetime(2026, 2, 8, 7, 30, tzinfo=seoul))
    live(base, clock)
    (message,) = reports(base)
    assert message["context"]["tasks"]["completed"] == 1
    assert message["content"].startswith("작업: 생성 0, 완료 1, 실패 0, 질문 0")


def test_who_wants_none_gets_none_and_finds_them_all_the_same(
    base: BaseDir, clock: MovableClock
) -> None:
    Path(base.config).mkdir(parents=True, exist_ok=True)
    off = {"report": {"daily": False, "weekly": False}}
    Path(base.config, "chamberlain.yaml").write_text(yaml.safe_dump(off))
    a_day(base)
    clock.set_wall(datetime(2026, 2, 9, 10, tzinfo=UTC) - timedelta(days=1))
    live(base, clock)
    assert reports(base) == []
    assert Path(base.path("logs/analysis/report-2026-02-07.json")).exists()


def test_a_clock_that_was_a_year_ahead_does_not_stop_reports(
    base: BaseDir, clock: MovableClock
) -> None:
    a_day(base)
    clock.set_wall(datetime(2027, 2, 8, 10, tzinfo=UTC))
    live(base, clock)
    clock.set_wall(datetime(2026, 2, 8, 10, tzinfo=UTC))
    live(base, clock)
    a_day(base, NOON + timedelta(days=1))
    clock.advance(86400)
    live(base, clock)
    assert dates(base) == ["2026-02-08"]


def test_killed_at_any_call_a_report_comes_once(base: BaseDir, clock: MovableClock) -> None:
    day = point = 0
    while True:
        point += 3
        day += 1
        a_day(base, NOON + timedelta(days=day))
        clock.set_wall(datetime(2026, 2, 8, 10, tzinfo=UTC) + timedelta(days=day))

        def once(point: int = point) -> None:
            with observed(Killer(point, after=False, passing_over=CHANGE_NOTHING)):
                live(base, clock)

        survived = in_child(once) == 0
        live(base, clock)
        live(base, clock)
        assert len(dates(base)) == len(set(dates(base))) == day
        if survived:
            break
    assert day > 4


@pytest.mark.parametrize(
    ("values", "line_"),
    [([], ""), ([0, 0], "▁▁"), ([0, 1, 2], "▁▅█"), ([5], "█")],
)
def test_a_sparkline_is_as_high_as_its_greatest(values: list[float], line_: str) -> None:
    assert sparkline(values) == line_


def test_a_disk_that_is_full_at_any_point_costs_no_report(
    base: BaseDir, clock: MovableClock
) -> None:
    point, day = 1, NOON
    with office_in(base, clock) as office:
        reader, reporter = ReadEvents(office), ReportDaily(office)
        reader.start()
        reporter.start()
        while True:
            a_day(base, day)
            day += timedelta(days=1)
            clock.set_wall(day)
            reader.step()
            refusing = Refusing(point)
            with observed(refusing), suppress(OSError, TryLater):
                reporter.step()
            for _ in range(2):
                reporter.step()
            expected = [f"{NOON.date() + timedelta(days=n)}" for n in range(point)]
            assert dates(base) == expected, f"the disk was full at write {point}"
            if refusing.left > 0:
                break
            point += 1
    assert point > 5, "there are several writes to each"
