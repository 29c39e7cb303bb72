"""What Claude Code reports is what the day costs; what is left of the day is what it is given."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kingdom.clock import SystemClock
from kingdom.store.paths import BaseDir
from kingdom.store.spending import Day, Spent, note
from tests.claude.test_in_a_kingdom import ended, model, realm, reports, send
from tests.support.cli import kingdom
from tests.support.noon import where_it_is_noon
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.waiting import eventually

__all__ = ["model"]  # the fixture
LIMITS = {"token_limits": {"daily_budget_usd": 1.0}}


@pytest.fixture
def zone() -> ZoneInfo:
    return where_it_is_noon()


def spent_before(base: BaseDir, zone: ZoneInfo, cost: str) -> None:
    today = SystemClock().now().astimezone(zone).date()
    one = Spent("", "task-0", "soldier-0", "gen-else", "", "claude", (), Decimal(cost), {})
    note(base, today, one)


def test_the_cost_of_an_attempt_is_what_the_program_says(
    scratch: Path, model: ScriptedModel, zone: ZoneInfo
) -> None:
    model.says(reports(), say("Bye."), to="work")
    with realm(model, scratch, chamberlain=LIMITS, system={"timezone": str(zone)}) as base:
        spent_before(base, zone, "0.4")
        result = ended(base, send(base, "work"))
        day = Day(base, SystemClock().now().astimezone(zone).date())
        day.refresh()
        (own,) = [one for one in day.attempts if one.general == "gen-trial"]
        shown = kingdom("budget", base=base).out
    assert own.cost == Decimal(str(result["metrics"]["cost_usd"]))
    assert own.cost > 0
    assert own.tokens["output"] > 0
    assert own.task_id == result["task_id"]
    assert "gen-trial" in shown


def test_who_reaches_the_days_budget_waits_and_does_not_fail(
    scratch: Path, model: ScriptedModel, zone: ZoneInfo
) -> None:
    """The program is handed almost nothing, and stops by itself."""
    again = use("Bash", command="true", description="again")
    model.says(*[again] * 40, to="spend")
    limits = {"token_limits": {"daily_budget_usd": 0.1}}
    with realm(model, scratch, chamberlain=limits, system={"timezone": str(zone)}) as base:
        spent_before(base, zone, "0.0975")
        event = send(base, "spend")
        waits = Path(base.tasks_log)
        eventually(lambda: waits.exists() and "day_budget_spent" in waits.read_text(), event)
        assert not list(Path(base.results).glob("task-*[0-9].json"))
