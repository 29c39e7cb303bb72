"""`kingdom budget` and `kingdom report`, as people use them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from kingdom.chamberlain.budget import Budget
from kingdom.chamberlain.reading import ReadEvents
from kingdom.clock import SystemClock, isoformat
from kingdom.store.paths import BaseDir
from kingdom.store.spending import Spent, note
from tests.support.cli import kingdom, one_sentence
from tests.support.event_lines import append, completed, failed
from tests.support.household import office_in
from tests.support.noon import where_it_is_noon


@pytest.fixture
def now() -> datetime:
    return SystemClock().now().astimezone(where_it_is_noon())


@pytest.fixture
def realm(base: BaseDir, now: datetime) -> BaseDir:
    """A kingdom in which money was spent on four days, twice today."""
    assert kingdom("init", base.root).code == 0
    limits = "token_limits: {daily_budget_usd: 10.0, per_task_usd: 2.5}\n"
    Path(base.path("config/local")).mkdir(exist_ok=True)
    Path(base.path("config/local/chamberlain.yaml")).write_text(limits)
    Path(base.path("config/local/system.yaml")).write_text(f"timezone: {now.tzinfo}\n")
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for back, cost in enumerate(("4.00", "1.00", "2.00", "3.00")):
        spend(base, today - timedelta(days=back), cost, "gen-pr", "acme/web")
    spend(base, today, "3.50", "gen-jira", "acme/api")
    spend(base, today, None, "gen-jira", "acme/api")
    return base


def spend(base: BaseDir, at: datetime, cost: str | None, general: str, repo: str) -> None:
    amount, day = None if cost is None else Decimal(cost), at.date()
    task = f"task-{day:%Y%m%d}-{general}"
    soldier = f"soldier-{day}-{general}-{cost}"
    moment = isoformat(at)
    note(base, day, Spent(moment, task, soldier, general, repo, "claude", (), amount, {"input": 5}))


def test_what_was_spent_by_whom_and_what_is_left(realm: BaseDir, now: datetime) -> None:
    said = kingdom("budget", base=realm)
    assert said.code == 0
    assert said.lines[0] == "today      $7.50 of $10.00  ███████████████░░░░░  75%"
    assert said.lines[1] == "status     warning: only urgent work is let in"
    assert said.lines[2] == "forecast   $7.50 by midnight"
    assert said.lines[3].startswith("unknown    1 attempt today and 1 in 7 days told no price")
    assert said.lines[4] == (
        "limits     $10.00 a day (warning at 70 %, critical at 90 %), $2.50 a task"
    )
    assert said.lines[5].startswith("7 days     $13.50  ")
    assert "gen-jira  $3.50  $3.50 + ?  2" in said.out
    assert "gen-pr    $4.00  $10.00     4" in said.out


def test_the_same_for_programs(realm: BaseDir) -> None:
    found = json.loads(kingdom("budget", "--json", base=realm).out)
    assert (found["status"], found["left_usd"]) == ("warning", "2.50")
    assert found["today"]["by_repo"]["acme/api"] == {"usd": "3.50", "attempts": 2, "unpriced": 1}
    assert found["week"]["usd"] == "13.50"
    assert len(found["week"]["days"]) == 7


def test_what_the_chamberlain_wrote_a_moment_ago_is_believed(realm: BaseDir) -> None:
    with office_in(realm, SystemClock()) as office:
        duty = Budget(office)
        duty.start()
        duty.step()
    Path(realm.path("config/local/chamberlain.yaml")).write_text("nonsense: [")
    assert "$7.50 of $10.00" in kingdom("budget", base=realm).out
    Path(realm.path("state/chamberlain/budget.json")).unlink()
    assert "chamberlain.yaml" in one_sentence(kingdom("budget", base=realm), 2)


def test_without_a_budget_and_without_work(base: BaseDir) -> None:
    assert kingdom("init", base.root).code == 0
    assert "of $20.00" in kingdom("budget", base=base).lines[0]
    local = Path(base.path("config", "local", "chamberlain.yaml"))
    local.write_text("token_limits: {daily_budget_usd: null}\n")
    said = kingdom("budget", base=base)
    assert said.lines[0].endswith("; no budget is set")
    assert "not yet: it needs three days of work among the last seven" in said.out
    assert "token_limits in config/local/chamberlain.yaml" in said.out


def read(base: BaseDir) -> None:
    with office_in(base, SystemClock()) as office:
        duty = ReadEvents(office)
        duty.start()
        duty.step()


def test_the_report_of_the_last_day_that_is_known(realm: BaseDir, now: datetime) -> None:
    append(realm, completed(at=now), failed(at=now), completed(at=now - timedelta(days=1)))
    read(realm)
    yesterday, today = now.date() - timedelta(days=1), now.date()
    assert kingdom("report", base=realm).lines[0] == f"Report of {yesterday}"
    said = kingdom("report", "--date", "today", base=realm)
    assert said.lines[0] == f"Report of {today}"
    assert "Tasks: 0 created, 1 completed, 1 failed, 0 with a question" in said.lines
    assert "Cost: $7.50 (attempts: 3)" in said.lines
    found = json.loads(kingdom("report", "--date", str(today), "--json", base=realm).out)
    assert found["tasks"]["failed"] == 1
    assert json.loads(kingdom("report", "--week", "--json", base=realm).out)["type"] == (
        "weekly_report"
    )


def test_a_report_that_was_sent_is_shown_as_it_was(realm: BaseDir) -> None:
    read(realm)
    path = Path(realm.path("logs/analysis/report-2026-01-05.json"))
    found = json.loads(kingdom("report", "--date", "today", "--json", base=realm).out)
    path.write_text(json.dumps({**found, "date": "2026-01-05"}))
    said = kingdom("report", "--date", "2026-01-05", base=realm)
    assert said.lines[0] == "Report of 2026-01-05"


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--date", "2020-01-01"], 1, "Nothing is known of 2020-01-01."),
        (["--date", "soon"], 2, "'soon' is not a date."),
        (["--date", "9999-12-31", "--week"], 1, "Nothing is known of that week."),
        (["--date", "9999-12-31"], 1, "Nothing is known of 9999-12-31."),
        (["--date", "0001-01-01", "--week"], 1, "Nothing is known of that week."),
        (["--date", "2020-01-01", "--week"], 1, "Nothing is known of that week."),
    ],
)
def test_a_day_that_there_is_no_report_of(
    base: BaseDir, words: list[str], code: int, part: str
) -> None:
    assert kingdom("init", base.root).code == 0
    assert part in one_sentence(kingdom("report", *words, base=base), code)


def test_a_budget_of_next_to_nothing_is_shown(realm: BaseDir) -> None:
    limit = "token_limits: {daily_budget_usd: 0.0000001}\n"
    Path(realm.path("config/local/chamberlain.yaml")).write_text(limit)
    said = kingdom("budget", base=realm)
    assert said.code == 0, said.err
    assert "of $0.00  ████████████████████  100%" in said.lines[0]
