"""The day's budget: what it admits, when it begins anew, and who is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from kingdom.chamberlain.budget import EVERY, Budget
from kingdom.chamberlain.costs import forecast, seconds_until_midnight, summed
from kingdom.chamberlain.duty import Office
from kingdom.store.paths import BaseDir
from kingdom.store.spending import Spent, note, read_day
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.household import internal_events, office_in, said
from tests.support.kingdom import MovableClock

CHANGED, RESET = "system.token_status_changed", "system.token_budget_reset"
DAY = date(2026, 2, 7)


def configure(base: BaseDir, file: str, **values: Any) -> None:
    path = Path(base.config, f"{file}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(values))


@pytest.fixture
def limited(base: BaseDir) -> None:
    """Ten dollars a day; before an office is opened."""
    configure(base, "chamberlain", token_limits={"daily_budget_usd": 10.0})


@pytest.fixture
def spend(base: BaseDir) -> Callable[..., None]:
    soldiers = iter(range(1, 1000))

    def spent(cost: str | None, day: date = DAY, **more: Any) -> None:
        number = next(soldiers)
        values: dict[str, Any] = {
            "at": f"{day}T10:00:00.000Z",
            "task_id": f"task-{number}",
            "soldier_id": f"soldier-{number}",
            "general": "gen-pr",
            "repo": "acme/web",
            "engine": "claude",
            "models": (),
            "cost": None if cost is None else Decimal(cost),
            "tokens": {"input": 10},
        }
        note(base, day, Spent(**(values | more)))

    return spent


def started(office: Office) -> Budget:
    duty = Budget(office)
    duty.start()
    duty.step()
    return duty


def tokens(office: Office) -> tuple[str, str | None]:
    return office.board.tokens.status, office.board.tokens.daily_cost_usd


def changes(base: BaseDir) -> list[tuple[str, str, str]]:
    told = [one["data"] for one in internal_events(base, CHANGED)]
    return [(one["from"], one["to"], one["daily_cost_usd"]) for one in told]


@pytest.mark.provokes("system.token_status_changed")
@pytest.mark.usefixtures("limited")
def test_from_ok_over_warning_to_critical(
    base: BaseDir, office: Office, spend: Callable[..., None]
) -> None:
    duty = started(office)
    assert tokens(office) == ("ok", "0.00")
    for cost, status in (
        ("6.99", "ok"),
        ("0.01", "warning"),
        ("1.99", "warning"),
        ("0.01", "critical"),
    ):
        spend(cost)
        duty.step()
        assert tokens(office)[0] == status
    assert changes(base) == [("ok", "warning", "7.00"), ("warning", "critical", "9.00")]
    assert [text.partition(",")[0] for text in said(base)] == [
        "$7.00 of today's budget of $10.00 are spent",
        "$9.00 of today's budget of $10.00 are spent",
    ]


@pytest.mark.provokes("system.token_budget_reset")
@pytest.mark.usefixtures("limited")
def test_a_new_day_begins_once_and_admits_work_again(
    base: BaseDir, clock: MovableClock, spend: Callable[..., None]
) -> None:
    spend("9.50")
    with office_in(base, clock) as office:
        duty = started(office)
        clock.set_wall(datetime(2026, 2, 7, 23, 59, 55, tzinfo=UTC))
        assert duty.step() == pytest.approx(5, abs=0.01)
        clock.advance(5.001)
        duty.step()
        assert tokens(office) == ("ok", "0.00")
        duty.step()
    with office_in(base, clock) as office:
        started(office)
    (told,) = internal_events(base, RESET)
    assert told["data"] == {"date": "2026-02-08", "previous_cost": "9.50"}
    assert changes(base)[-1] == ("critical", "ok", "0.00")
    assert said(base)[1:] == ["The budget admits work again ($0.00 are spent today)."]


def test_missed_midnights_are_one(
    base: BaseDir, clock: MovableClock, spend: Callable[..., None]
) -> None:
    spend("3.25")
    with office_in(base, clock) as office:
        started(office)
    clock.advance(5 * 86400)
    with office_in(base, clock) as office:
        started(office)
    (told,) = internal_events(base, RESET)
    assert told["data"] == {"date": "2026-02-12", "previous_cost": "3.25"}


def test_a_clock_that_goes_back_begins_no_day(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office:
        duty = started(office)
        for days in (-1, 1):
            clock.advance(days * 86400)
            duty.step()
    assert internal_events(base, RESET) == []


def test_a_clock_that_was_a_year_ahead_does_not_stop_the_days(
    base: BaseDir, clock: MovableClock
) -> None:
    with office_in(base, clock) as office:
        duty = started(office)
        for days in (365, -365, 1):
            clock.advance(days * 86400)
            duty.step()
    dates = [one["data"]["date"] for one in internal_events(base, RESET)]
    assert dates == ["2027-02-07", "2026-02-08"]


@pytest.mark.parametrize(
    ("zone", "before", "hours"),
    [
        ("Asia/Seoul", datetime(2026, 2, 6, 15, 0, 1, tzinfo=UTC), 24),
        ("Europe/Berlin", datetime(2026, 3, 28, 23, 0, 1, tzinfo=UTC), 23),
        ("Europe/Berlin", datetime(2026, 10, 24, 22, 0, 1, tzinfo=UTC), 25),
        ("America/New_York", datetime(2026, 3, 8, 5, 0, 1, tzinfo=UTC), 23),
    ],
)
def test_the_day_is_that_of_the_kingdoms_zone(
    base: BaseDir, clock: MovableClock, zone: str, before: datetime, hours: int
) -> None:
    configure(base, "system", timezone=zone)
    clock.set_wall(before)
    with office_in(base, clock) as office:
        duty = started(office)
        clock.advance(hours * 3600 - 2)
        assert duty.step() == pytest.approx(1, abs=0.01)
        assert internal_events(base, RESET) == []
        clock.advance(1.001)
        duty.step()
    (told,) = internal_events(base, RESET)
    tomorrow = before.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
    assert told["data"]["date"] == tomorrow.isoformat()


@pytest.mark.usefixtures("limited")
def test_unknown_prices_are_said_and_not_guessed(
    base: BaseDir, office: Office, spend: Callable[..., None]
) -> None:
    spend(None)
    spend(None)
    duty = started(office)
    assert tokens(office) == ("unknown", "0.00")
    assert said(base) == [
        "No attempt of today has a known price (2), so the budget cannot be kept. "
        "See: kingdom budget"
    ]
    spend("8")
    duty.step()
    assert tokens(office) == ("warning", "8.00")
    more = "Besides, there are attempts whose price is unknown: 2."
    assert said(base)[1].endswith(f"kingdom budget. {more}")


@pytest.mark.usefixtures("limited")
def test_a_price_of_zero_is_a_price(office: Office, spend: Callable[..., None]) -> None:
    spend("0")
    started(office)
    assert tokens(office) == ("ok", "0.00")


def test_without_a_budget_all_is_well_and_counted(
    base: BaseDir, clock: MovableClock, spend: Callable[..., None]
) -> None:
    configure(base, "chamberlain", token_limits={"daily_budget_usd": None})
    spend("1000000")
    with office_in(base, clock) as office:
        assert started(office).step() == EVERY
        assert tokens(office) == ("ok", "1000000.00")


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("damage", ["", "[]", "{", '{"date": 3}', '{"telling": [1]}'])
def test_a_damaged_file_begins_anew(base: BaseDir, clock: MovableClock, damage: str) -> None:
    with office_in(base, clock) as office:
        Path(office.path("budget.json")).write_text(damage)
        started(office)
        assert json.loads(Path(office.path("budget.json")).read_text())["date"] == "2026-02-07"
    assert internal_events(base, RESET) == []


@pytest.mark.usefixtures("limited")
def test_killed_at_any_call_each_change_is_told_once(
    base: BaseDir, clock: MovableClock, spend: Callable[..., None]
) -> None:
    spend("9.50")
    with office_in(base, clock) as office:
        started(office)
    point = 0
    while True:
        point += 1
        clock.advance(86400)
        day = clock.now().date()
        spend("7.50", day)

        def live(point: int = point) -> None:
            killer = Killer(point, after=False, passing_over=CHANGE_NOTHING)
            with office_in(base, clock) as office, observed(killer):
                started(office)

        survived = in_child(live) == 0
        with office_in(base, clock) as office:
            started(office)
        resets = [one["data"]["date"] for one in internal_events(base, RESET)]
        assert resets == sorted(set(resets))
        assert resets[-1] == day.isoformat()
        if survived:
            break
    assert point > 10
    assert changes(base) == [("ok", "critical", "9.50"), ("critical", "warning", "7.50")]


def test_the_forecast_adds_what_earlier_days_cost_after_this_time(
    base: BaseDir, spend: Callable[..., None]
) -> None:
    spend("2")
    now = datetime(2026, 2, 7, 12, 0, tzinfo=UTC)
    for back in (1, 2):
        day = DAY - timedelta(days=back)
        spend("5", day, at=f"{day}T09:00:00.000Z")
        spend("3", day, at=f"{day}T15:00:00.000Z")
    days = [read_day(base, DAY - timedelta(days=back)) for back in range(1, 8)]
    today = read_day(base, DAY)
    assert forecast(today, days, now, UTC) is None  # two days are too few
    spend("6", DAY - timedelta(days=3), at="2026-02-04T20:00:00.000Z")
    days[2].refresh()
    assert forecast(today, days, now, UTC) == 2 + Decimal(3 + 3 + 6) / 3


def test_who_spent_it(base: BaseDir, spend: Callable[..., None]) -> None:
    spend("0.10", task_id="task-1")
    spend("0.20", task_id="task-1", general="gen-pr")
    spend("5", task_id="task-2", general="gen-jira", repo="acme/api")
    spend(None, task_id="task-3", repo="")
    found = summed([read_day(base, DAY)])
    assert (found["usd"], found["attempts"], found["unpriced"]) == ("5.30", 4, 1)
    assert found["tokens"] == {"input": 40}
    assert list(found["by_general"]) == ["gen-jira", "gen-pr"]
    assert found["by_general"]["gen-pr"] == {"usd": "0.30", "attempts": 3, "unpriced": 1}
    assert list(found["by_repo"]) == ["acme/api", "acme/web", "-"]
    assert [one["task_id"] for one in found["dearest"]] == ["task-2", "task-1"]


def test_midnight_is_that_of_the_wall_clock() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert seconds_until_midnight(datetime(2026, 3, 28, 23, tzinfo=UTC), berlin) == 23 * 3600
