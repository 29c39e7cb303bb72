"""What attempts cost is written down before anything follows from it, and limits are handed on."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kingdom.general.purse import GENERAL, TASK, Purse, price_of
from kingdom.store.formats import write_format
from kingdom.store.spending import Spent, note, price, read_day, spell
from tests.support.barracks import NAME, Barracks
from tests.support.cli import kingdom
from tests.support.soldiers import report


def reporting(cost: float, **said: str) -> str:
    metrics = {"cost_usd": cost, "tokens": {"input": 7, "output": 2}}
    return report({"status": "success", "summary": "done", **said, "metrics": metrics})


def spent(soldier: str, cost: str | None, general: str = NAME, at: str = "") -> Spent:
    amount = None if cost is None else Decimal(cost)
    at = at or "2026-02-07T10:00:00.000Z"
    return Spent(at, "task-1", soldier, general, "acme/web", "claude", (), amount, {})


def lines(barracks: Barracks) -> list[dict[str, Any]]:
    files = sorted(Path(barracks.base.path("state/spending")).glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_each_attempt_has_a_line_with_what_it_cost(barracks: Barracks) -> None:
    barracks.command(reporting(0.1))
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
    found = lines(barracks)
    assert [one["cost_usd"] for one in found] == ["0.10"]
    assert found[0]["task_id"] == id_
    assert found[0]["general"] == NAME
    assert found[0]["tokens"] == {"input": 7, "output": 2}
    assert found[0]["soldier_id"] == barracks.soldier(id_)


def test_one_that_is_tried_again_has_a_line_for_each_attempt(barracks: Barracks) -> None:
    barracks.command(reporting(0.1, status="failed", error="no") + "exit 3")
    barracks.package(retry={"max_attempts": 3, "backoff_seconds": 0.01})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
    found = lines(barracks)
    assert [one["cost_usd"] for one in found] == ["0.10"] * 3
    assert len({one["soldier_id"] for one in found}) == 3


def test_a_line_is_there_before_the_result(barracks: Barracks) -> None:
    """Without room for it, the result waits as well."""
    barracks.command(reporting(0.25))
    barracks.package()
    (id_,) = barracks.publish()
    block = Path(barracks.base.path("state/spending"))
    block.parent.mkdir(parents=True, exist_ok=True)
    block.write_text("in the way")
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(id_), "a soldier")
        with pytest.raises(Exception, match="state/spending cannot be written"):
            life.until(lambda: False, "never")
        assert barracks.result(id_) is None
        block.unlink()
        life.until(lambda: barracks.result(id_), "a result")
    assert [one["cost_usd"] for one in lines(barracks)] == ["0.25"]


def test_a_rehearsal_costs_nothing_and_who_tells_no_price_has_none() -> None:
    assert price_of("rehearsal", {}) == 0
    assert price_of("codex", {"cost_usd": 1.0}) is None  # only the soldier can have said so
    assert price_of("claude", {"cost_usd": 0.0}) == 0
    assert price_of("claude", {"cost_usd": 2.5, "cost_unknown": True}) == Decimal("2.5")
    assert price_of("claude", {"cost_unknown": True}) is None
    assert price_of("claude", {}) is None


@pytest.mark.parametrize("odd", [None, True, "", "x", -1, "nan", "inf", [], {}, 1e12])
def test_what_is_no_price(odd: object) -> None:
    assert price(odd) is None


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "0.00"), ("12.3", "12.30"), ("0.000001", "0.000001"), ("100", "100.00")],
)
def test_how_money_is_written(amount: str, text: str) -> None:
    assert spell(Decimal(amount)) == text


def test_an_attempt_noted_twice_counts_once_and_tenths_add_up(barracks: Barracks) -> None:
    day = barracks.clock.now().date()
    for number in range(10):
        note(barracks.base, day, spent(f"soldier-{number}", "0.1"))
        note(barracks.base, day, spent(f"soldier-{number}", "0.1"))
    note(barracks.base, day, spent("soldier-x", None))
    path = Path(barracks.base.path(f"state/spending/{day}.jsonl"))
    with path.open("ab") as file:
        file.write(b'{"half')
    found = read_day(barracks.base, day)
    assert (found.cost(), len(found), found.unpriced) == (Decimal(1), 11, 1)
    with path.open("ab") as file:
        file.write(b'"\n[]\n')
    note(barracks.base, day, spent("soldier-y", "1"))
    found.refresh()
    assert found.cost() == 2


def test_the_engine_is_given_the_least_of_all_limits(barracks: Barracks) -> None:
    barracks.command(reporting(0.25))
    limits = {"daily_budget_usd": 10.0, "per_general_usd": 4.0, "per_task_usd": 3.0}
    barracks.configure("chamberlain", token_limits=limits)
    barracks.package(limits={"budget_usd": 2.0})
    with barracks.general() as life:
        purse = Purse(life.setting)
        assert purse.allowed(2.0, 0.5) == (1.5, TASK)
        assert purse.allowed(None, 0.5) == (2.5, TASK)
        note(barracks.base, barracks.clock.now().date(), spent("soldier-1", "2.75"))
        assert purse.allowed(2.0, 0.5) == (1.25, GENERAL)
        (id_,) = barracks.publish()
        life.until(lambda: barracks.soldier(id_), "a soldier")
        spec = barracks.spec(id_)
        assert (spec["budget_usd"], spec["budget_of"]) == (1.25, GENERAL)
        life.until(lambda: barracks.result(id_), "a result")


def test_nothing_is_begun_on_a_day_whose_budget_is_spent(barracks: Barracks) -> None:
    barracks.package()
    barracks.configure("chamberlain", token_limits={"daily_budget_usd": 1.0})
    note(barracks.base, barracks.clock.now().date(), spent("soldier-1", "0.99", "gen-other"))
    (id_,) = barracks.publish()
    with barracks.general() as life:
        for _ in range(5):
            life.turn()
        assert barracks.task(id_)[0] == "pending"
        write_format(barracks.base)
        said = kingdom("why", id_, base=barracks.base)
        assert "The budget of everyone for today is spent ($1.00)." in said.out, said.err
        barracks.clock.shift(timedelta(days=1).total_seconds())
        life.until(lambda: barracks.result(id_), "a result, the day after")
