"""Slack's Web API over real HTTP: what is an answer, what passes, and what never works."""

from __future__ import annotations

import logging
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_access import find_token
from kingdom.clients.slack_faults import SlackLater, SlackLimited, SlackRefused
from kingdom.errors import ConfigurationError
from tests.support.kingdom import START, MovableClock
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import OWNER, TOKEN

HELLO = {"text": "hello"}


@pytest.fixture
def slack(server: FakeSlack, clock: MovableClock) -> Slack:
    return Slack(TOKEN, server.url, clock=clock)


def test_what_is_posted_stands_under_the_id_that_slack_answers_with(
    server: FakeSlack, slack: Slack
) -> None:
    posted = slack.post("#kingdom", HELLO)
    assert posted.channel == "C0KINGDOM"
    (kept,) = server.in_channel()
    assert (kept["text"], kept["ts"]) == ("hello", posted.ts)
    slack.delete(posted)
    assert server.in_channel() == []


def test_a_person_becomes_a_direct_message(slack: Slack) -> None:
    assert slack.open_with(OWNER) == slack.open_with(OWNER) == "D0OWNER"
    with pytest.raises(SlackRefused, match="Slack knows no U0NOBODY"):
        slack.open_with("U0NOBODY")


def test_metadata_is_found_on_every_page(server: FakeSlack, slack: Slack) -> None:
    server.most_per_page = 3
    metadata = {"event_type": "kingdom_message", "event_payload": {"id": "x"}}
    first = slack.post("C0KINGDOM", HELLO | {"metadata": metadata})
    for _ in range(10):
        slack.post("C0KINGDOM", HELLO)
        slack.post("C0KINGDOM", HELLO | {"metadata": metadata}, first.ts)
    found = list(slack.history("C0KINGDOM", "0"))
    assert len(found) == 11
    assert (found[-1]["ts"], found[-1]["metadata"]) == (first.ts, metadata)
    assert len(list(slack.replies("C0KINGDOM", first.ts, "0"))) == 11
    assert slack.channel_named("#old") == "C0OLD"
    assert slack.channel_named("nowhere") == ""


def test_a_reaction_that_is_there_already_is_no_failure(server: FakeSlack, slack: Slack) -> None:
    posted = slack.post("C0KINGDOM", HELLO)
    for _ in range(2):
        slack.react(posted, "eyes")
    assert server.in_channel()[0]["reactions"] == ["eyes"]
    for _ in range(2):
        slack.unreact(posted, "eyes")
    assert server.in_channel()[0]["reactions"] == []
    with pytest.raises(SlackRefused, match="message_not_found"):
        slack.react(Posted("C0KINGDOM", "1.0"), "eyes")


def test_a_file_lies_in_the_thread(server: FakeSlack, slack: Slack) -> None:
    posted = slack.post("C0KINGDOM", HELLO)
    slack.attach(posted, "long.txt", "왕국".encode(), "The whole text")
    shared = server.in_channel()[1]
    assert (shared["thread_ts"], shared["files"][0]["name"]) == (posted.ts, "long.txt")
    assert server.uploads["F0001"]["content"] == "왕국".encode()


@pytest.mark.parametrize(
    ("channel", "code", "sentence"),
    [
        ("C0NOWHERE", "slack_no_channel", "Slack knows no C0NOWHERE"),
        ("C0CLOSED", "slack_not_in_channel", "The app is not in C0CLOSED."),
        ("C0OLD", "slack_no_channel", "C0OLD is archived."),
    ],
)
def test_a_channel_that_takes_nothing(slack: Slack, channel: str, code: str, sentence: str) -> None:
    with pytest.raises(SlackRefused, match=sentence) as caught:
        slack.post(channel, HELLO)
    assert caught.value.code == code
    assert caught.value.remedy


def test_the_scope_that_is_missing_is_named(server: FakeSlack, slack: Slack) -> None:
    server.scopes -= {"reactions:write"}
    posted = slack.post("C0KINGDOM", HELLO)
    with pytest.raises(SlackRefused, match="lacks a scope: reactions:write") as caught:
        slack.react(posted, "eyes")
    assert caught.value.code == "slack_scope"


def test_a_revoked_token_never_works_and_is_not_repeated(
    server: FakeSlack, slack: Slack, caplog: pytest.LogCaptureFixture
) -> None:
    server.token = "xoxb-another"
    with caplog.at_level(logging.DEBUG), pytest.raises(SlackRefused) as caught:
        slack.post("C0KINGDOM", HELLO)
    assert caught.value.code == "slack_login"
    assert "SLACK_BOT_TOKEN" in str(caught.value)
    assert TOKEN not in str(caught.value) + caplog.text
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_token_that_slack_repeats_is_hidden(server: FakeSlack, slack: Slack) -> None:
    server.faults.append(Fault(error=f"bad_token_{TOKEN}"))
    with pytest.raises(SlackRefused) as caught:
        slack.post("C0KINGDOM", HELLO)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Fault(status=429, headers={"Retry-After": "7"}), 7),
        (Fault(status=429), 30),
        (Fault(error="ratelimited", headers={"Retry-After": "7"}), 7),
        (Fault(status=429, headers={"Retry-After": "soon"}), 30),
        (Fault(status=429, headers={"Retry-After": "9999999"}), 3600),
    ],
)
def test_a_limit_is_obeyed_without_asking(
    server: FakeSlack, slack: Slack, clock: MovableClock, fault: Fault, seconds: int
) -> None:
    server.faults.append(Fault(**vars(fault)))
    for _ in range(3):
        with pytest.raises(SlackLimited) as caught:
            slack.post("C0KINGDOM", HELLO)
        assert caught.value.not_before == START + timedelta(seconds=seconds)
        assert caught.value.undone
    assert server.in_channel() == server.calls("chat.postMessage") == []
    slack.me()  # other methods have limits of their own
    clock.advance(seconds)
    slack.post("C0KINGDOM", HELLO)
    assert len(server.in_channel()) == 1


