"""A soldier asks, a person answers in Slack, and the task goes on in the same engine session: real
roles, real tmux, the real program, a scripted model, a Slack on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.claude.test_in_a_kingdom import ended, realm, reports, send
from tests.support.kingdom import files
from tests.support.scripted_model import Request, ScriptedModel, say
from tests.support.slack_life import WITH_SOCKET, texts
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import OWNER
from tests.support.waiting import eventually

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


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
            before = list(model.requests)
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
    assert not any(is_told(one) for one in before), "nobody had answered"
    resuming = [one for one in model.requests if is_told(one)]
    assert resuming, "the answer reached the model"
    asking = [one for one in before if "paint" in one.text]
    assert {session_of(one) for one in resuming} == {session_of(one) for one in asking}
    known, told = messages_of(asking[-1]), messages_of(resuming[0])
    assert told[: len(known)] == known, "it goes on where it was"
    said_next = [one for one in told[len(known) :] if one[0] == "user"]
    assert is_answer(said_next[-1]), "the answer is what it was told next"


def session_of(request: Request) -> str:
    found = re.findall(
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(request.body["metadata"])
    )
    assert found
    return str(found[-1])


def messages_of(request: Request) -> list[tuple[str, str]]:
    """Who said what; where the program has it cached changes from request to request."""
    said: list[tuple[str, str]] = []
    for one in request.body["messages"]:
        content = one["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        kept = [{key: block[key] for key in block if key != "cache_control"} for block in blocks]
        said.append((one["role"], " ".join(str(block.get("text", block)) for block in kept)))
    return said


def is_answer(said: tuple[str, str]) -> bool:
    role, text = said
    return role == "user" and "yes" in text and "ada" in text


def is_told(request: Request) -> bool:
    return any(map(is_answer, messages_of(request)))
