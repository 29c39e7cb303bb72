"""Long listings, read while tickets move about, and dates as the account's clock shows them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingdom.errors import TryLater
from kingdom.sentinel.watchers import jira_state
from kingdom.sentinel.watchers.jira_query import (
    WESTERNMOST,
    asked_from,
    composed,
    without_order,
    zone_of,
)
from kingdom.sentinel.watchers.jira_state import Known, Ticket
from kingdom.store.paths import BaseDir
from tests.support.jira_server import FakeJira
from tests.support.jira_watch import KEEP_ALL, JiraLookout, lookout_on
from tests.support.kingdom import START
from tests.support.loopback import Fault

MINUTE = timedelta(minutes=1)
ZONES = ["UTC", "Asia/Seoul", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]
ZONES += ["Asia/Kathmandu", "Pacific/Apia", "America/St_Johns", "Africa/Casablanca"]


@pytest.fixture(params=[True, False], ids=["cloud", "server"])
def jira(request: pytest.FixtureRequest) -> Iterator[FakeJira]:
    with FakeJira(cloud=request.param) as made:
        yield made


@pytest.fixture
def lookout(base: BaseDir, jira: FakeJira) -> Iterator[JiraLookout]:
    with lookout_on(base, jira, jql_base=KEEP_ALL) as made:
        yield made


def keys(lookout: JiraLookout) -> list[str]:
    return sorted(one["payload"]["key"] for one in lookout.events())


# Pages


def test_every_page_is_read(lookout: JiraLookout) -> None:
    lookout.jira.per_page = 7
    for number in range(40):
        lookout.jira.create(f"SHOP-{number}", START - timedelta(minutes=200 - number))
    assert lookout.look().emitted == 40
    lookout.jira.asked.clear()
    assert lookout.look().emitted == 0
    assert len([one for one in lookout.jira.asked if "search" in one]) <= 3


def test_more_than_a_page_of_one_minute(lookout: JiraLookout) -> None:
    """As a bulk change leaves it; JQL cannot tell seconds."""
    lookout.jira.per_page = 7
    moment = START - timedelta(hours=2)
    for number in range(40):
        lookout.jira.create(f"SHOP-{number}", moment + timedelta(milliseconds=900 * number))
    lookout.jira.create("SHOP-99", START - MINUTE)
    assert lookout.look().emitted == 41


@pytest.mark.parametrize("apart", [60_000, 900], ids=["minutes", "one minute"])
def test_nothing_slips_away_while_tickets_move_to_the_end(lookout: JiraLookout, apart: int) -> None:
    """Each page that was read loses a ticket before the next is asked for, so by position the next
    would begin one too late."""
    jira = lookout.jira
    jira.per_page = 5
    first = START - timedelta(hours=2)
    made = [
        jira.create(f"SHOP-{number}", first + timedelta(milliseconds=apart * number))
        for number in range(30)
    ]
    moved = iter([made[1], made[7], made[12], made[13]])

    def moves(stage: str, verb: str, path: str) -> None:
        if stage == "answered" and "search" in path and (one := next(moved, None)):
            jira.change(one, START - timedelta(seconds=30))

    jira.hook = moves
    lookout.look()
    lookout.passes(300)
    lookout.look()
    told = keys(lookout)
    assert sorted(set(told)) == sorted(one["key"] for one in made)


def test_the_cursor_moves_on_with_each_page(lookout: JiraLookout) -> None:
    jira = lookout.jira
    jira.per_page = 10
    for number in range(50):
        jira.create(f"SHOP-{number:02}", START - timedelta(minutes=100 - number))
    cursors = []

    def notes(stage: str, verb: str, path: str) -> None:
        state = Path(lookout.base.path("state", "sentinel", "jira-state.json"))
        if stage == "received" and "search" in path and state.exists():
            cursors.append(lookout.state()["cursor"])

    jira.hook = notes
    lookout.look()
    assert len(set(cursors)) >= 4
    assert cursors == sorted(cursors)


def test_a_page_that_fails_loses_nothing_and_does_not_begin_over(lookout: JiraLookout) -> None:
    """Every third search breaks off in the middle of its answer."""
    jira = lookout.jira
    jira.per_page = 5
    for number in range(30):
        jira.create(f"SHOP-{number:02}", START - timedelta(minutes=600 - 12 * number))
    answered = itertools.count(1)

    def breaks(stage: str, verb: str, path: str) -> None:
        if stage == "answered" and "search" in path and next(answered) % 3 == 2:
            jira.faults = [Fault("POST", "search", lost="inside")]

    jira.hook = breaks
    failed = 0
    while failed < 9:
        try:
            lookout.look()
            break
        except TryLater:
            failed += 1
            lookout.restart()
    assert 2 <= failed < 9
    assert keys(lookout) == sorted(f"SHOP-{number:02}" for number in range(30))


# Dates


@given(moment=st.datetimes(datetime(2015, 1, 1), datetime(2035, 1, 1)), zone=st.sampled_from(ZONES))
def test_what_is_asked_is_never_read_as_later_nor_much_earlier(moment: datetime, zone: str) -> None:
    moment = moment.replace(tzinfo=UTC)
    local = asked_from(moment, zone_of(zone))
    readings = [local.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]
    assert max(readings) <= moment
    assert moment - min(readings) < timedelta(hours=2, minutes=1)


@pytest.mark.parametrize("fold", [0, 1], ids=["the first hour", "the second hour"])
@pytest.mark.parametrize(
    "zone",
    ["America/New_York", *(pytest.param(z, marks=pytest.mark.long) for z in ZONES[3:5])],
)
def test_when_the_clock_is_changed_no_update_is_lost(base: BaseDir, zone: str, fold: int) -> None:
    """Both nights of a year: looked at every quarter of an hour, a ticket between any two looks,
    whichever of two hours of the same name Jira takes."""
    with FakeJira() as jira, lookout_on(base, jira, first_days=0) as lookout:
        jira.zone, jira.fold = zone, fold
        count = 0
        for night in _nights(zone):
            move = night - timedelta(hours=3) - jira.now
            lookout.passes(move.total_seconds())
            lookout.look()
            for _ in range(20):
                lookout.passes(15 * 60)
                jira.create(f"SHOP-{count}", jira.now - timedelta(seconds=5))
                count += 1
                lookout.look()
        assert len(keys(lookout)) == count == 40


def _nights(zone: str) -> list[datetime]:
    """When the clocks are changed in 2026, after the tests' beginning."""
    found, moment = [], START
    while len(found) < 2:
        after = moment + timedelta(hours=1)
        offsets = [one.astimezone(zone_of(zone)).utcoffset() for one in (moment, after)]
        if offsets[0] != offsets[1]:
            found.append(after)
        moment = after
    return found


