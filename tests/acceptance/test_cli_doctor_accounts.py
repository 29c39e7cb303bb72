"""`kingdom doctor` about GitHub, Jira and Slack: whose token it is, what it may do, the clocks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from kingdom.clock import SystemClock
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support import github_server, jira_server, slack_workspace
from tests.support.cli import kingdom
from tests.support.github_server import FakeGitHub, Fault
from tests.support.jira_server import FakeJira
from tests.support.slack_server import FakeSlack

TOKENS = {
    "GH_TOKEN": github_server.TOKEN,
    "JIRA_USER_EMAIL": jira_server.EMAIL,
    "JIRA_API_TOKEN": jira_server.TOKEN,
    "SLACK_BOT_TOKEN": slack_workspace.TOKEN,
    "SLACK_APP_TOKEN": slack_workspace.APP_TOKEN,
}


@pytest.fixture
def realm(scratch: Path) -> BaseDir:
    base = BaseDir(scratch / "realm")
    init(base)
    return base


@pytest.fixture
def github(realm: BaseDir) -> Iterator[FakeGitHub]:
    with FakeGitHub() as made:
        watch(realm, f"github: {{api_url: '{made.url}'}}")
        yield made


@pytest.fixture
def jira(realm: BaseDir) -> Iterator[FakeJira]:
    with FakeJira() as made:
        made.now = SystemClock().now()
        watch(realm, f"jira: {{url: '{made.url}'}}")
        yield made


@pytest.fixture
def slack(realm: BaseDir) -> Iterator[FakeSlack]:
    with FakeSlack() as made:
        Path(realm.config, "local", "envoy.yaml").write_text(
            f"transport: slack\nslack: {{api_url: '{made.url}', default_channel: '#kingdom'}}\n"
        )
        yield made


def watch(base: BaseDir, what: str) -> None:
    Path(base.config, "local", "sentinel.yaml").write_text(f"polling: {{{what}}}\n")


def found(
    base: BaseDir, what: str, environment: Mapping[str, str] = TOKENS
) -> list[tuple[str, str, str]]:
    said = kingdom("doctor", "--json", base=base, env=environment)
    assert not any(token in said.out + said.err for token in TOKENS.values() if "@" not in token)
    checks = json.loads(said.out)["checks"]
    return [
        (one["state"], one["sentence"], one["remedy"] or "")
        for one in checks
        if one["what"] == what
    ]


def compared(base: BaseDir) -> list[tuple[str, str, str]]:
    """What is said of clocks, beside whether the kingdom's own is trusted."""
    return [one for one in found(base, "clock") if "trusted" not in one[1]]


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in TOKENS.items() if key != name}


def test_what_is_off_is_said_to_be(realm: BaseDir) -> None:
    for what in ("github", "jira", "slack"):
        ((state, sentence, _),) = found(realm, what)
        assert state == "ok"
        assert "off" in sentence or "not in use" in sentence
    assert compared(realm) == []


# GitHub


def test_github_that_lets_us_in(realm: BaseDir, github: FakeGitHub) -> None:
    assert found(realm, "github") == [
        ("ok", "The token is that of kingdom-bot, and reads notifications.", "")
    ]
    github.login = None
    ((state, sentence, _),) = found(realm, "github")
    assert (state, "an app" in sentence) == ("ok", True)


@pytest.mark.parametrize(("scopes", "complains"), [("notifications", True), ("repo, user", False)])
def test_a_classic_token_tells_its_scopes(
    realm: BaseDir, github: FakeGitHub, scopes: str, complains: bool
) -> None:
    headers = {"X-OAuth-Scopes": scopes}
    github.faults = [Fault("GET", "/user$", body={"login": "ann"}, headers=headers)]
    _, *more = found(realm, "github")
    assert bool(more) is complains
    assert all("no scope repo" in sentence for _, sentence, _ in more)


