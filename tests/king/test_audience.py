"""People write to the kingdom: small talk is answered at once, work goes to the right general."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.result import NeedsHuman, Success
from tests.support.court import Court
from tests.support.kingdom import START, event, files
from tests.support.reigns import HERALD, said

TASK, NEXT = "task-20260207-001", "task-20260207-002"


@pytest.fixture
def open_court(court: Court) -> Court:
    court.general("gen-herald", HERALD, "priority: high\n")
    return court


# Small talk


def test_a_greeting_is_answered_where_it_was_said(open_court: Court) -> None:
    open_court.send(sent := said("1", "<@U9> hi!", "7.1"))
    open_court.king().step()
    (told,) = open_court.all("messages")
    assert (told["type"], told["channel"], told["thread_ts"]) == ("thread_update", "C1", "7.1")
    assert told["content"].startswith("Hello!")
    assert "Waiting" not in told["content"], "it counts itself"
    assert "task_id" not in told
    assert open_court.all("tasks") == []
    ended = open_court.event(sent.id)
    assert (ended["status"], ended["reason"]) == ("completed", "The king answered it.")
    assert ended["trace_id"] == told["trace_id"]


def test_it_is_told_what_is_done_what_waits_and_what_is_asked(open_court: Court) -> None:
    open_court.soldiers(1)
    king = open_court.king()
    about = {"repo": "acme/api", "payload": {"number": 7, "title": "Log in"}}
    open_court.send(event("1", **about), event("2"))
    king.step()
    open_court.bus.claim("tasks", "gen-pr")
    asked = {"msg_id": "m-1", "question": "Which?", "asked_at": "2026-02-07T09:00:00.000Z"}
    path = Path(open_court.base.path("state", "envoy", "awaiting-responses.json"))
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"task-20260206-001": asked, "task-20260206-002": {}}))
    open_court.clock.advance(3)
    open_court.send(said("3", "지금 뭐해?", "7.1"))
    king.step()
    content = open_court.all("messages")[-1]["content"]
    assert f"At work (1):\n- gen-pr, {TASK}: acme/api#7 Log in" in content
    assert "Waiting to be let in: 1" in content
    assert "(1):\n- task-20260206-001: Which?" in content
    assert content.endswith("All is well.")


@pytest.mark.parametrize(
    ("trouble", "expected", "reason"),
    [
        (lambda court: court.measure("red"), "health: red", "health: red"),
        (
            lambda court: court.measure("green", tokens={"status": "critical"}),
            "critical level",
            "critical level",
        ),
        (lambda court: court.soldiers(1), "All is well.", "All soldiers are at work."),
    ],
)
def test_it_is_answered_also_while_no_work_is_let_in(
    open_court: Court, trouble: Any, expected: str, reason: str
) -> None:
    king = open_court.king()
    open_court.send(event("1"))
    king.step()
    trouble(open_court)
    open_court.clock.advance(3)
    open_court.send(said("2", "what are you doing?", "7.1"), said("3", "fix the build", "7.2"))
    assert king.step() <= 2, "it listens, though such events wake nobody"
    (told,) = [one for one in open_court.all("messages") if one.get("thread_ts") == "7.1"]
    assert expected in told["content"]
    assert files(open_court.base)["events/pending"] == ["evt-test-3"]
    for _ in range(3):
        open_court.clock.advance(3)
        king.step()
        king = open_court.king()
    assert len(open_court.all("messages")) == 3
    (told,) = [one for one in open_court.all("messages") if one.get("thread_ts") == "7.2"]
    assert told["content"].startswith("This was heard, and waits. "), "once, also by later kings"
    assert reason in told["content"]


@pytest.mark.parametrize("text", ["", "<@U9>", "  "], ids=["a mere file", "a mere call", "blank"])
def test_who_says_nothing_is_asked_for_words_and_no_soldier_starts(
    open_court: Court, text: str
) -> None:
    open_court.send(said("1", text, "7.1"))
    open_court.king().step()
    (told,) = open_court.all("messages")
    assert told["content"] == "Please say in words what you would like; I do not read files."
    assert (told["channel"], told["thread_ts"]) == ("C1", "7.1")
    assert open_court.all("tasks") == []


def test_what_goes_on_is_not_told_to_outsiders(open_court: Court) -> None:
    open_court.send(said("1", "status", "7.1").revised(trust="outside"))
    open_court.king().step()
    assert [one["target_general"] for one in open_court.all("tasks")] == ["gen-herald"]


# Work


def test_a_task_from_chat_has_its_thread_under_the_persons_own_message(open_court: Court) -> None:
    king = open_court.king()
    open_court.send(said("1", "Which reviews are open?", "7.1"))
    king.step()
    open_court.report(NeedsHuman(task_id=TASK, summary="", question="Of which repository?"))
    king.step()
    said_so = {"task_id": TASK, "text": "acme/api", "answered_by": "ada"}
    open_court.send(event("2", type="slack.human_response", payload=said_so, priority="high"))
    king.step()
    open_court.report(Success(task_id=NEXT, summary="None is open.", notify_channel="#ops"))
    king.step()
    told = open_court.all("messages")
    own = [one for one in told if one["type"] != "notification"]
    assert {(one["channel"], one["thread_ts"]) for one in own} == {("C1", "7.1")}
    assert [one["type"] for one in own][:2] == ["thread_start", "human_input_request"]
    (notice,) = [one for one in told if one["type"] == "notification"]
    assert (notice["channel"], notice.get("thread_ts")) == ("#ops", None)


def test_what_a_general_answers_is_said_as_it_is(open_court: Court) -> None:
    king = open_court.king()
    open_court.send(said("1", "Which reviews are open?", "7.1"))
    king.step()
    open_court.report(Success(task_id=TASK, summary="None is open."))
    king.step()
    assert open_court.all("messages")[-1]["content"] == "None is open."


def test_a_named_general_gets_it_with_what_the_link_says(open_court: Court) -> None:
    open_court.send(said("1", "gen-pr: see <https://github.com/acme/web/pull/42>", "7.1"))
    open_court.king().step()
    (task,) = open_court.all("tasks")
    assert (task["target_general"], task["repo"]) == ("gen-pr", "acme/web")
    assert (task["type"], task["payload"]["number"]) == ("github.pr.review_requested", 42)
    assert task["event_id"] == "evt-test-1"
    assert open_court.event("evt-test-1")["task_id"] == task["id"]
    assert "acme/web#42 see" in open_court.all("messages")[0]["content"]


def test_a_named_general_that_is_busy_gets_it_later(open_court: Court) -> None:
    open_court.general("gen-pr", "github.pr.*", "max_soldiers: 1\n")
    king = open_court.king()
    open_court.send(event("1"))
    king.step()
    open_court.send(said("2", "gen-pr: look", "7.1"))
    for _ in range(3):
        king.step()
        open_court.clock.advance(11)
    assert len(open_court.all("tasks")) == 1
    assert open_court.state("events", "evt-test-2") == "pending"
    told = [one["data"]["reason"] for one in open_court.told("event.deferred")]
    assert told == ["general_busy: All soldiers of gen-pr are at work (1)."]
    (said_so,) = [one for one in open_court.all("messages") if one.get("thread_ts") == "7.1"]
    assert said_so["content"] == "This was heard, and waits. All soldiers are at work."
    open_court.report(Success(task_id=TASK, summary="ok"))
    king.step()
    open_court.clock.advance(11)
    king.step()
    assert len(open_court.all("tasks")) == 2


def test_where_nobody_hears_people_they_are_told_whom_to_name(court: Court) -> None:
    court.send(said("1", "please fix the build", "7.1"), event("2", type="not.wanted"))
    court.send(said("3", "please fix the build", "7.3").revised(trust="outside"))
    court.king().step()
    (told,) = court.all("messages")
    assert told["content"].endswith("Begin with the name of the one you mean: gen-pr")
    assert (told["channel"], told["thread_ts"]) == ("C1", "7.1")
    assert court.state("events", "evt-test-1") == "completed"


# Passing on


def passed_on(court: Court, route: str, trust: Any = "member", **payload: Any) -> list[Any]:
    king = court.king()
    first = said("1", "please look into the build", "7.1")
    court.send(first.revised(trust=trust, payload=first.payload | payload, trace_id="a" * 32))
    king.step()
    court.report(Success(task_id=TASK, summary="That is for others.", route=route))
    king.step()
    king.step()
    return court.all("tasks")


def test_the_general_that_answers_may_pass_it_on(open_court: Court) -> None:
    _, task = passed_on(open_court, "gen-pr")
    assert (task["target_general"], task["type"]) == ("gen-pr", "slack.app_mention")
    assert task["payload"]["text"] == "please look into the build"
    assert task["payload"]["routed_by"] == TASK
    assert (task["trace_id"], task["trust"]) == ("a" * 32, "member")
    assert (task["event_id"], task["priority"]) == ("evt-test-1", "normal")
    assert "original_task_id" not in task, "it would go on with the other's session"
    told = open_court.all("messages")[-1]
    assert told["content"] == f"That is for others.\ngen-pr takes it up as {NEXT}."
    assert (told["task_id"], told["thread_ts"]) == (NEXT, "7.1")
    assert told["context"] == {"inherits": TASK, "answers": TASK}
    open_court.report(Success(task_id=NEXT, summary="Built."))
    open_court.king().step()
    assert open_court.event("evt-test-1")["status"] == "completed"
    last = open_court.all("messages")[-1]
    assert (last["thread_ts"], last["context"]) == ("7.1", {"final": True})


@pytest.mark.parametrize(
    ("route", "more", "reason"),
    [
        ("gen-nobody", {}, "gen-nobody, which is not installed"),
        ("gen-pr", {"trust": "outside"}, "Only members"),
        ("gen-pr", {"routed_by": "task-20260206-009"}, "passed on once already"),
    ],
)
def test_one_that_may_not_have_it_is_said_in_the_thread(
    open_court: Court, route: str, more: dict[str, Any], reason: str
) -> None:
    assert len(passed_on(open_court, route, **more)) == 1
    told = open_court.all("messages")[-1]
    assert told["content"].startswith("That is for others.\n")
    assert reason in told["content"]
    assert told["context"] == {"final": True}
    assert open_court.event("evt-test-1")["status"] == "completed"


def test_it_is_not_passed_on_to_itself(open_court: Court) -> None:
    assert len(passed_on(open_court, "gen-herald")) == 1
    assert open_court.all("messages")[-1]["content"] == "That is for others."


def test_only_who_hears_people_passes_on(open_court: Court) -> None:
    king = open_court.king()
    open_court.general("gen-test")
    open_court.send(event("1", trust="member", created_at=START))
    king.step()
    open_court.report(Success(task_id=TASK, summary="ok", route="gen-test"))
    king.step()
    assert len(open_court.all("tasks")) == 1
