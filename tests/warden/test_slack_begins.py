"""From a kingdom on the console to one that speaks in Slack, as docs/slack.md has it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kingdom.store.paths import BaseDir
from tests.support.cli import ROOT, kingdom, one_sentence
from tests.support.envoy import publish, start
from tests.support.puppets import ended_afterwards, found_kingdom
from tests.support.slack_life import WITH_SOCKET, ids
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import OWNER
from tests.support.waiting import eventually


@pytest.fixture
def server() -> Iterator[FakeSlack]:
    with FakeSlack() as slack:
        yield slack


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> Iterator[None]:
    found_kingdom(base, "gen-a")
    with ended_afterwards(base):
        yield


def tell_of_slack(base: BaseDir, server: FakeSlack) -> None:
    path = Path(base.config, "local", "envoy.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"transport: slack\nslack: {{api_url: '{server.url}', default_channel: '#kingdom', "
        f"owner: {OWNER}}}\n"
    )


def last_step() -> list[str]:
    """The command of the documentation's step 5."""
    text = (ROOT / "docs" / "slack.md").read_text("utf-8").partition("## 5. Start")[2]
    found = re.search(r"^    kingdom (.+)$", text, re.MULTILINE)
    assert found
    return found[1].split()


@pytest.mark.parametrize("runs", [True, False], ids=["running", "not running"])
def test_the_last_step_leads_to_a_working_slack(
    base: BaseDir, server: FakeSlack, runs: bool
) -> None:
    if runs:
        kingdom("start", base=base)
    tell_of_slack(base, server)
    assert kingdom("envoy", "try", base=base, env=WITH_SOCKET).code == 0
    said = kingdom(*last_step(), base=base, env=WITH_SOCKET)
    assert (said.code, "envoy" in said.out) == (0, True), said
    publish(base, start(1))
    eventually(lambda: ids(server) == [("msg-20260207-001", 1)], "it speaks")
    eventually(lambda: server.lines.made == 1, "it hears")
    sent = server.says("C0KINGDOM", "<@U0KINGDOM> please look")
    eventually(lambda: sent in server.lines.acknowledged, "what someone says is taken")
    eventually(lambda: "please look" in heard(base), "and is an event of the kingdom's")


def heard(base: BaseDir) -> list[str]:
    """What people said, of all events there are, whatever became of them."""
    said = []
    for path in Path(base.path("queue", "events")).rglob("evt-slack-mention-*.json"):
        with suppress(FileNotFoundError):  # it goes from one state to the next
            said.append(json.loads(path.read_text())["payload"]["text"])
    return said


@pytest.mark.long
def test_one_role_alone_keeps_the_old_environment_and_says_so(
    base: BaseDir, server: FakeSlack
) -> None:
    kingdom("start", base=base)
    tell_of_slack(base, server)
    refusal = one_sentence(kingdom("restart", "envoy", base=base, env=WITH_SOCKET), 1)
    assert "it keeps the environment that the kingdom was started with" in refusal
    found = json.loads(kingdom("status", "--json", base=base).out)
    assert next(one for one in found["roles"] if one["name"] == "envoy")["state"] != "up"
