"""Answers go on with the work; commands steer it. Both are handled at once, and never die."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.event import Event
from kingdom.models.result import NeedsHuman
from tests.support.court import Court
from tests.support.kingdom import START, event, files, result

TASK, NEXT = "task-20260207-001", "task-20260207-002"


def answer(text: str = "Use b.", task: str = TASK, name: str = "1", **payload: Any) -> Event:
    said = {"task_id": task, "text": text, "answered_by": "ada"} | payload
    return Event(
        id=f"evt-slack-response-{task}-{name}",
        type="slack.human_response",
        source="cli",
        payload=said,
        priority="high",
        trust="member",
        created_at=START,
    )


def command(verb: str, name: str = "1", **payload: Any) -> Event:
    return event(
        f"{verb}-{name}",
        type="kingdom.command",
        source="cli",
        payload={"command": verb} | payload,
        priority="high",
    )


def question(task: str = TASK) -> NeedsHuman:
    return NeedsHuman(task_id=task, summary="", question="Which?", options=["a", "b"])


@pytest.fixture
def asked(court: Court) -> Any:
    """A king with an open question."""
    king = court.king()
    court.send(event(repo="acme/api", payload={"number": 7}, trust="fork", trace_id="a" * 32))
    king.step()
    court.report(question())
    king.step()
    return king


@pytest.mark.parametrize(
    ("id_", "trust", "place"),
    [
        ("evt-inbox-1", "outside", ("", None)),
        ("evt-inbox-1", "member", ("C0OTHER", "7.1")),
        ("evt-slack-msg-1", "outside", ("C0OTHER", "7.1")),
    ],
)
def test_less_trusted_work_names_no_place_after_an_answer_either(
    court: Court, id_: str, trust: str, place: tuple[str, str | None]
) -> None:
    king = court.king()
    named = event(payload={"channel": "C0OTHER", "ts": "7.1", "number": 7}, trust=trust)
    court.send(named.revised(id=id_))
    king.step()
    court.report(question())
    king.step()
    court.send(answer())
    king.step()
    assert court.all("tasks")[1]["payload"]["original"]["number"] == 7
    said = {(one["channel"], one.get("thread_ts")) for one in court.all("messages")}
    assert said == {place}


def ended(court: Court, sent: Event) -> tuple[str, str]:
    """How the king left it."""
    found = court.event(sent.id)
    assert court.state("events", sent.id) == "completed"
    return found["status"], found["reason"]


# Answers


@pytest.mark.provokes("task.resumed")
def test_an_answer_goes_on_with_the_work(court: Court, asked: Any) -> None:
    sent = answer()
    court.send(sent)
    asked.step()
    task = court.all("tasks")[1]
    assert (task["id"], task["type"], task["original_task_id"]) == (NEXT, "resume", TASK)
    assert (task["target_general"], task["repo"], task["trust"]) == ("gen-pr", "acme/api", "fork")
    assert (task["event_id"], task["priority"], task["trace_id"]) == (sent.id, "high", "a" * 32)
    assert task["payload"] == {
        "answer": "Use b.",
        "answered_by": "ada",
        "question": "Which?",
        "original": {"number": 7},
    }
    assert court.state("events", sent.id) == "dispatched"
    assert court.event(sent.id)["task_id"] == NEXT
    (raw,) = court.all("results")
    assert raw["answered_by"] == sent.id
    assert court.state("results", TASK) == "handled"
    told = court.all("messages")[-1]
    assert (told["type"], told["task_id"]) == ("thread_update", NEXT)
    assert told["context"] == {"inherits": TASK, "answers": TASK}
    assert "ada answered: Use b." in told["content"]
    assert court.told("task.resumed")[0]["data"] == {"task_id": NEXT, "original_task_id": TASK}
    court.report(result(2))
    asked.step()
    assert court.state("events", sent.id) == "completed"
    assert court.all("messages")[-1]["context"] == {"final": True}


def test_the_second_answer_is_refused_in_the_thread(court: Court, asked: Any) -> None:
    first, second = answer(name="1"), answer("No, a.", name="2")
    court.send(first, second)
    asked.step()
    assert ended(court, second) == ("failed", f"The question of {TASK} was answered already.")
    assert len(court.all("tasks")) == 2
    assert court.all("results")[0]["answered_by"] == first.id
    told = court.all("messages")[-1]
    assert told["task_id"] == NEXT, "the thread belongs to the task that went on"
    assert told["content"].startswith("The answer was not taken: ")
    assert told["context"] == {}


def test_answers_are_taken_while_no_work_is_let_in(court: Court, asked: Any) -> None:
    court.measure("red")
    court.soldiers(1)
    court.clock.advance(2)
    court.send(answer())
    asked.step()
    assert len(court.all("tasks")) == 2


@pytest.mark.parametrize(
    ("sent", "reason", "told"),
    [
        (answer(task="task-20260101-001"), "No task task-20260101-001 is known.", False),
        (answer(text="  "), "The answer has no text.", False),
        (answer(task_id="../x"), "'../x' is not a task's id.", False),
        (answer(task_id=None), "None is not a task's id.", False),
    ],
)
def test_an_answer_to_nothing_is_refused_and_never_dies(
    court: Court, asked: Any, sent: Event, reason: str, told: bool
) -> None:
    before = len(court.all("messages"))
    court.send(sent)
    asked.step()
    assert ended(court, sent) == ("failed", reason)
    assert len(court.all("messages")) == before + told


def test_an_answer_to_a_task_that_asked_nothing_is_told_in_its_thread(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.send(sent := answer())
    king.step()
    assert ended(court, sent) == ("failed", f"{TASK} asked no question.")
    assert court.all("messages")[-1]["task_id"] == TASK


def test_an_answer_for_a_general_that_is_gone_leaves_the_question_open(
    court: Court, asked: Any
) -> None:
    os.rename(court.base.path("config/generals/gen-pr"), court.base.path("aside"))
    court.clock.advance(2)
    court.send(first := answer(name="1"))
    asked.step()
    assert ended(court, first)[0] == "failed"
    os.rename(court.base.path("aside"), court.base.path("config/generals/gen-pr"))
    court.clock.advance(2)
    court.send(answer(name="2"))
    asked.step()
    assert len(court.all("tasks")) == 2


def test_a_second_question_keeps_the_payload_it_all_began_with(court: Court, asked: Any) -> None:
    court.send(answer())
    asked.step()
    court.report(question(NEXT))
    asked.step()
    court.send(answer("Yes.", task=NEXT))
    asked.step()
    third = court.all("tasks")[2]
    assert third["original_task_id"] == NEXT
    assert third["payload"]["original"] == {"number": 7}
    assert third["payload"]["answer"] == "Yes."


# Commands


def test_cancel_asks_for_it_in_a_file(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.send(sent := command("cancel", task_id=TASK))
    king.step()
    assert ended(court, sent) == ("completed", f"{TASK} is being cancelled.")
    content = json.loads(Path(court.base.control, f"{TASK}.cancel").read_text())
    assert content == {"by": sent.id, "at": "2026-02-07T10:00:00.000Z"}


def test_what_has_ended_cannot_be_cancelled(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(result())
    court.send(sent := command("cancel", task_id=TASK))
    king.step()
    assert ended(court, sent) == ("failed", f"{TASK} has ended already (completed).")
    assert not os.path.exists(court.base.control) or os.listdir(court.base.control) == []


def test_a_frozen_kingdom_admits_nothing_until_it_is_thawed(court: Court) -> None:
    king = court.king()
    court.send(sent := command("freeze"), event())
    king.step()
    assert ended(court, sent) == ("completed", "The kingdom is frozen.")
    assert os.listdir(court.base.control) == ["all.freeze"]
    assert court.all("tasks") == []
    assert court.told("event.deferred")[0]["data"]["reason"] == "frozen: The kingdom is frozen."
    again = court.king()
    again.step()
    assert court.all("tasks") == [], "frozen over a restart"
    court.send(twice := command("freeze", "2"))
    again.step()
    assert ended(court, twice) == ("completed", "The kingdom was frozen already.")
    court.send(thaw := command("thaw"))
    again.step()
    assert ended(court, thaw) == ("completed", "The kingdom is thawed.")
    assert os.listdir(court.base.control) == []
    assert len(court.all("tasks")) == 1
    court.send(more := command("thaw", "2"))
    again.step()
    assert ended(court, more) == ("completed", "The kingdom was not frozen.")


def test_one_task_is_frozen_and_thawed_by_itself(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.send(freeze := command("freeze", task_id=TASK))
    king.step()
    assert ended(court, freeze) == ("completed", f"{TASK} is frozen.")
    assert os.listdir(court.base.control) == [f"{TASK}.freeze"]
    court.send(thaw_all := command("thaw"), again := command("freeze", "2", task_id=TASK))
    king.step()
    assert ended(court, thaw_all)[1].endswith(f"Still frozen by itself: {TASK}.")
    assert ended(court, again) == ("completed", f"{TASK} was frozen already.")
    court.send(thaw := command("thaw", "2", task_id=TASK))
    king.step()
    assert ended(court, thaw) == ("completed", f"{TASK} is thawed.")
    court.send(event("2"))
    king.step()
    assert len(court.all("tasks")) == 2, "the others go on"


def test_retry_makes_a_new_task_of_an_old_one(court: Court) -> None:
    king = court.king()
    court.send(event(repo="acme/api", payload={"number": 7}, trust="fork", trace_id="a" * 32))
    king.step()
    court.report(result())
    court.send(sent := command("retry", task_id=TASK, fresh=True))
    king.step()
    assert ended(court, sent) == ("completed", f"{NEXT} tries {TASK} again.")
    assert court.event(sent.id)["task_id"] == NEXT
    task = court.all("tasks")[1]
    assert (task["original_task_id"], task["fresh"], task["event_id"]) == (TASK, True, "evt-test-1")
    assert (task["type"], task["payload"]) == ("github.pr.comment", {"number": 7})
    assert (task["repo"], task["trust"], task["trace_id"]) == ("acme/api", "fork", "a" * 32)
    start = court.all("messages")[-1]
    assert (start["type"], start["task_id"], start["context"]) == ("thread_start", NEXT, {})
    court.report(result(2))
    king.step()
    assert court.state("results", NEXT) == "handled"
    assert court.all("messages")[-1]["task_id"] == NEXT
    assert court.event("evt-test-1")["status"] == "completed"


@pytest.mark.parametrize("limit", ["king", "general"])
def test_a_retry_is_not_overtaken_by_all_the_work_that_waits_for_a_soldier(
    court: Court, limit: str
) -> None:
    if limit == "king":
        court.soldiers(1)
    else:
        court.general("gen-pr", "github.pr.*", "max_soldiers: 1\n")
    king = court.king()
    court.send(event())
    king.step()
    court.report(result())
    king.step()
    court.send(*(event(str(number)) for number in range(2, 9)))
    king.step()
    court.send(command("retry", task_id=TASK))
    for number in range(2, 5):
        king.step()
        court.clock.advance(3)
        court.measure()
        court.report(result(number))
    king.step()
    again = [one for one in court.all("tasks") if one.get("original_task_id") == TASK]
    assert [one["id"] for one in again] == ["task-20260207-003"]


def test_a_retry_waits_at_the_gate_like_any_new_work(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(result())
    court.measure("red")
    court.send(sent := command("retry", task_id=TASK))
    for _ in range(3):
        court.clock.advance(11)
        court.measure("red")
        king.step()
    assert len(court.all("tasks")) == 1
    waiting = court.event(sent.id)["delivery"]
    assert court.state("events", sent.id) == "pending"
    assert waiting["last_error_message"] == "Health is red: no work is let in."
    assert not waiting.get("attempt_count")
    (told,) = court.told("event.deferred")
    assert told["data"]["reason"] == "health_red: Health is red: no work is let in."
    court.measure("yellow")
    court.clock.advance(11)
    king.step()
    assert ended(court, sent) == ("completed", f"{NEXT} tries {TASK} again.")
    assert len(court.all("tasks")) == 2, "a command is urgent"


def test_retry_of_what_asked_closes_the_question(court: Court, asked: Any) -> None:
    court.send(sent := command("retry", task_id=TASK))
    asked.step()
    assert court.all("results")[0]["answered_by"] == sent.id
    assert court.all("messages")[-1]["context"] == {"answers": TASK}
    assert "fresh" not in court.all("tasks")[1]
    court.send(late := answer())
    asked.step()
    assert ended(court, late)[0] == "failed"
    assert court.all("messages")[-1]["task_id"] == NEXT


def test_a_fresh_retry_of_a_task_that_went_on_begins_at_the_beginning(
    court: Court, asked: Any
) -> None:
    court.send(answer())
    asked.step()
    court.report(result(2))
    asked.step()
    court.send(command("retry", "1", task_id=NEXT))
    asked.step()
    court.report(result(3))
    court.send(command("retry", "2", task_id=NEXT, fresh=True))
    asked.step()
    _, _, goes_on, fresh = court.all("tasks")
    assert (goes_on["type"], goes_on["payload"]["answer"]) == ("resume", "Use b.")
    assert (fresh["type"], fresh["payload"]) == ("github.pr.comment", {"number": 7})


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (
            {"command": "dance"},
            "'dance' is not a command; known: cancel, freeze, thaw, retry, release.",
        ),
        ({}, "None is not a command; known: cancel, freeze, thaw, retry, release."),
        ({"command": "retry"}, "retry needs a task_id."),
        ({"command": "cancel", "task_id": "task-20260101-001"},
         "No task task-20260101-001 is known."),
        ({"command": "freeze", "task_id": "a/../b"}, "'a/../b' is not a task's id."),
        ({"command": "retry", "task_id": TASK},
         f"{TASK} has not ended yet; stop it with: kingdom cancel {TASK}"),
    ],
)  # fmt: skip
def test_a_bad_command_is_completed_with_the_reason_and_never_dies(
    court: Court, payload: dict[str, Any], reason: str
) -> None:
    king = court.king()
    court.send(event())
    king.step()
    sent = event("bad", type="kingdom.command", payload=payload)
    court.send(sent)
    king.step()
    assert ended(court, sent) == ("failed", reason)
    assert "events/dead" not in files(court.base)


def test_a_workflow_command_is_completed_with_the_reason(court: Court) -> None:
    king = court.king()
    court.send(sent := event(type="workflow.command"))
    king.step()
    assert ended(court, sent) == ("failed", "This version does not know workflow.command.")


def test_wishes_for_tasks_that_ended_meanwhile_are_forgotten_at_a_start(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    os.makedirs(court.base.control, exist_ok=True)
    for name in (f"{TASK}.freeze", "task-20260101-001.cancel", "all.freeze"):
        Path(court.base.control, name).write_text("{}")
    court.king()
    assert sorted(os.listdir(court.base.control)) == ["all.freeze", f"{TASK}.freeze"]
