"""Whom a person's message is for, as far as its text says so."""

from __future__ import annotations

from typing import Any

import pytest

from kingdom.king.chat import Place, directed, place_in, place_of, spoken
from kingdom.models.event import Event
from kingdom.models.manifest import Manifest
from kingdom.runtime.config import Config, General
from kingdom.settings.loading import Settings
from kingdom.settings.sentinel import SentinelSettings
from tests.support.kingdom import event, task

GENERALS = {
    "gen-pr": ["github.pr.review_requested"],
    "gen-jira": ["jira.ticket.assigned"],
    "gen-herald": ["slack.app_mention"],
}
WATCHED = {
    "polling": {
        "github": {"api_url": "https://api.git.example"},
        "jira": {"url": "https://jira.example/", "scope": {"repos": {"SHOP": "acme/shop"}}},
    }
}
PULL = "https://github.com/acme/web/pull/42"
TICKET = "https://jira.example/browse/SHOP-128"


def config(**more: list[str]) -> Config:
    subscriptions = GENERALS | {f"gen-{name}": types for name, types in more.items()}
    generals = {
        name: General(Manifest(name=name, description="x", subscribes=types), f"/{name}", "Do.")
        for name, types in subscriptions.items()
    }
    return Config(Settings(sentinel=SentinelSettings.model_validate(WATCHED)), generals)


def heard(text: str, **more: list[str]) -> tuple[str, Event] | None:
    payload = {"text": text, "channel": "C1", "user": "U1", "ts": "1.1"}
    said = event(type="slack.app_mention", payload=payload, trust="member")
    found = directed(said, config(**more))
    return (found[0].name, found[1]) if found else None


def must_hear(text: str, **more: list[str]) -> tuple[str, Event]:
    found = heard(text, **more)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "gen-pr: look at the build",
        "<@U9> gen-pr look at the build",
        "@kingdom gen-pr look at the build",
        "<@U9|kingdom> GEN-PR, look at the build",
        "kingdom, @gen-pr: look at the build",
    ],
)
def test_a_text_that_begins_with_a_general_is_for_that_one(text: str) -> None:
    name, found = must_hear(text)
    assert (name, found.type, found.trust) == ("gen-pr", "slack.app_mention", "member")
    assert found.payload["title"] == "look at the build"
    assert found.payload["text"] == text, "what was said stays as it was said"


@pytest.mark.parametrize(
    "text",
    ["", "what does gen-pr do?", "gen-nobody: hello", "gen-pr:", "gen-prx: hello", "gen-pr"],
)
def test_other_texts_are_for_nobody_in_particular(text: str) -> None:
    assert heard(text) is None


@pytest.mark.parametrize("text", [f"please look: {PULL}", f"<{PULL}|the one> please", f"{PULL}."])
def test_a_pull_request_goes_to_whoever_reviews(text: str) -> None:
    name, found = must_hear(text)
    assert (name, found.type, found.repo) == ("gen-pr", "github.pr.review_requested", "acme/web")
    assert (found.payload["number"], found.payload["url"]) == (42, PULL)
    assert (found.payload["channel"], found.payload["ts"]) == ("C1", "1.1")


def test_the_host_of_the_watched_github_counts_and_a_foreign_one_does_not() -> None:
    assert must_hear("https://git.example/acme/web/pull/42/files#diff")[1].payload["number"] == 42
    assert heard("https://evil.example/acme/web/pull/42") is None
    assert heard("https://github.com.evil.example/acme/web/pull/42") is None


def test_a_ticket_goes_to_whoever_implements_with_the_repository_of_its_project() -> None:
    name, found = must_hear(f"do {TICKET} please")
    assert (name, found.type, found.repo) == ("gen-jira", "jira.ticket.assigned", "acme/shop")
    assert (found.payload["key"], found.payload["url"]) == ("SHOP-128", TICKET)
    assert found.payload["summary"] == f"do {TICKET} please"


def test_an_issue_needs_someone_who_takes_up_issues() -> None:
    issue = "https://github.com/acme/web/issues/7"
    assert heard(issue) is None
    name, found = must_hear(issue, issue=["github.issue.*"])
    assert (name, found.type) == ("gen-issue", "github.issue.assigned")


def test_several_links_are_for_someone_who_can_read() -> None:
    assert heard(f"{PULL} and {TICKET}") is None
    assert must_hear(f"{PULL} again: {PULL}")[1].payload["number"] == 42


def test_what_a_link_leads_to_is_trusted_only_if_the_general_is_named() -> None:
    assert must_hear(f"do {TICKET}")[1].trust == "outside"
    assert "a general that was not named" in (must_hear(f"do {TICKET}")[1].trust_reason or "")
    name, found = must_hear(f"gen-jira: do {TICKET}")
    assert (name, found.trust, found.payload["key"]) == ("gen-jira", "member", "SHOP-128")


def test_markup_is_left_out() -> None:
    assert spoken({"text": "<@U9> a &lt;b&gt; <!here> <https://x.example|x>"}) == (
        "a <b>   https://x.example"
    )
    assert spoken({"text": 7}) == spoken({}) == ""


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"channel": "C1", "ts": "2.2"}, Place("C1", "2.2")),
        ({"channel": "C1", "ts": "2.2", "thread_ts": "1.1"}, Place("C1", "1.1")),
        ({"channel": "C1"}, None),
        ({"channel": "", "ts": "2.2"}, None),
        ({"channel": 1, "ts": "2.2"}, None),
        ({"channel": "C1", "ts": 2.2}, None),
        ({}, None),
    ],
)
def test_where_it_was_said(payload: dict[str, Any], place: Place | None) -> None:
    assert place_in(payload) == place
    assert place_of(task(payload=payload, trust="member")) == place
    assert place_of(task(payload=payload, event_id="evt-slack-msg-1", trust="outside")) == place
    assert place_of(task(payload=payload, trust="outside")) is None
    assert place_of(task(type="resume", payload={"original": payload, "answer": "a"})) == place