TROUBLES: list[dict[str, Any]] = [
    {"lost": "before"},
    {"lost": "after"},
    {"lost": "inside"},
    {"status": 503},
    {"status": 500, "body": "<html>Sorry</html>"},
    {"status": 200, "body": "<html>Log in to the network</html>"},
    {"status": 200, "body": "[1]"},
    {"status": 200, "body": '{"ok": false}'},
    {"error": "internal_error"},
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_an_outage_names_a_moment_that_moves_away(
    server: FakeSlack, slack: Slack, trouble: dict[str, Any]
) -> None:
    server.faults.append(Fault(method=".*", left=6, **trouble))
    waits = []
    for _ in range(3):
        with pytest.raises(SlackLater, match="Slack has trouble") as caught:
            slack.post("C0KINGDOM", HELLO)
        assert caught.value.not_before is not None
        waits.append((caught.value.not_before - START).total_seconds())
    assert waits == [2.0, 4.0, 8.0]
    assert not caught.value.undone
    slack.post("C0KINGDOM", HELLO)


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_trouble_with_one_request_alone_is_told_apart(
    server: FakeSlack, slack: Slack, trouble: dict[str, Any]
) -> None:
    server.faults.append(Fault(**trouble))
    with pytest.raises(SlackLater) as caught:
        slack.post("C0KINGDOM", HELLO)
    assert caught.value.not_before is None


def test_a_method_that_does_not_answer_is_left_alone_for_longer_each_time(
    server: FakeSlack, slack: Slack, clock: MovableClock
) -> None:
    server.faults.append(Fault("users.info", lost="before", left=1_000))
    asked = 0
    for _ in range(3600):
        with pytest.raises(SlackLater, match=r"Slack has trouble with users\.info") as caught:
            slack.user(OWNER)
        asked += caught.value.not_before is None
        clock.advance(1)
    assert asked <= 6 + 3600 / 300, "who asks has waited for it no more often"
    assert slack.me().name == "kingdom", "the others are asked as ever"
    assert [one.sentence for one in slack.failing()] == [caught.value.sentence]
    server.faults.clear()
    clock.advance(300)
    slack.user(OWNER)
    assert slack.failing() == []


def test_a_limit_that_is_met_once_is_no_failure_and_an_old_failure_is_forgotten(
    server: FakeSlack, slack: Slack, clock: MovableClock
) -> None:
    server.faults.append(Fault("users.info", status=429, headers={"Retry-After": "9"}, left=2))
    for failing in (0, 1):
        with pytest.raises(SlackLimited):
            slack.user(OWNER)
        assert len(slack.failing()) == failing
        clock.advance(10)
    clock.advance(3600)
    assert slack.failing() == []


def test_a_token_that_one_method_does_not_accept_is_not_revoked(
    server: FakeSlack, clock: MovableClock
) -> None:
    slack = Slack(TOKEN, server.url, clock=clock, knock_again=timedelta(minutes=1))
    server.faults.append(Fault("users.info", error="not_allowed_token_type"))
    with pytest.raises(SlackRefused, match=r"SLACK_BOT_TOKEN for users\.info"):
        slack.user(OWNER)
    assert slack.shut is None
    slack.post("C0KINGDOM", HELLO)


def test_nobody_answers(server: FakeSlack, clock: MovableClock) -> None:
    slack = Slack(TOKEN, "http://127.0.0.1:9/api/", clock=clock)
    with pytest.raises(SlackLater, match="could not be reached") as caught:
        slack.me()
    assert caught.value.not_before == START + timedelta(seconds=2)


@pytest.mark.parametrize("value", ["", "  ", "xoxb 1", "xoxb-\u00e4"])
def test_what_is_no_token_is_said_with_the_remedy(value: str) -> None:
    with pytest.raises(ConfigurationError, match="Set MY_TOKEN to"):
        find_token({"MY_TOKEN": value}, "MY_TOKEN")


def test_an_address_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match=r"https://slack\.com/api/"):
        Slack(TOKEN, "slack.com")


def test_the_library_is_loaded_only_when_it_is_used() -> None:
    code = "import sys, kingdom.envoy.daemon; sys.exit('slack_sdk' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
