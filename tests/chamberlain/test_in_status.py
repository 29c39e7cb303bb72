"""What `kingdom status` says of what the chamberlain found: the budget, and duties that broke."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from kingdom.chamberlain.budget import Budget
from kingdom.chamberlain.daemon import Chamberlain
from kingdom.chamberlain.duty import Duty, MakeDuty, Office
from kingdom.chamberlain.measuring import Measuring
from kingdom.chamberlain.troubles import TellTroubles
from kingdom.cli.status import facts
from kingdom.ops.status import status
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.chamberlain.test_budget import configure, spend
from tests.support.household import office_in
from tests.support.kingdom import MovableClock

__all__ = ["spend"]


def seen(base: BaseDir, clock: MovableClock, *duties: MakeDuty) -> dict[str, Any]:
    """After one round of a chamberlain that runs."""
    with closing(Seat(base, "chamberlain").take()), office_in(base, clock) as office:
        Chamberlain(office.setting, duties).step()
        return status(base, {}, clock)


def line(found: dict[str, Any], title: str) -> list[str]:
    return [one for one in facts(found) if one.startswith(title)]


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ("6.99", None),
        ("7.5", "warning, $7.50 of $10.00 spent: only urgent work is let in"),
        ("9.25", "critical, $9.25 of $10.00 spent: no work is let in"),
    ],
)
def test_the_budget_is_told_while_it_holds_work_back(
    base: BaseDir, clock: MovableClock, spend: Callable[..., None], cost: str, said: str | None
) -> None:
    configure(base, "chamberlain", token_limits={"daily_budget_usd": 10.0})
    configure(base, "system", timezone="Asia/Seoul")
    spend(cost)
    found = seen(base, clock, Budget, Measuring)
    until = "2026-02-08T00:00+09:00"
    assert found["budget"]["daily_budget_usd"] == "10.00"
    assert found["budget"]["until"] == until
    told = [f"budget     {said} until {until}; see: kingdom budget"] if said else []
    assert line(found, "budget") == told


def test_without_a_budget_there_is_nothing_to_tell(base: BaseDir, clock: MovableClock) -> None:
    configure(base, "chamberlain", token_limits={"daily_budget_usd": None})
    found = seen(base, clock, Budget, Measuring)
    assert found["budget"] == {
        "status": "ok", "daily_cost_usd": "0.00", "daily_budget_usd": None, "until": None,
    }  # fmt: skip
    assert line(found, "budget") == []


class Broken:
    name = "dusting"

    def start(self) -> None: ...

    def step(self) -> float:
        raise ZeroDivisionError

    def stop(self) -> None: ...


@pytest.mark.breaks
def test_a_duty_that_broke_is_told(base: BaseDir, clock: MovableClock) -> None:
    def broken(_: Office) -> Duty:
        return Broken()

    found = seen(base, clock, broken, TellTroubles)
    assert found["broken_duties"] == {"dusting": "ZeroDivisionError"}
    told = "broken     the chamberlain cannot see to dusting (ZeroDivisionError): "
    assert line(found, "broken") == [f"{told}kingdom logs chamberlain"]
    assert status(base, {}, clock)["broken_duties"] == {}, "nobody is there to see to anything"
