"""Events become tasks, in one commit each; or wait, with a reason that is told once."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kingdom.king.routing import trace_of
from kingdom.models.event import Event
from kingdom.ops.tracing import trace
from tests.support.court import Court
from tests.support.kingdom import counts, event, files, result

TASK = "task-20260207-001"


def pr(name: str, number: int = 7, **fields: Any) -> Event:
    payload = {"number": number} | fields.pop("payload", {})
    return event(name, repo="acme/api", payload=payload, **fields)


def test_an_event_becomes_a_task_and_a_thread(court: Court) -> None:
    king = court.king()
    asked = event(repo="acme/api", payload={"number": 7}, trust="member", priority="high")
    court.send(asked)
    king.step()
    assert counts(court.base) == {
        "events/dispatched": 1,
        "tasks/pending": 1,
        "messages/pending": 1,
    }
    (task,), (message,) = court.all("tasks"), court.all("messages")
    sent = court.event(asked.id)
    assert (sent["task_id"], sent["status"]) == (task["id"], "dispatched")
    assert task["event_id"] == asked.id
    assert (task["type"], task["target_general"]) == ("github.pr.comment", "gen-pr")
    assert (task["trust"], task["priority"], task["repo"]) == ("member", "high", "acme/api")
    assert (message["type"], message["task_id"]) == ("thread_start", task["id"])
    assert sent["trace_id"] == task["trace_id"] == message["trace_id"] == trace_of(asked)


@pytest.mark.provokes("task.trust_lowered")
def test_why_work_is_trusted_less_is_told(court: Court) -> None:
    king = court.king()
    court.send(event("1", trust="outside", trust_reason="comment of mallory"))
    court.send(event("2", trust="member", trust_reason="nothing"))
    king.step()
    told = [one["data"] for one in court.told("task.trust_lowered")]
    assert told == [{"task_id": TASK, "trust": "outside", "reason": "comment of mallory"}]
    line = f'[king] {TASK} trust_lowered trust=outside reason="comment of mallory"'
    assert line in Path(court.base.path("logs", "tasks.log")).read_text()
    said = [one.text for one in trace(court.base, TASK).moments]
    assert said.count("trust lowered to outside: comment of mallory") == 1
    assert not any(one.startswith("trust_lowered") for one in said)


@pytest.mark.provokes("event.dispatched", "task.created")
def test_what_happened_is_told_with_its_trace(court: Court) -> None:
    king = court.king()
    court.send(event(trace_id="a" * 32))
    king.step()
    assert [one["type"] for one in court.told()] == ["event.dispatched", "task.created"]
    assert {one["trace_id"] for one in court.told()} == {"a" * 32}
    assert court.told("event.dispatched")[0]["data"] == {
        "event_id": "evt-test-1",
        "task_id": TASK,
        "target_general": "gen-pr",
    }
    assert court.told("task.created")[0]["data"] == {
        "task_id": TASK,
        "event_type": "github.pr.comment",
        "target_general": "gen-pr",
        "priority": "normal",
    }
    line = Path(court.base.tasks_log).read_text()
    assert line.startswith(f"[2026-02-07T10:00:00.000Z] [king] {TASK} created general=gen-pr ")


@pytest.mark.provokes("event.discarded")
def test_what_nobody_subscribes_to_is_discarded_at_once(court: Court) -> None:
    court.soldiers(1)
    king = court.king()
    court.send(event("1"), event("2"), event("3", type="jira.ticket.updated"))
    king.step()
    ended = court.event("evt-test-3")
    assert (ended["status"], ended["reason"]) == (
        "completed",
        "No general subscribes to jira.ticket.updated.",
    )
    (told,) = court.told("event.discarded")
    assert told["data"]["event_type"] == "jira.ticket.updated"
    king.step()
    assert len(court.told("event.discarded")) == 1


def test_by_priority_then_age(court: Court) -> None:
    court.soldiers(2)
    king = court.king()
    created = court.clock.now()
    court.send(
        event("low", priority="low", created_at=created - timedelta(hours=3)),
        event("young", created_at=created),
        event("old", created_at=created - timedelta(hours=2)),
        event("high", priority="high", created_at=created),
    )
    king.step()
    assert files(court.base)["events/dispatched"] == ["evt-test-high", "evt-test-old"]


def test_no_more_than_soldiers_and_the_next_when_one_is_free(court: Court) -> None:
    court.soldiers(2)
    king = court.king()
    court.send(*(event(str(one)) for one in range(5)))
    king.step()
    assert counts(court.base)["tasks/pending"] == 2
    king.step()
    assert counts(court.base)["tasks/pending"] == 2
    court.report(result(1))
    king.step()
    assert len(court.all("tasks")) == 3
    again = court.king()  # who was not there when they were made
    again.step()
    assert len(court.all("tasks")) == 3


def test_a_general_s_own_limit_does_not_stop_the_others(court: Court) -> None:
    court.soldiers(9)
    court.general("gen-pr", "github.pr.*", "max_soldiers: 1\n")
    court.general("gen-jira", "jira.ticket.*", "max_soldiers: 2\n")
    king = court.king()
    for number in range(4):
        court.send(event(f"p{number}"), event(f"j{number}", type="jira.ticket.updated"))
    for _ in range(3):
        king.step()
    made = [one["target_general"] for one in court.all("tasks")]
    assert sorted(made) == ["gen-jira", "gen-jira", "gen-pr"]
    reasons = {one["data"]["reason"].partition(":")[0] for one in court.told("event.deferred")}
    assert reasons == {"general_busy"}


def test_what_waits_for_a_general_that_is_gone_needs_no_soldier(court: Court) -> None:
    court.soldiers(1)
    court.general("gen-jira", "jira.ticket.*")
    king = court.king()
    court.send(event("1"))
    king.step()
    shutil.rmtree(court.base.path("config/generals/gen-pr"))
    court.clock.advance(2)
    court.send(event("2", type="jira.ticket.updated"))
    king.step()
    assert [one["target_general"] for one in court.all("tasks")] == ["gen-pr", "gen-jira"]


@pytest.mark.provokes("event.superseded")
def test_of_several_about_one_subject_only_the_newest_is_dispatched(court: Court) -> None:
    court.soldiers(1)
    king = court.king()
    court.send(
        pr("old", payload={"updated_at": "2026-02-07T08:00:00Z"}),
        pr("new", payload={"updated_at": "2026-02-07T09:00:00Z"}),
        pr("mid", payload={"updated_at": "2026-02-07T08:30:00Z"}),
        pr("other", number=8, priority="low"),
    )
    king.step()
    assert files(court.base)["events/dispatched"] == ["evt-test-new"]
    assert files(court.base)["events/completed"] == ["evt-test-mid", "evt-test-old"]
    assert files(court.base)["events/pending"] == ["evt-test-other"]
    assert court.event("evt-test-old")["reason"] == "Superseded by evt-test-new."
    told = {
        one["data"]["event_id"]: one["data"]["superseded_by"]
        for one in court.told("event.superseded")
    }
    assert told == {"evt-test-old": "evt-test-new", "evt-test-mid": "evt-test-new"}
    assert len(court.all("tasks")) == 1


def test_also_when_they_are_taken_together(court: Court) -> None:
    court.soldiers(50)
    king = court.king()
    court.send(*(event(f"warm{one}") for one in range(8)))  # until it takes many at once
    king.step()
    court.send(*(pr(f"{one:02}", created_at=court.clock.now()) for one in range(9)))
    king.step()
    assert [one for one in files(court.base)["events/dispatched"] if "warm" not in one] == [
        "evt-test-08"
    ]
    assert len(court.all("tasks")) == 9


def test_events_of_another_type_or_without_a_subject_are_never_superseded(court: Court) -> None:
    court.soldiers(9)
    king = court.king()
    court.send(
        pr("a"),
        pr("b", type="github.pr.assigned"),
        event("c"),
        event("d"),
        event("e", payload={"number": 7}),
    )
    for _ in range(3):
        king.step()
    assert len(court.all("tasks")) == 5


@pytest.mark.parametrize(
    ("health", "tokens", "dispatched"),
    [
        ("green", "ok", 3),
        ("yellow", "ok", 1),
        ("green", "warning", 1),
        ("orange", "ok", 0),
        ("green", "critical", 0),
    ],
)
def test_health_and_budget_are_heeded(
    court: Court, health: str, tokens: str, dispatched: int
) -> None:
    court.soldiers(9)
    court.measure(health, tokens={"status": tokens})
    king = court.king()
    court.send(*(event(one, priority=one) for one in ("high", "normal", "low")))
    king.step()
    assert len(court.all("tasks")) == dispatched
    assert len(court.told("event.deferred")) == 3 - dispatched


def test_measurements_that_grow_old_close_the_gate_and_new_ones_open_it(court: Court) -> None:
    court.soldiers(9)
    court.measure()
    king = court.king()
    court.clock.advance(121)
    court.send(event("1"))
    king.step()
    assert court.all("tasks") == []
    court.measure()
    court.clock.advance(1)
    king.step()
    assert len(court.all("tasks")) == 1


@pytest.mark.provokes("event.deferred")
def test_without_an_engine_events_wait_and_the_reason_is_told_once(court: Court) -> None:
    os.unlink(court.base.path("programs", "agent"))
    king = court.king()
    court.send(event("1"), event("2"))
    for _ in range(5):
        king.step()
        court.clock.advance(10)
    told = court.told("event.deferred")
    assert sorted(one["data"]["event_id"] for one in told) == ["evt-test-1", "evt-test-2"]
    assert all(one["data"]["reason"].startswith("engine_unavailable: ") for one in told)
    assert {one["trace_id"] for one in told} == {trace_of(event("1")), trace_of(event("2"))}
    again = court.king()
    again.step()
    court.clock.advance(10)
    again.step()
    assert len(court.told("event.deferred")) == 2, "told again after a restart"
    assert counts(court.base) == {"events/pending": 2}


def test_another_reason_is_told_too(court: Court) -> None:
    court.measure("orange")
    king = court.king()
    court.send(event())
    for health in ("orange", "yellow", "orange", "yellow"):
        court.measure(health)
        court.clock.advance(2)
        king.step()
    reasons = [one["data"]["reason"].partition(":")[0] for one in court.told("event.deferred")]
    assert reasons == ["health_orange", "health_yellow"]


def test_what_is_held_back_wakes_nobody(court: Court) -> None:
    court.soldiers(1)
    king = court.king()
    court.send(event("1"), event("2"))
    king.step()
    accept = king.accepts()["events"]
    assert not accept("github.pr.comment", "normal")
    assert accept("kingdom.command", "high")
    assert accept("slack.human_response", "high")
    assert accept("what.nobody.wants", "low")


def test_an_event_put_back_by_an_operator_is_dispatched_anew(court: Court) -> None:
    court.soldiers(9)
    king = court.king()
    court.send(event())
    king.step()
    place = court.base.path("queue", "events")
    os.rename(f"{place}/dispatched/evt-test-1.json", f"{place}/pending/evt-test-1.json")
    king.step()
    assert [one["id"] for one in court.all("tasks")] == [TASK, "task-20260207-002"]
    assert court.event("evt-test-1")["task_id"] == "task-20260207-002"
    court.report(result(1))
    king.step()
    assert court.state("events", "evt-test-1") == "dispatched", "ended by another task's result"
    court.report(result(2))
    king.step()
    assert court.state("events", "evt-test-1") == "completed"


def test_a_long_queue_is_dispatched_in_order_and_each_once(court: Court) -> None:
    court.soldiers(500)
    king = court.king()
    court.send(*(event(f"{one:03}", payload={"n": one}) for one in range(300)))
    for _ in range(5):
        king.step()
    tasks = court.all("tasks")
    assert [one["payload"]["n"] for one in tasks] == list(range(300))
    assert len(court.all("messages")) == 300


def test_ids_are_of_their_day_and_never_given_twice(court: Court) -> None:
    court.soldiers(99)
    for life in range(3):
        king = court.king()
        for turn in range(5):
            court.send(event(f"{life}-{turn}"))
            king.step()
    court.clock.advance(86_400)
    court.send(event("tomorrow"))
    king.step()
    ids = [one["id"] for one in court.all("tasks")]
    assert len(set(ids)) == len(ids) == 16
    assert court.event("evt-test-tomorrow")["task_id"] == "task-20260208-001"
    assert {one["id"][:12] for one in court.all("messages")} == {"msg-20260207", "msg-20260208"}
    assert max(int(id_[-3:]) for id_ in ids) < 40, "a restart skips a few numbers, not many"


def test_the_day_of_an_id_is_that_of_the_kingdom_s_zone(court: Court) -> None:
    court.configure(
        system="timezone: Asia/Seoul\nruntime: {engine: command, command: {argv: [agent]}}\n"
    )
    court.clock.advance(5 * 3600 - 60)
    king = court.king(zone=ZoneInfo("Asia/Seoul"))
    king.step()
    court.clock.advance(120)
    court.send(event())
    king.step()
    assert court.event("evt-test-1")["task_id"] == "task-20260208-001"
