"""What is held against an engine, for how long, and what ends it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE, PAUSES, Standings, fell
from kingdom.store.paths import BaseDir

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def standings(base: BaseDir) -> Standings:
    return Standings(base)


def test_nothing_is_held_against_an_engine_that_never_failed(standings: Standings) -> None:
    assert standings.of("claude") is None
    assert not standings.note_success("claude", NOW, NOW)


def test_a_limit_lasts_until_the_moment_the_engine_named(standings: Standings) -> None:
    until = NOW + 90 * MINUTE
    standings.note_fault("claude", LIMIT, "resets at 13:30", until, NOW)
    found = standings.of("claude")
    assert found is not None
    assert (found.until, found.reason) == (until, "resets at 13:30")
    assert found.is_closed(until - MINUTE)
    assert not found.is_closed(until)
    assert standings.of("codex") is None


@pytest.mark.parametrize("named", [NOW - MINUTE, NOW])
def test_a_moment_that_has_just_passed_is_soon(standings: Standings, named: datetime) -> None:
    standings.note_fault("claude", LIMIT, "", named, NOW)
    found = standings.of("claude")
    assert found is not None
    assert found.until == NOW + PAUSES[OUTAGE].first


@pytest.mark.parametrize("named", [NOW - timedelta(hours=1), NOW + timedelta(days=400)])
def test_a_moment_that_makes_no_sense_is_not_believed(
    standings: Standings, named: datetime
) -> None:
    standings.note_fault("claude", LIMIT, "", named, NOW)
    found = standings.of("claude")
    assert found is not None
    assert found.until == NOW + PAUSES[LIMIT].first


@pytest.mark.parametrize("code", [LIMIT, OUTAGE, LOGIN])
def test_pauses_grow_with_each_trial_that_fails_up_to_the_longest(code: str) -> None:
    standing, moment, pauses = None, NOW, []
    for _ in range(40):
        standing = fell(standing, code, "", None, moment)
        pauses.append(standing.until - moment)
        moment = standing.until
    assert pauses[0] == PAUSES[code].first
    assert pauses[1] == 2 * pauses[0]
    assert pauses[-1] == PAUSES[code].longest
    assert pauses == sorted(pauses)
    assert standing is not None
    assert (standing.since, standing.failures) == (NOW, 40)


def test_those_that_were_under_way_when_it_closed_make_nothing_longer(standings: Standings) -> None:
    assert standings.note_fault("claude", OUTAGE, "529", None, NOW) is not None
    first = standings.of("claude")
    for seconds in range(10):
        moment = NOW + timedelta(seconds=seconds)
        assert standings.note_fault("claude", OUTAGE, "529", None, moment) is None
    assert standings.of("claude") == first


def test_a_later_moment_named_meanwhile_counts_and_is_not_news(standings: Standings) -> None:
    standings.note_fault("claude", OUTAGE, "529", None, NOW)
    later = NOW + 60 * MINUTE
    assert standings.note_fault("claude", LIMIT, "limit", later, NOW) is None
    found = standings.of("claude")
    assert found is not None
    assert (found.until, found.code, found.failures) == (later, LIMIT, 1)


def test_only_a_run_that_began_after_the_pause_clears_it(standings: Standings) -> None:
    until = NOW + 10 * MINUTE
    standings.note_fault("claude", LIMIT, "", until, NOW)
    assert not standings.note_success("claude", NOW - MINUTE, NOW)
    assert not standings.note_success("claude", until - MINUTE, until)
    assert standings.of("claude") is not None
    assert standings.note_success("claude", until, until)
    assert standings.of("claude") is None
    assert not standings.note_success("claude", until, until)


def test_of_many_who_report_at_once_one_brings_the_news(base: BaseDir) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(
            lambda _: Standings(base).note_fault("claude", OUTAGE, "529", None, NOW), range(64)
        )
        assert len([one for one in told if one is not None]) == 1
    found = Standings(base).of("claude")
    assert found is not None
    assert found.failures == 1


@pytest.mark.parametrize("text", ["", "[]", "null", '{"code": 1}', '{"until": "yesterday"}'])
def test_a_damaged_file_holds_nothing_against_anybody(base: BaseDir, text: str) -> None:
    path = Path(base.path("state", "engines", "claude.json"))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert Standings(base).of("claude") is None
    assert Standings(base).note_fault("claude", LIMIT, "full", None, NOW) is not None
    assert json.loads(path.read_text())["reason"] == "full"


@pytest.mark.parametrize("ahead", [timedelta(minutes=30), timedelta(days=3), timedelta(days=400)])
@pytest.mark.parametrize("of_before", [False, True])
def test_an_engine_closed_by_a_clock_that_was_ahead_is_on_trial(
    base: BaseDir, standings: Standings, ahead: timedelta, of_before: bool
) -> None:
    """One run that ends well, whenever it began, clears it. `of_before`: as an earlier version
    wrote it, which says since when only."""
    standings.note_fault("claude", LIMIT, "", None, NOW + ahead)
    if of_before:
        path = Path(base.path("state", "engines", "claude.json"))
        kept = json.loads(path.read_text())
        del kept["noted_at"]
        path.write_text(json.dumps(kept))
    found = standings.of("claude")
    assert found is not None
    assert found.is_closed(NOW + ahead)
    assert not found.is_closed(NOW)
    again = fell(found, LIMIT, "", None, NOW)
    assert (again.since, again.until) == (NOW, NOW + PAUSES[LIMIT].after(2))
    assert standings.note_success("claude", NOW, NOW)
    assert standings.of("claude") is None


def test_a_limit_of_a_week_is_believed(standings: Standings) -> None:
    standings.note_fault("claude", LIMIT, "", NOW + timedelta(days=7), NOW)
    found = standings.of("claude")
    assert found is not None
    assert found.is_closed(NOW)
    assert not standings.note_success("claude", NOW, NOW)