def test_dates_are_those_of_the_accounts_zone(lookout: JiraLookout) -> None:
    lookout.jira.zone = "Asia/Seoul"
    lookout.look()
    assert 'updated >= "2026/02/06 19:00"' in lookout.jira.queries[0]


def test_a_zone_that_nobody_knows_is_asked_from_early_enough(base: BaseDir) -> None:
    assert zone_of("Mars/Olympus_Mons") is WESTERNMOST
    assert zone_of("") is WESTERNMOST
    jql = composed("", START, WESTERNMOST)
    assert jql == 'updated >= "2026/02/06 22:00" ORDER BY updated ASC, key ASC'


def test_what_was_misunderstood_since_the_account_moved_is_looked_at_again(
    lookout: JiraLookout,
) -> None:
    """In Kolkata, what is meant in Kathmandu is a quarter of an hour later."""
    jira = lookout.jira
    jira.zone = "Asia/Kathmandu"
    jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    jira.zone = "Asia/Kolkata"
    jira.create("SHOP-2", START + MINUTE)
    jira.create("SHOP-3", START + 20 * MINUTE)
    lookout.passes(30 * 60)
    lookout.look()
    assert keys(lookout) == ["SHOP-1", "SHOP-3"]  # nobody knows yet
    lookout.passes(31 * 60)
    lookout.look()
    assert keys(lookout) == ["SHOP-1", "SHOP-2", "SHOP-3"]


# The query


def test_an_order_is_ours_to_give() -> None:
    base = "project = \"order by\" AND text ~ 'a \\' order by b' Order  BY created DESC"
    assert without_order(base) == "project = \"order by\" AND text ~ 'a \\' order by b'"
    assert without_order("ORDER BY rank") == ""
    assert without_order("border = bygone") == "border = bygone"


def test_either_of_two_conditions_is_bounded_by_the_date() -> None:
    jql = composed("a = 1 OR b = 2\nORDER BY c", START, UTC)
    assert jql.startswith('(a = 1 OR b = 2) AND updated >= "2026/02/07 10:00" ORDER BY updated')


# What is remembered


def test_what_is_known_is_bounded_by_age_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known("")
    for number in range(10):
        known.note(Ticket(str(number), f"A-{number}", START - 100 * number * MINUTE, "", False))
    known.note(Ticket("old", "A-0", START - timedelta(days=401), "", False))
    known.forget_old(START)
    assert len(known.issues) == 10
    monkeypatch.setattr(jira_state, "MOST", 4)
    known.forget_old(START)
    assert sorted(known.issues) == ["0", "1", "2", "3"]


def test_an_older_state_of_a_ticket_does_not_replace_a_newer(base: BaseDir) -> None:
    known = Known("")
    newer = Ticket("1", "A-1", START, "", False)
    known.note(newer)
    known.note(Ticket("1", "A-1", START - MINUTE, "someone", False))
    assert known.issues["1"] is newer
