"""Why, asked by what something is called outside: a ticket's key, an address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.init import init
from kingdom.runtime.internal_log import InternalLog
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence
from tests.support.envoy import publish
from tests.support.kingdom import MovableClock, event


@pytest.fixture
def ready(base: BaseDir) -> BaseDir:
    init(base)
    return base


def emitted(base: BaseDir, id_: str, **fields: Any) -> None:
    publish(base, event(id=id_, **fields), stream="events")


def told_of(base: BaseDir, typed: str) -> list[str]:
    """Which ids it speaks of."""
    said = kingdom("why", typed, "--json", base=base)
    assert said.code == 0, said
    return [one["id"] for one in json.loads(said.out)]


def test_an_id_that_looks_like_a_ticket_s_key_is_an_id_first(ready: BaseDir) -> None:
    emitted(ready, "JOB-1", payload={"key": "SHOP-128"})
    emitted(ready, "evt-jira-1", payload={"key": "JOB-1"})
    assert told_of(ready, "JOB-1") == ["JOB-1"]
    assert told_of(ready, "SHOP-128") == ["JOB-1"]
    assert "No event about JOB-2" in kingdom("why", "JOB-2", base=ready).out


def test_also_when_only_the_logs_remember_it(ready: BaseDir, clock: MovableClock) -> None:
    facts = {"event_id": "JOB-3", "source": "inbox", "event_type": "nightly.chore"}
    InternalLog(ready, "sentinel", clock).emit("event.detected", facts)
    assert "Its file is no longer kept." in kingdom("why", "JOB-3", base=ready).out


def test_a_file_that_has_nothing_to_do_with_it_is_named_and_stops_nobody(ready: BaseDir) -> None:
    Path(ready.path("config", "local", "chamberlain.yaml")).write_text("thresholds: [\n")
    said = kingdom("why", "https://github.com/acme/web/pull/42", base=ready).out
    assert "The configuration is wrong: " in said
    assert "config/local/chamberlain.yaml" in said
    assert "Nothing watches github" in said
    Path(ready.path("config", "local", "sentinel.yaml")).write_text("polling: [\n")
    assert "watches" not in kingdom("why", "acme/web#42", base=ready).out


def test_a_key_in_small_letters_and_an_address_without_a_scheme(ready: BaseDir) -> None:
    emitted(ready, "evt-jira-1", payload={"key": "SHOP-128"})
    address = "github.com/acme/web/pull/42"
    emitted(ready, "evt-1", repo="acme/web", payload={"number": 42, "url": f"https://{address}"})
    for typed in ("shop-128", "acme.atlassian.net/browse/shop-128"):
        assert told_of(ready, typed) == ["evt-jira-1"]
    for typed in (address, f"https://www.{address}", f"www.{address}"):
        assert told_of(ready, typed) == ["evt-1"]
    assert "job-2" in one_sentence(kingdom("why", "job-2", base=ready), 1)
