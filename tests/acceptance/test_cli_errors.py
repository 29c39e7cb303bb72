"""`kingdom errors` as a person types it."""

from __future__ import annotations

import json

from kingdom.failures import FAILURES
from tests.support.cli import kingdom, one_sentence


def test_a_code_is_explained() -> None:
    said = kingdom("errors", "timed_out")
    assert said.code == 0
    assert said.lines[0] == "timed_out: The soldier ran longer than its general allows."
    assert "timeout_seconds" in said.lines[1]
    assert "tried again" in said.lines[2]


def test_without_a_code_all_are_listed() -> None:
    listed = [line.split()[0] for line in kingdom("errors").lines[1:]]
    assert listed == list(FAILURES)
    assert [one["code"] for one in json.loads(kingdom("errors", "--json").out)] == listed


def test_an_unknown_code_suggests_the_nearest() -> None:
    assert "kingdom errors timed_out" in one_sentence(kingdom("errors", "timedout"), 2)
    assert "All codes: kingdom errors" in one_sentence(kingdom("errors", "xyz"), 2)
