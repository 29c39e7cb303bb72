"""Results end their events and become messages, each once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.port import Problem
from kingdom.models.base import Record
from kingdom.models.result import Failed, Killed, NeedsHuman, Skipped, Success
from tests.support.court import Court
from tests.support.kingdom import START, counts, event, result

TASK = "task-20260207-001"
KINDS: list[tuple[Record, str, str, str]] = [
    (Success(task_id=TASK, summary="Done well."), "completed", "thread_update", "normal"),
    (Skipped(task_id=TASK, summary="", reason="A draft."), "completed", "thread_update", "normal"),
    (Failed(task_id=TASK, summary="", error="No.", error_code="timed_out"), "failed",
     "thread_update", "high"),
    (Killed(task_id=TASK, summary="", error="No.", error_code="cancelled"), "failed",
     "thread_update", "normal"),  # who asked for it need not be alarmed
    (Killed(task_id=TASK, summary="", error="No.", error_code="soldier_killed"), "failed",
     "thread_update", "high"),
    (NeedsHuman(task_id=TASK, summary="", question="Which?", options=["a", "b"], default="a"),
     "completed", "human_input_request", "high"),
]  # fmt: skip
each_kind = pytest.mark.parametrize(
    ("ended", "event_status", "kind", "urgency"), KINDS, ids=lambda one: getattr(one, "status", "")
)


@each_kind
def test_each_kind_of_result_is_handled_once(
    court: Court, ended: Record, event_status: str, kind: str, urgency: str
) -> None:
    king = court.king()
    court.send(event(trace_id="a" * 32))
    king.step()
    court.report(ended)
    king.step()
    assert court.event("evt-test-1")["status"] == event_status
    assert court.state("events", "evt-test-1") == "completed"
    start, message = court.all("messages")
    assert (message["type"], message["urgency"]) == (kind, urgency)
    assert (message["task_id"], message["trace_id"]) == (TASK, "a" * 32)
    assert message["context"] == ({} if kind == "human_input_request" else {"final": True})
    assert start["context"] == {}
    for again in (king, court.king()):
        again.step()
        court.clock.advance(61)
        again.step()
    assert len(court.all("messages")) == 2


def test_a_question_carries_what_an_answer_needs(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(KINDS[-1][0])
    king.step()
    asked = court.all("messages")[1]
    assert (asked["content"], asked["options"], asked["default"]) == ("Which?", ["a", "b"], "a")
    assert asked["expires_at"] == "2026-02-10T10:00:00.000Z"
    assert asked["reply_context"] == {"task_id": TASK, "outcome": "waiting"}


def test_proclamations_and_notices_go_to_their_channels_before_the_thread_closes(
    court: Court,
) -> None:
    king = court.king()
    court.send(event(trust="member"))
    king.step()
    court.report(
        result(notify_channel="#ops", proclamation={"channel": "#all", "message": "Hear!"})
    )
    king.step()
    _, *told = court.all("messages")
    assert [(one["type"], one["channel"]) for one in told] == [
        ("notification", "#all"),
        ("notification", "#ops"),
        ("thread_update", ""),
    ]
    assert [one["context"] for one in told] == [{}, {}, {"final": True}]
    assert {one["task_id"] for one in told} == {TASK}


@pytest.mark.parametrize("trust", [None, "outside", "fork", "bot"])
def test_work_of_less_trusted_people_chooses_no_channel(court: Court, trust: str | None) -> None:
    court.configure(king="bots: {start_work: ['*']}\n")
    king = court.king()
    court.send(event(trust=trust))
    king.step()
    court.report(
        result(notify_channel="#ops", proclamation={"channel": "#all", "message": "Hear!"})
    )
    king.step()
    _, *told = court.all("messages")
    assert [(one["type"], one["channel"]) for one in told] == [("thread_update", "")]
    assert f"came from less trusted people ({trust or 'outside'})." in told[0]["content"]
    assert "channels_ignored" in Path(court.base.path("logs", "tasks.log")).read_text()


def test_people_are_spoken_to_in_the_language_of_the_kingdom(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.configure(system="language: ko\nruntime: {engine: command, command: {argv: [agent]}}\n")
    court.clock.advance(2)
    court.report(result())
    king.step()
    english, korean = court.all("messages")
    assert english["content"].startswith("gen-pr takes up")
    assert korean["content"].startswith("완료했습니다.")


@pytest.mark.parametrize("where", ["completed", "dead", "gone"])
def test_an_event_an_operator_moved_does_not_stop_the_result(court: Court, where: str) -> None:
    king = court.king()
    court.send(event())
    king.step()
    place = court.base.path("queue", "events")
    if where == "gone":
        os.unlink(f"{place}/dispatched/evt-test-1.json")
    else:
        os.rename(f"{place}/dispatched/evt-test-1.json", f"{place}/{where}/evt-test-1.json")
    court.report(result())
    king.step()
    assert court.state("results", TASK) == "handled"
    assert [one["type"] for one in court.all("messages")] == ["thread_start", "thread_update"]
    assert court.state("events", "evt-test-1") == ("" if where == "gone" else where)


def test_an_event_in_an_operator_s_hands_delays_the_result_and_loses_nothing(
    court: Court,
) -> None:
    king = court.king()
    court.send(event())
    king.step()
    (held,) = court.bus.claim("events", "operator", ids=["evt-test-1"])
    court.report(result())
    king.step()
    assert court.state("results", TASK) == "pending"
    assert len(court.all("messages")) == 1
    court.bus.bury(held, Problem("dropped", "An operator dropped it."))
    court.clock.advance(1)
    king.step()
    assert court.state("results", TASK) == "handled"
    assert len(court.all("messages")) == 2


def test_a_result_of_no_task_is_put_away(court: Court) -> None:
    king = court.king()
    court.bus.publish("results", result(77))
    king.step()
    assert court.state("results", "task-20260207-077") == "handled"
    assert court.all("messages") == []
    assert "result.unknown_task" in Path(court.base.system_log).read_text()


def test_what_was_asked_about_a_task_is_forgotten_when_it_ended(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.send(command("cancel", TASK), command("freeze", TASK))
    king.step()
    assert len(os.listdir(court.base.control)) == 2
    court.report(Killed(task_id=TASK, summary="", error="x", error_code="cancelled"))
    king.step()
    assert os.listdir(court.base.control) == []


def command(verb: str, task_id: str | None = None) -> Any:
    payload = {"command": verb} | ({"task_id": task_id} if task_id else {})
    return event(f"{verb}-{task_id}", type="kingdom.command", payload=payload, priority="high")


# Tasks nobody reports on


def test_a_dead_task_completes_its_event_as_failed_with_a_message(court: Court) -> None:
    court.soldiers(1)
    king = court.king()
    court.send(event("1"), event("2"))
    king.step()
    court.bury(TASK)
    court.clock.advance(10)
    king.step()
    ended = court.event("evt-test-1")
    assert (court.state("events", "evt-test-1"), ended["status"]) == ("completed", "failed")
    last = [one for one in court.all("messages") if one["task_id"] == TASK][-1]
    assert (last["type"], last["urgency"]) == ("thread_update", "high")
    assert last["context"] == {"final": True}
    assert "(dropped)" in last["content"]
    assert f"kingdom retry {TASK}" in last["content"]
    assert len(court.all("tasks")) == 2, "its soldier is free again"
    told = len(court.all("messages"))
    for again in (king, court.king()):
        court.clock.advance(10)
        again.step()
    assert len(court.all("messages")) == told


def test_also_one_that_died_while_the_king_was_away(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.bury(TASK)
    again = court.king()
    again.step()
    assert court.event("evt-test-1")["status"] == "failed"
    assert len(court.all("messages")) == 2


def test_a_task_whose_file_was_removed_does_not_hang_its_event(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    os.unlink(court.base.path("queue/tasks/pending", f"{TASK}.json"))
    for _ in range(2):
        court.clock.advance(10)
        king.step()
    assert court.event("evt-test-1")["status"] == "failed"


def test_also_when_the_king_was_away(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    os.unlink(court.base.path("queue/tasks/pending", f"{TASK}.json"))
    court.king()
    ended = court.event("evt-test-1")
    assert (ended["status"], ended["reason"]) == ("failed", f"Its task {TASK} is gone.")


def test_a_task_that_ended_without_a_result_does_not_hang_its_event(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.end(TASK)
    court.clock.advance(10)
    king.step()
    assert court.state("events", "evt-test-1") == "dispatched", "its result may be on its way"
    court.clock.advance(10)
    king.step()
    assert court.event("evt-test-1")["status"] == "failed"


def test_a_result_dropped_by_an_operator_does_not_hang_its_event(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(result())
    (claim,) = court.bus.claim("results", "operator", ids=[TASK])
    court.bus.bury(claim, Problem("dropped", "An operator dropped it."))
    for _ in range(3):
        king.step()
        court.clock.advance(10)
    assert court.event("evt-test-1")["status"] == "failed"


def test_a_dead_task_put_back_reports_as_any_other(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.bury(TASK)
    court.clock.advance(10)
    king.step()
    place = court.base.path("queue", "tasks")
    os.rename(f"{place}/dead/{TASK}.json", f"{place}/pending/{TASK}.json")
    court.report(result())
    king.step()
    assert court.state("results", TASK) == "handled"
    assert court.all("messages")[-1]["content"] == "Done. done"


def test_a_long_life_leaves_nothing_outstanding(court: Court) -> None:
    king = court.king()
    for number in range(1, 8):
        court.send(event(str(number), created_at=START))
        king.step()
        court.report(result(number))
        king.step()
    assert counts(court.base) == {
        "events/completed": 7,
        "tasks/completed": 7,
        "messages/pending": 14,
        "results": 7,
    }
