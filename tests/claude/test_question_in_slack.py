"""A soldier asks, a person answers in Slack, and the task goes on in the same engine session: real
roles, real tmux, the real program, a scripted model, a Slack on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.claude.test_in_a_kingdom import ended, realm, reports, send
from tests.support.kingdom import files
from tests.support.scripted_model import ScriptedModel, say
from tests.support.slack_life import WITH_SOCKET, texts
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import OWNER
from tests.support.waiting import eventually


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def test_a_question_is_answered_by_a_button_and_the_session_goes_on(
    scratch: Path, model: ScriptedModel
) -> None:
    model.says(
        reports("needs_human", question="Blue?", options=["yes", "no"]),
        say("I asked."),
        reports(summary="Painted blue."),
        say("Bye."),
        to="paint",
    )
    with FakeSlack() as server:
        slack = {"api_url": server.url, "default_channel": "C0KINGDOM", "owner": OWNER}
        envoy = {"transport": "slack", "slack": slack}
        with realm(model, scratch, env=WITH_SOCKET, envoy=envoy) as base:
            send(base, "paint")
            asked = ended(base, "evt-cli-paint")
            eventually(lambda: "Blue?" in "".join(texts(server)), "the question stands in Slack")
            question = next(one for one in server.in_channel() if "Blue?" in one["text"])
            eventually(lambda: server.lines.open, "it listens")
            server.presses(question, 1)
            eventually(lambda: "Painted blue." in "".join(texts(server)), "the task goes on")
            eventually(lambda: "ada answered: yes" in "".join(texts(server)), "the answer shows")
            eventually(lambda: len(files(base)["events/completed"]) == 2, "both events have ended")
            answer = f"evt-slack-response-{asked['task_id']}-"
            completed = files(base)["events/completed"]
            resumed = ended(base, next(one for one in completed if one.startswith(answer)))
    assert asked["status"] == "needs_human"
    assert (resumed["status"], resumed["summary"]) == ("success", "Painted blue.")
    assert len({one["thread_ts"] for one in server.in_channel() if "thread_ts" in one}) == 1
    said = [one.text for one in model.requests]
    assert any("yes" in one and "Blue?" in one for one in said), "the answer reached the session"
