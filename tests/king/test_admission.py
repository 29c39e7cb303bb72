"""Who is let in, by engine, health, budget and free soldiers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kingdom.engines.port import Availability
from kingdom.king.admission import UNMEASURED, Gates, Measured, deferral, measured, room
from kingdom.models.manifest import Manifest
from tests.support.kingdom import START

READY = Availability(True)
GENERAL = Manifest(name="gen-pr", description="x")


def manifest(**fields: Any) -> Manifest:
    return Manifest(**({"name": "gen-pr", "description": "x"} | fields))


def admitted(health: Any, tokens: Any) -> str:
    """Which priorities come through: all, high, or none."""
    gates = Gates(READY, Measured(health, tokens), max_soldiers=9)
    through = [
        priority
        for priority in ("high", "normal", "low")
        if deferral(gates, GENERAL, priority) is None
    ]
    return {3: "all", 1: "".join(through), 0: "none"}[len(through)]


TABLE = [
    ("green", "ok", "all"),
    ("green", "warning", "high"),
    ("green", "critical", "none"),
    ("green", "unknown", "all"),
    ("yellow", "ok", "high"),
    ("yellow", "warning", "high"),
    ("yellow", "critical", "none"),
    ("yellow", "unknown", "high"),
    ("orange", "ok", "none"),
    ("orange", "unknown", "none"),
    ("red", "ok", "none"),
    ("red", "warning", "none"),
    ("unmeasured", "unknown", "all"),
]


@pytest.mark.parametrize(("health", "tokens", "expected"), TABLE)
def test_the_table_of_health_and_tokens(health: str, tokens: str, expected: str) -> None:
    assert admitted(health, tokens) == expected


def read(**fields: Any) -> Measured:
    raw = {"health": "green", "updated_at": START.isoformat(), "tokens": {"status": "ok"}} | fields
    return measured(raw, START, 120)


def test_what_was_measured_counts() -> None:
    assert read(health="yellow", cpu_percent=61.5) == Measured("yellow", "ok")
    assert read(tokens={"status": "warning", "daily_cost_usd": "35.10"}).tokens == "warning"
    assert read(tokens={}).tokens == "unknown"
    assert read(something_new=1) == Measured("green", "ok")


def test_no_measurements_yet_let_all_in() -> None:
    assert measured(None, START, 120) == Measured("unmeasured", "unknown")


@pytest.mark.parametrize(
    ("seconds", "health"),
    [(0, "green"), (120, "green"), (120.001, "orange"), (86_400, "orange"), (-86_400, "orange")],
)
def test_old_measurements_count_as_orange(seconds: float, health: str) -> None:
    made = (START - timedelta(seconds=seconds)).isoformat()
    assert read(updated_at=made).health == health


def test_measurements_from_the_future_count_as_old_once_no_two_clocks_are_so_far_apart() -> None:
    assert read(updated_at=(START + timedelta(seconds=2)).isoformat()).health == "green"
    found = read(updated_at=(START + timedelta(hours=1)).isoformat())
    assert found.health == "orange"
    assert found.note == "state/resources.json is from 3600 seconds ahead"


@pytest.mark.parametrize(
    "raw", ["damaged", [], {}, {"health": "pink", "updated_at": "2026-02-07T10:00:00Z"}, 7]
)
def test_measurements_that_cannot_be_read_count_as_orange_and_say_so(raw: Any) -> None:
    found = measured(raw, START, 120)
    assert found.health == "orange"
    refused = deferral(Gates(READY, found, max_soldiers=9), GENERAL, "high")
    assert refused is not None
    assert "state/resources.json cannot be read" in refused.reason


def test_while_nobody_measures_no_recovery_is_promised() -> None:
    old = read(updated_at=(START - timedelta(seconds=121)).isoformat())
    for found in (old, measured({}, START, 120)):
        refused = deferral(Gates(READY, found, max_soldiers=9), GENERAL, "high")
        assert refused is not None
        assert refused.remedy == UNMEASURED
        assert "by itself" not in refused.remedy
    busy = deferral(Gates(READY, Measured("red", "ok"), max_soldiers=9), GENERAL, "high")
    assert busy is not None
    assert "by itself" in busy.remedy


def test_an_engine_that_is_missing_holds_everything_back_with_its_own_words() -> None:
    gates = Gates(Availability(False, "No agent.", "Install one."), max_soldiers=9)
    refused = deferral(gates, GENERAL, "high")
    assert refused is not None
    assert (refused.code, refused.reason, refused.remedy) == (
        "engine_unavailable",
        "No agent.",
        "Install one.",
    )


def test_a_frozen_kingdom_lets_nothing_in_and_says_so_first() -> None:
    gates = Gates(Availability(False, "No agent."), frozen=True, max_soldiers=9)
    refused = deferral(gates, GENERAL, "high")
    assert refused is not None
    assert refused.code == "frozen"


@pytest.mark.parametrize(
    ("outstanding", "own", "code"),
    [
        ({}, None, None),
        ({"gen-jira": 2}, None, None),
        ({"gen-jira": 3}, None, "soldiers_busy"),
        ({"gen-jira": 2, "gen-pr": 1}, None, "soldiers_busy"),
        ({"gen-pr": 1}, 1, "general_busy"),
        ({"gen-jira": 1}, 1, None),
        ({"gen-pr": 9}, 1, "general_busy"),
    ],
)
def test_soldiers_are_limited_over_all_and_for_each_general(
    outstanding: dict[str, int], own: int | None, code: str | None
) -> None:
    gates = Gates(READY, max_soldiers=3, outstanding=outstanding)
    refused = deferral(gates, manifest(max_soldiers=own), "high")
    assert (refused.code if refused else None) == code


def test_a_general_s_own_priority_is_the_one_that_counts() -> None:
    gates = Gates(READY, Measured("yellow", "ok"), max_soldiers=9)
    assert deferral(gates, manifest(priority="high"), "low") is None
    assert deferral(gates, manifest(priority="low"), "high") is not None


@pytest.mark.parametrize(
    ("outstanding", "limits", "expected"),
    [
        ({}, {"gen-pr": None}, 5),
        ({"gen-pr": 3}, {"gen-pr": None}, 2),
        ({"gen-pr": 5}, {"gen-pr": None}, 0),
        ({"gen-pr": 7}, {"gen-pr": None}, 0),
        ({}, {"gen-pr": 2, "gen-jira": 3}, 2),
        ({"gen-pr": 2}, {"gen-pr": 2, "gen-jira": 3}, 3),
        ({"gen-pr": 2, "gen-jira": 2}, {"gen-pr": 2, "gen-jira": 3}, 1),
    ],
)
def test_so_many_are_taken_at_once_that_no_limit_can_be_passed(
    outstanding: dict[str, int], limits: dict[str, int | None], expected: int
) -> None:
    gates = Gates(READY, max_soldiers=5, outstanding=outstanding)
    generals = {name: manifest(name=name, max_soldiers=most) for name, most in limits.items()}
    assert room(gates, generals) == expected