def test_github_that_keeps_us_out(realm: BaseDir, github: FakeGitHub) -> None:
    ((state, sentence, remedy),) = found(realm, "github", without("GH_TOKEN"))
    assert (state, "GH_TOKEN is not set" in sentence, bool(remedy)) == ("problem", True, True)
    ((state, _, remedy),) = found(realm, "github", {"GH_TOKEN": "ghs_" + "x" * 20})
    assert (state, bool(remedy)) == ("problem", True)
    github.faults = [Fault("GET", "notifications", status=403, body={"message": "Forbidden"})]
    ((state, sentence, remedy),) = found(realm, "github")
    assert (state, "may not read notifications" in sentence) == ("problem", True)
    assert remedy


def test_github_that_does_not_answer_is_no_problem_for_ever(realm: BaseDir) -> None:
    with socket.socket() as taken:  # a port that nobody listens to
        taken.bind(("127.0.0.1", 0))
        watch(realm, f"github: {{api_url: 'http://127.0.0.1:{taken.getsockname()[1]}'}}")
        ((state, _, remedy),) = found(realm, "github")
    assert (state, bool(remedy)) == ("warning", True)


@pytest.mark.parametrize(("seconds", "words"), [(0, ""), (-300, "slow"), (300, "fast")])
def test_clocks_are_compared(realm: BaseDir, github: FakeGitHub, seconds: int, words: str) -> None:
    theirs = SystemClock().now() - timedelta(seconds=seconds)
    headers = {"Date": format_datetime(theirs, usegmt=True)}
    github.faults = [Fault("GET", "/user$", body={"login": "ann"}, headers=headers)]
    ((state, sentence, _),) = compared(realm)
    assert state == ("warning" if words else "ok")
    assert words in sentence


# Jira


def test_jira_that_lets_us_in(realm: BaseDir, jira: FakeJira) -> None:
    assert [one[0] for one in found(realm, "jira")] == ["ok", "ok"]
    assert compared(realm)[0][0] == "ok"
    jira.now -= timedelta(hours=1)
    assert compared(realm)[0][0] == "warning"


def test_jira_that_keeps_us_out_and_a_query_it_does_not_understand(
    realm: BaseDir, jira: FakeJira
) -> None:
    ((state, sentence, remedy),) = found(realm, "jira", without("JIRA_API_TOKEN"))
    assert (state, "JIRA_API_TOKEN" in sentence, bool(remedy)) == ("problem", True, True)
    ((state, _, remedy),) = found(realm, "jira", TOKENS | {"JIRA_API_TOKEN": "wrong"})
    assert (state, bool(remedy)) == ("problem", True)
    watch(realm, f"jira: {{url: '{jira.url}', scope: {{jql_base: nonsense}}}}")
    (_, (state, sentence, _)) = found(realm, "jira")
    assert (state, "nonsense" in sentence) == ("problem", True)


# Slack


def test_slack_that_lets_us_in_and_is_told_nothing(realm: BaseDir, slack: FakeSlack) -> None:
    assert found(realm, "slack") == [
        ("ok", "The token is that of kingdom in Acme.", ""),
        ("ok", "With the token in SLACK_APP_TOKEN it hears replies at once.", ""),
    ]
    assert slack.calls("chat.postMessage") == []
    (_, (state, sentence, _)) = found(realm, "slack", without("SLACK_APP_TOKEN"))
    assert (state, "polled" in sentence) == ("warning", True)


def test_slack_that_keeps_us_out_or_lacks_a_scope(realm: BaseDir, slack: FakeSlack) -> None:
    ((state, _, remedy),) = found(realm, "slack", without("SLACK_BOT_TOKEN"))
    assert (state, bool(remedy)) == ("problem", True)
    wrong = TOKENS | {"SLACK_APP_TOKEN": "xapp-revoked"}
    (_, (state, sentence, remedy)) = found(realm, "slack", wrong)
    assert (state, "SLACK_APP_TOKEN" in sentence) == ("problem", True)
    assert "connections:write" in remedy
    slack.scopes -= {"chat:write"}
    (_, (state, sentence, remedy), _) = found(realm, "slack")
    assert (state, "chat:write (to speak)" in sentence, bool(remedy)) == ("problem", True, True)
