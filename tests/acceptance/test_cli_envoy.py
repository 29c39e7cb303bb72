"""`kingdom envoy`: the Slack app is made in one paste, and tried before anybody relies on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from kingdom.clients.slack_faults import SlackCrowded
from kingdom.envoy.standing import Standing
from kingdom.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE
from kingdom.ops.slack_app import SCOPES
from kingdom.runtime.processes import Seat
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import Said, kingdom, one_sentence
from tests.support.slack_life import ENVIRONMENT, WITH_SOCKET, configure
from tests.support.slack_scopes import SCOPES as ASKED_FOR
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import OWNER, TOKEN, Channel


@pytest.fixture
def server() -> Iterator[FakeSlack]:
    with FakeSlack() as slack:
        yield slack


def tried(base: BaseDir, *words: str) -> Said:
    said = kingdom("envoy", "try", *words, base=base, env=ENVIRONMENT)
    assert TOKEN not in said.out + said.err
    return said


def test_all_is_well_and_nothing_stays_behind(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    said = tried(base)
    assert said.code == EXIT_DONE
    assert said.out.splitlines() == [
        "The token in SLACK_BOT_TOKEN is that of kingdom in Acme.",
        f"The app has all of the {len(SCOPES)} scopes that it needs.",
        "A test message stands in #kingdom (C0KINGDOM).",
        "It was found again, and has a reaction.",
        "It was removed.",
        "Those may give it work and answers: ada (U0OWNER).",
        "SLACK_APP_TOKEN is not set: it looks for replies every 30 s, and has no buttons.",
    ]
    assert server.in_channel() == []
    assert len(server.calls("chat.postMessage")) == 1
    assert len(json.loads(tried(base, "--json").out)) == 7


def test_the_app_token_is_tried_too(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    said = kingdom("envoy", "try", base=base, env=WITH_SOCKET)
    assert "With the token in SLACK_APP_TOKEN it hears replies at once." in said.out
    wrong = ENVIRONMENT | {"SLACK_APP_TOKEN": "xoxb-pasted-into-the-wrong-place"}
    said = kingdom("envoy", "try", base=base, env=wrong)
    assert said.code == EXIT_FAILED
    assert "does not accept the token in SLACK_APP_TOKEN" in said.err
    assert "connections:write" in said.err
    assert "xoxb-pasted" not in said.out + said.err


def test_it_is_said_who_may_speak(base: BaseDir, server: FakeSlack) -> None:
    server.groups["S0TEAM"] = [OWNER, "U0BOB"]
    configure(base, server, allowed=("S0TEAM", "C0KINGDOM"))
    named = "ada (U0OWNER), 2 people (S0TEAM), #kingdom (C0KINGDOM)."
    said = tried(base)
    assert (said.code, f"Those may give it work and answers: {named}" in said.lines) == (0, True)
    configure(base, server)
    path = Path(base.config, "envoy.yaml")
    path.write_text(path.read_text().replace(f"owner: {OWNER}", "owner: ''"))
    assert any(line.startswith("Nobody may give it work") for line in tried(base).lines)


def test_each_that_cannot_speak_is_named(base: BaseDir, server: FakeSlack) -> None:
    server.channels["C0OVER"] = Channel("C0OVER", "over", is_archived=True)
    wrong = ("U0GONE", "S0GONE", "C0GONE", "C0CLOSED", "C0OVER")
    configure(base, server, allowed=("C0KINGDOM", *wrong))
    said = tried(base)
    assert said.code == EXIT_FAILED
    assert (
        "U0GONE (Slack knows no such person), S0GONE (Slack knows no such user group), "
        "C0GONE (Slack knows no such channel), C0CLOSED (the app is not in it), C0OVER (archived)."
    ) in said.err
    assert "C0KINGDOM" not in said.err


def test_it_is_said_that_slack_is_not_used_yet(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    path = Path(base.config, "envoy.yaml")
    path.write_text(path.read_text().replace("transport: slack", "transport: console"))
    said = tried(base)
    assert (said.code, len(said.lines)) == (EXIT_USAGE, 7)
    assert "Slack is not used: transport is console." in said.err
    assert "Set transport: slack in config/local/envoy.yaml" in said.err


@pytest.mark.parametrize("command", [("envoy", "try"), ("doctor",)], ids=" ".join)
def test_another_program_with_the_same_app_is_told_of(
    base: BaseDir, server: FakeSlack, command: tuple[str, ...]
) -> None:
    configure(base, server)
    found = SlackCrowded("SLACK_APP_TOKEN")
    standing = Standing(base)
    Path(base.path("state/envoy")).mkdir(parents=True)
    standing.hears(found)
    write_format(base)
    with closing(Seat(base, "envoy").take()):
        said = kingdom(*command, base=base, env=WITH_SOCKET)
    assert found.sentence in said.out + said.err
    said = kingdom(*command, base=base, env=WITH_SOCKET)
    assert found.sentence not in said.out + said.err, "nobody is there to know"


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_exactly_the_missing_scope_is_named(base: BaseDir, server: FakeSlack, scope: str) -> None:
    configure(base, server)
    server.scopes -= {scope}
    said = tried(base)
    assert said.code == EXIT_FAILED
    assert f"lacks a scope: {scope} (" in said.err
    assert not any(f" {other} (" in said.err for other in SCOPES if other != scope)
    assert server.calls("chat.postMessage") == []


def test_the_app_asks_for_every_scope_that_its_requests_need() -> None:
    assert set(ASKED_FOR.values()) <= set(SCOPES)


@pytest.mark.parametrize(
    ("channel", "sentence"),
    [("#nowhere", "Slack knows no #nowhere"), ("C0CLOSED", "The app is not in C0CLOSED.")],
)
def test_a_channel_that_takes_nothing(
    base: BaseDir, server: FakeSlack, channel: str, sentence: str
) -> None:
    configure(base, server, channel=channel)
    said = tried(base)
    assert (said.code, sentence in said.err) == (EXIT_FAILED, True)


def test_the_test_message_goes_even_when_something_fails(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    server.faults.append(Fault("conversations.history", error="missing_scope"))
    assert tried(base).code == EXIT_FAILED
    assert server.in_channel() == []


def test_a_wrong_token_and_none(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    server.token = "xoxb-another"
    assert "does not accept the token in SLACK_BOT_TOKEN" in one_sentence(tried(base), EXIT_FAILED)
    said = kingdom("envoy", "try", base=base)
    assert "Set SLACK_BOT_TOKEN to the app's bot token" in one_sentence(said, EXIT_USAGE)


def test_the_manifest_makes_the_app_in_one_paste(base: BaseDir) -> None:
    said = kingdom("envoy", "manifest")
    made = yaml.safe_load(said.out)
    assert made["oauth_config"]["scopes"]["bot"] == sorted(SCOPES)
    assert made["settings"]["socket_mode_enabled"] is True
    assert made["settings"]["interactivity"]["is_enabled"] is True
    assert json.loads(kingdom("envoy", "manifest", "--json").out) == made
