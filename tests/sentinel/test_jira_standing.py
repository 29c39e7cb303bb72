"""How the sentinel's process tells of a Jira that is not set up, refuses, or is well again."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.sentinel.daemon import make
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom
from tests.support.jira_server import ANN, EMAIL, ME, TOKEN, FakeJira
from tests.support.kingdom import START
from tests.support.lookout import events
from tests.support.loopback import Fault
from tests.support.processes import forked_role
from tests.support.waiting import eventually

BOTH = {"JIRA_USER_EMAIL": EMAIL, "JIRA_API_TOKEN": TOKEN}


@pytest.fixture
def jira() -> Iterator[FakeJira]:
    with FakeJira() as made:
        yield made


def configure(base: BaseDir, jira: FakeJira, jql: str = "assignee = currentUser()") -> None:
    for place in ("config", "logs", "queue/inbox"):
        os.makedirs(base.path(place), exist_ok=True)
    watchers = {
        "jira": {"interval_seconds": 0.05, "url": jira.url, "scope": {"jql_base": jql}},
        "inbox": {"interval_seconds": 0.05},
    }
    path = Path(base.path("config", "sentinel.yaml"))
    path.with_suffix(".part").write_text(json.dumps({"polling": watchers}))
    path.with_suffix(".part").replace(path)


@contextmanager
def sentinel(base: BaseDir, environment: dict[str, str]) -> Iterator[None]:
    child = forked_role(base, "sentinel", make, environment)
    try:
        yield
    finally:
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def standing(base: BaseDir) -> dict[str, Any]:
    try:
        told = json.loads(Path(base.path("state", "sentinel", "watchers.json")).read_text())
    except FileNotFoundError:
        return {}
    found: dict[str, Any] = told.get("jira", {})
    return found


def comes_to(base: BaseDir, state: str, code: str | None) -> dict[str, Any]:
    eventually(
        lambda: (standing(base).get("state"), standing(base).get("code")) == (state, code),
        f"{state} {code}",
        told=lambda: str(standing(base)),
    )
    return standing(base)


def test_without_a_token_it_is_off_and_the_others_are_not(base: BaseDir, jira: FakeJira) -> None:
    configure(base, jira)
    with sentinel(base, {}):
        told = comes_to(base, "off", "watcher_off")
        inbox = Path(base.path("queue", "inbox"))
        (inbox / "one.json").write_text('{"type": "my.script"}')
        eventually(lambda: events(base), "the inbox goes on")
    assert "JIRA_API_TOKEN" in told["remedy"]
    assert jira.asked == []


def test_wrong_jql_is_told_and_mended_by_the_configuration(base: BaseDir, jira: FakeJira) -> None:
    configure(base, jira, "nonsense")
    jira.create("SHOP-1")
    jira.advance(60)
    with sentinel(base, BOTH):
        told = comes_to(base, "trouble", "jira_query")
        assert "Expecting operator but got 'nonsense'." in told["sentence"]
        assert told["alarming"]
        configure(base, jira)
        comes_to(base, "ok", None)
        eventually(lambda: events(base), "the ticket is an event")


def test_a_slow_jira_does_not_keep_the_inbox_waiting(base: BaseDir, jira: FakeJira) -> None:
    configure(base, jira)
    go_on = threading.Event()

    def holds(stage: str, verb: str, path: str) -> None:
        go_on.wait()

    jira.hook = holds
    try:
        with sentinel(base, BOTH):
            eventually(lambda: jira.asked, "it asks")
            Path(base.path("queue", "inbox", "one.json")).write_text('{"type": "my.script"}')
            eventually(lambda: events(base), "the inbox goes on")
            assert len(jira.asked) == 1
    finally:
        go_on.set()


def test_trouble_that_passes_is_over_by_itself(base: BaseDir, jira: FakeJira) -> None:
    configure(base, jira)
    jira.create("SHOP-1")
    jira.advance(60)
    jira.faults = [Fault("POST", "search", status=502, left=2)]
    with sentinel(base, BOTH):
        told = comes_to(base, "trouble", "jira_unavailable")
        assert not told["alarming"]
        comes_to(base, "ok", None)
    assert len(events(base)) == 1
    assert TOKEN not in Path(base.path("logs", "system.log")).read_text()


def test_a_try_says_what_would_be_emitted_once_each_and_leaves_no_trace(
    base: BaseDir, jira: FakeJira
) -> None:
    configure(base, jira, "project = SHOP ORDER BY rank")
    Path(base.path("config", "system.yaml")).touch()
    jira.per_page = 2
    for number in range(5):
        jira.create(f"SHOP-{number}", START - timedelta(minutes=9 - number))
    own = jira.create("SHOP-9", START - timedelta(hours=1), assignee=ANN)
    jira.comment(own, "I am at it.", by=ME, at=START - timedelta(minutes=30))
    said = kingdom("sentinel", "try", "jira", "--json", base=base, env=BOTH)
    assert said.code == 0, said.err
    told = {one["about"].split()[0]: one for one in json.loads(said.out)}
    assert len(told) == len(json.loads(said.out)) == 6
    assert "account's own" in told["SHOP-9"]["reason"]
    assert told["SHOP-4"]["event"]["type"] == "jira.ticket.assigned"
    assert events(base) == {}
    assert not Path(base.path("state", "sentinel", "jira-state.json")).exists()


def test_why_of_a_ticket_from_before_the_kingdom_began_to_watch(
    base: BaseDir, jira: FakeJira
) -> None:
    configure(base, jira)
    Path(base.path("config", "system.yaml")).touch()
    write_format(base)
    jira.create("SHOP-1", START - timedelta(days=3))
    jira.create("SHOP-2", START - timedelta(hours=3))
    with sentinel(base, BOTH):
        comes_to(base, "ok", None)
        eventually(lambda: events(base), "the newer one is an event")
        began = "2026-02-06T10:00:00.000Z"
        for typed in ("SHOP-1", f"{jira.url}/browse/SHOP-1"):
            told = kingdom("why", typed, base=base)
            assert told.code == 0, told.err
            said = " ".join(told.out.split())
            assert f"If it was last updated before {began}, that was before the kingdom" in said
            assert "Comment on SHOP-1, or change it" in said
            assert "without being updated, as with due <= 3d" in said
        for path in Path(base.path("queue", "events")).glob("*/evt-jira-*.json"):
            path.unlink()
        said = kingdom("why", "SHOP-2", base=base).out
        assert "It was dealt with as it stood at 2026-02-07T07:00:00.000Z." in said
        assert began not in said
