"""Health follows what was measured: worse at once, better only when it is clearly over."""

from __future__ import annotations

import pytest

from kingdom.chamberlain.health import (
    Burdens,
    Standing,
    Verdict,
    after,
    level_of,
    limits_of,
    verdict,
)
from kingdom.models.resources import Health
from kingdom.settings.chamberlain import Thresholds

LIMITS = limits_of(Thresholds())
BUSY = LIMITS["cpu_percent"]
NEVER = limits_of(Thresholds(yellow=100.0, orange=100.0, red=100.0, disk=100.0))


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (0, "green"),
        (60, "green"),
        (60.1, "yellow"),
        (80, "yellow"),
        (80.1, "orange"),
        (90.1, "red"),
        (100, "red"),
    ],
)
def test_a_level_begins_above_its_threshold(value: float, level: Health) -> None:
    assert level_of(value, BUSY) == level
    assert level_of(value, NEVER["memory_percent"]) == "green"


def test_a_disk_nearly_full_is_orange_and_one_threshold_may_be_another() -> None:
    assert level_of(95, LIMITS["disk_percent"]) == "green"
    assert level_of(95.1, LIMITS["disk_percent"]) == "orange"
    assert level_of(100, NEVER["disk_percent"]) == "green"
    both = limits_of(Thresholds(yellow=50.0, orange=50.0, red=90.0))["cpu_percent"]
    assert level_of(51, both) == "orange"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([70, 85, 95], "yellow orange red"),
        ([95, 10, 10], "red red green"),
        ([95, 10, 95, 10, 10], "red red red red green"),
        ([61, 59, 61, 59, 59, 59], "yellow yellow yellow yellow yellow yellow"),
        ([61, 54, 54], "yellow yellow green"),
        ([61, 54, 57, 54, 54], "yellow yellow yellow yellow green"),
        ([95, 78, 78, 74, 74], "red red orange orange yellow"),
        ([95, None, None, 10, 10], "red red red red green"),
        ([None, 95], "green red"),
    ],
)
def test_it_becomes_worse_at_once_and_better_when_it_is_clearly_over(
    values: list[float | None], levels: str
) -> None:
    seen, standing = [], Standing()
    for value in values:
        standing = after(standing, value, BUSY)
        seen.append(standing.level)
    assert " ".join(seen) == levels


def test_thresholds_of_100_set_free_what_was_red_before() -> None:
    standing = Standing("red")
    for _ in range(2):
        standing = after(standing, 99.9, NEVER["cpu_percent"])
    assert standing.level == "green"


@pytest.mark.parametrize(
    ("levels", "burdens", "expected"),
    [
        ({}, {}, Verdict("green", "")),
        ({"cpu_percent": "yellow"}, {}, Verdict("yellow", "cpu_percent: 72")),
        (
            {"cpu_percent": "red", "memory_percent": "red", "disk_percent": "orange"},
            {},
            Verdict("red", "cpu_percent: was over 90, now 72, memory_percent: unknown"),
        ),
        (
            {"cpu_percent": "green"},
            {"timeouts": ("orange", "5 timeouts in an hour")},
            Verdict("orange", "5 timeouts in an hour"),
        ),
        (
            {"cpu_percent": "orange"},
            {"timeouts": ("yellow", "5 timeouts in an hour")},
            Verdict("orange", "cpu_percent: was over 80, now 72"),
        ),
    ],
)
def test_the_worst_counts_and_says_why(
    levels: dict[str, Health], burdens: Burdens, expected: Verdict
) -> None:
    standings = {name: Standing(level) for name, level in levels.items()}
    values = {"cpu_percent": 71.6, "memory_percent": None, "disk_percent": 96.0}
    assert verdict(standings, values, burdens, LIMITS) == expected
