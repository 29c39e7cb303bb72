"""What attempts count for against the budget of their task, and what soldiers cannot say of it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines.standing import Standings
from kingdom.general import budget
from kingdom.ops.stopping import end_soldiers
from tests.support.barracks import Barracks, environment
from tests.support.soldiers import STAY, is_up, report

UNKNOWN = {"cost_unknown": True}
# Notes what it was given for this attempt.
NOTE = 'while [ $# -gt 0 ]; do [ "$1" = --max-budget-usd ] && echo $2 >> given; shift; done\n'
INIT = {"type": "system", "subtype": "init", "claude_code_version": "2.1.200"}
USAGE = {"input_tokens": 100, "output_tokens": 5}
ANSWER = {"type": "assistant", "message": {"id": "m", "model": "x", "usage": USAGE, "content": []}}
FORGED = {
    "cost_usd": -100,
    "cost_unknown": False,
    "engine_fault": "engine_login",
    "session_cost_usd": 1e6,
    "tokens": {"input": 10**12},
    "models": ["forged"],
    "soldier_id": "soldier-1-1",
}


def prints(*entries: dict[str, Any]) -> str:
    told = "\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    return f"cat <<'END'\n{told}\nEND\n"


def given(barracks: Barracks, id_: str) -> list[str]:
    path = barracks.workspace(id_).joinpath("given")
    return path.read_text("ascii").split() if path.exists() else []


def checkpoint(barracks: Barracks, id_: str) -> dict[str, Any]:
    path = Path(barracks.base.results, f"{id_}-checkpoint.json")
    return dict(json.loads(path.read_text("utf-8")))


def is_at_work(barracks: Barracks, id_: str, times: int) -> bool:
    return len(given(barracks, id_)) == times and is_up(barracks, id_)


# What is counted


@pytest.mark.parametrize(
    ("metrics", "counts"),
    [
        ({"cost_usd": 0.25}, 0.25),
        ({"cost_usd": 0.0}, 0.0),
        ({}, 0.0),
        (UNKNOWN, 1.0),
        (UNKNOWN | {"cost_usd": 0.5}, 1.25),
        (UNKNOWN | {"cost_usd": 3.0}, 3.0),
        ({"cost_usd": -100}, 0.0),
    ],
)
def test_what_is_known_counts_as_it_is_and_the_rest_as_half_of_what_was_left(
    metrics: dict[str, Any], counts: float
) -> None:
    assert budget.counted(metrics, 2.0) == pytest.approx(counts)


@pytest.mark.parametrize("reason", ["stopped", "asked", "hangup"])
def test_one_that_was_asked_to_end_counts_by_its_time(reason: str) -> None:
    assert budget.share(reason, 60.0, 600.0) == pytest.approx(0.1)
    assert budget.share(reason, 590.0, 600.0) == budget.SHARE
    assert budget.share(reason, -5.0, 600.0) == 0.0


@pytest.mark.parametrize("reason", ["ended", "lost", "flooded", "deadline"])
def test_any_other_counts_half(reason: str) -> None:
    assert budget.share(reason, 1.0, 600.0) == budget.SHARE


def test_the_last_crumbs_of_a_budget_are_none() -> None:
    assert budget.is_spent(0.0, 1.0)
    assert budget.is_spent(0.02, 0.98)
    assert not budget.is_spent(0.03, 0.97)
    assert not budget.is_spent(0.000001, 0.0)


# Real soldiers


def test_a_program_that_cannot_start_costs_nothing(barracks: Barracks) -> None:
    barracks.claude(f'echo "$@" > words\n{NOTE}echo It is broken. >&2; exit 3')
    retry = {"max_attempts": 3, "backoff_seconds": 0.01}
    by_trust = {"member": {"budget_usd": 1.0, "model": {"claude": "tiny"}}}  # the stricter counts
    permissions = {"by_trust": by_trust}
    barracks.package(limits={"budget_usd": 4.0}, permissions=permissions, retry=retry)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["error_code"], result["metrics"]["cost_usd"]) == ("soldier_crashed", 0.0)
    assert given(barracks, id_) == ["1.000000"] * 3
    assert "--model tiny " in barracks.workspace(id_).joinpath("words").read_text("utf-8")


def test_a_budget_outlasts_many_stops(barracks: Barracks) -> None:
    barracks.claude(f"{NOTE}{prints(INIT, ANSWER)}{STAY}")
    barracks.package(limits={"budget_usd": 1.0}, timeout_seconds=36000.0)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        for times in range(1, 6):
            life.until(partial(is_at_work, barracks, id_, times), f"attempt {times}")
            barracks.workspace(id_).joinpath("up").unlink()
            end_soldiers(barracks.base, environment())
        life.until(partial(is_at_work, barracks, id_, 6), "the last")
        kept = checkpoint(barracks, id_)
        (entry,) = barracks.sessions()
    assert entry["spent_is_guess"]
    assert float(given(barracks, id_)[-1]) == pytest.approx(1 - kept["spent_usd"], abs=1e-5)
    assert 0 < kept["spent_usd"] < 0.5
    assert kept["spent_is_guess"]


def test_who_has_only_crumbs_left_is_not_begun_and_hears_what_is_a_guess(
    barracks: Barracks,
) -> None:
    killed = f"{NOTE}{prints(INIT, ANSWER)}kill -9 $$"
    barracks.claude(killed)
    retry = {"max_attempts": 9, "backoff_seconds": 0.01}
    barracks.package(limits={"budget_usd": 1.0}, retry=retry)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert given(barracks, id_) == [f"{0.5**times:.6f}" for times in range(6)]
    assert result["error_code"] == "budget_exceeded"
    assert "$0.98 of $1.00 are counted as spent, in part by a guess." in result["error"]


@pytest.mark.parametrize("engine", ["claude", "command"])
def test_what_a_soldier_says_of_itself_is_believed_nowhere(barracks: Barracks, engine: str) -> None:
    said = report({"status": "failed", "summary": "no", "error": "no", "metrics": FORGED})
    ended = {"type": "result", "is_error": False, "result": "Bye.", "total_cost_usd": 0.25}
    if engine == "claude":
        barracks.claude(f"{NOTE}{said}{prints(INIT, ANSWER, ended | {'usage': USAGE})}")
    else:
        barracks.command(said)
    retry = {"max_attempts": 2, "backoff_seconds": 0.01}
    barracks.package(limits={"budget_usd": 1.0}, retry=retry)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    metrics, kept = result["metrics"], checkpoint(barracks, id_)
    assert metrics["soldier"] == FORGED
    assert (metrics["soldier_id"], metrics["attempts"]) == (barracks.soldier(id_), 2)
    assert "engine_fault" not in metrics
    assert "soldier" not in kept["metrics"]
    assert Standings(barracks.base).of(engine) is None
    if engine == "claude":
        assert given(barracks, id_) == ["1.000000", "0.750000"]
        assert (metrics["tokens"]["input"], metrics["models"]) == (100, ["x"])
        assert kept["spent_usd"] == pytest.approx(0.5)
    else:
        assert kept["spent_usd"] == 0.0
        assert "cost_usd" not in metrics
