"""What a king finds when it comes, and what has to be true once one was there undisturbed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kingdom.models.event import Event
from kingdom.models.result import Failed, Killed, NeedsHuman, Skipped, Success
from tests.support.court import Court
from tests.support.kingdom import event, files

STEPS = 3
LAST = "last"


def task_id(number: int) -> str:
    return f"task-20260207-{number:03d}"


@dataclass(frozen=True)
class Scenario:
    """What was there, and what has to be true once a king was there undisturbed."""

    prepare: Callable[[Court], None]
    judge: Callable[[Court], None]
    name: str
    number: int


def completed(court: Court) -> list[str]:
    names = files(court.base)["events/completed"]
    return [name for name in names if name != f"evt-test-{LAST}"]


# Dispatch


def waiting_events(court: Court) -> None:
    court.soldiers(20)
    about: dict[str, Any] = {"repo": "acme/api", "payload": {"number": 7}}
    court.send(event("a"), event("b", type="not.wanted"), event("c", priority="low"))
    later = court.clock.now() + timedelta(minutes=1)
    court.send(event("old", **about, priority="high"), event("new", **about, created_at=later))
    court.send(*(event(f"more{one}") for one in range(4)))


def each_event_once(court: Court) -> None:
    found = files(court.base)
    assert completed(court) == ["evt-test-b", "evt-test-old"]
    assert "events/pending" not in found
    tasks, starts = court.all("tasks"), court.all("messages")
    by_event = {one["event_id"]: one["id"] for one in tasks}
    assert len(by_event) == len(tasks) == len(found["events/dispatched"]) == 7
    assert sorted(one["task_id"] for one in starts) == sorted(by_event.values())
    for id_ in found["events/dispatched"]:
        assert court.event(id_)["task_id"] == by_event[id_]


# Results

ENDS: list[Any] = [
    Success(task_id=task_id(1), summary="ok", notify_channel="#ops"),
    Failed(task_id=task_id(2), summary="", error="no", error_code="timed_out"),
    NeedsHuman(task_id=task_id(3), summary="", question="?"),
    Skipped(task_id=task_id(4), summary="", reason="draft"),
    Killed(
        task_id=task_id(5),
        summary="",
        error="no",
        proclamation={"channel": "#all", "message": "Hear!"},
    ),
]


def reported(court: Court) -> None:
    court.soldiers(20)
    king = court.king()
    court.send(*(event(str(one), trust="member") for one in range(1, 6)))
    king.step()
    court.report(*ENDS)


def each_result_once(court: Court) -> None:
    assert len(completed(court)) == 5
    assert all(court.state("results", task_id(one)) == "handled" for one in range(1, 6))
    told: dict[str, list[str]] = {}
    for one in court.all("messages"):
        told.setdefault(one["task_id"], []).append(one["type"])
    assert told == {
        task_id(1): ["thread_start", "notification", "thread_update"],
        task_id(2): ["thread_start", "thread_update"],
        task_id(3): ["thread_start", "human_input_request"],
        task_id(4): ["thread_start", "thread_update"],
        task_id(5): ["thread_start", "notification", "thread_update"],
    }
    statuses = [court.event(f"evt-test-{one}")["status"] for one in range(1, 6)]
    assert statuses == ["completed", "failed", "completed", "completed", "failed"]


# Answers and commands


def answered(court: Court) -> None:
    reported(court)
    court.king().step()
    said = {"task_id": task_id(3), "text": "yes", "answered_by": "ada"}
    for name in ("first", "second"):
        court.send(event(name, type="slack.human_response", payload=said, priority="high"))


def resumed_once(court: Court) -> None:
    resumed = [one for one in court.all("tasks") if one["type"] == "resume"]
    assert len(resumed) == 1
    (question,) = [one for one in court.all("results") if one["status"] == "needs_human"]
    assert question["answered_by"] == resumed[0]["event_id"]
    assert court.state("results", task_id(3)) == "handled"
    states = {court.state("events", f"evt-test-{one}") for one in ("first", "second")}
    assert states == {"dispatched", "completed"}
    updates = [one for one in court.all("messages") if one["context"].get("answers")]
    assert [one["task_id"] for one in updates] == [resumed[0]["id"]]
    questions = [one for one in court.all("messages") if one["type"] == "human_input_request"]
    assert len(questions) == 1, "asked again"
    refused = [one for one in court.all("messages") if "not taken" in one["content"]]
    assert len(refused) == 1


def commanded(court: Court) -> None:
    reported(court)
    king = court.king()
    king.step()
    court.send(event("open"))
    king.step()
    open_one = court.event("evt-test-open")["task_id"]
    for name, payload in {
        "retry": {"command": "retry", "task_id": task_id(2)},
        "cancel": {"command": "cancel", "task_id": open_one},
        "freeze": {"command": "freeze", "task_id": open_one},
        "nonsense": {"command": "dance"},
    }.items():
        court.send(event(name, type="kingdom.command", payload=payload, priority="high"))


def obeyed_once(court: Court) -> None:
    again = [one for one in court.all("tasks") if one.get("original_task_id") == task_id(2)]
    assert len(again) == 1
    assert court.event("evt-test-retry")["task_id"] == again[0]["id"]
    cancelled = court.event("evt-test-open")["task_id"]
    wishes = [f"{cancelled}.cancel", f"{cancelled}.freeze"]
    assert sorted(os.listdir(court.base.control)) == wishes
    for name in ("retry", "cancel", "freeze", "nonsense"):
        assert court.state("events", f"evt-test-{name}") == "completed"
    starts = [one["task_id"] for one in court.all("messages") if one["type"] == "thread_start"]
    assert len(starts) == len(set(starts)) == 7


# Schedules


def two_slots_missed(court: Court) -> None:
    court.soldiers(20)
    line = "schedules: [{name: hourly, cron: 0 * * * *, task_type: test.missing}]\n"
    court.general("gen-test", more=line)
    court.king().step()
    court.clock.advance(2 * 3600)


def each_slot_once(court: Court) -> None:
    tasks, starts = court.all("tasks"), court.all("messages")
    assert [one["event_id"] for one in tasks] == ["schedule-hourly"] * 2
    assert [one["task_id"] for one in starts] == [one["id"] for one in tasks]


# Tasks nobody reports on


def one_dropped(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.bury(task_id(1))


def told_once(court: Court) -> None:
    assert court.event("evt-test-1")["status"] == "failed"
    assert [one["type"] for one in court.all("messages")] == ["thread_start", "thread_update"]


# What people write

HERALD = "slack.channel.message, slack.app_mention"


def said(name: str, text: str, ts: str) -> Event:
    payload = {"text": text, "channel": "C1", "user": "U1", "ts": ts}
    return event(name, type="slack.app_mention", payload=payload, trust="member")


def people_wrote(court: Court) -> None:
    court.soldiers(20)
    court.general("gen-herald", HERALD)
    king = court.king()
    court.send(said("work", "please look into the build", "1.1"))
    king.step()
    court.send(said("hello", "<@U9> hi!", "2.1"), said("named", "gen-pr: look at it", "3.1"))
    court.report(Success(task_id=task_id(1), summary="For gen-pr.", route="gen-pr"))


def each_was_heard_once(court: Court) -> None:
    assert completed(court) == ["evt-test-hello"]
    tasks = {one["id"]: one for one in court.all("tasks")}
    assert sorted(one["target_general"] for one in tasks.values()) == [
        "gen-herald",
        "gen-pr",
        "gen-pr",
    ]
    (passed,) = [one for one in tasks.values() if one["payload"].get("routed_by")]
    assert court.event("evt-test-work")["task_id"] == passed["id"]
    assert court.state("events", "evt-test-work") == "dispatched"
    assert court.state("results", task_id(1)) == "handled"
    told = [(one["type"], one["thread_ts"]) for one in court.all("messages")]
    assert sorted(told) == [
        ("thread_start", "1.1"),
        ("thread_start", "3.1"),
        ("thread_update", "1.1"),
        ("thread_update", "2.1"),
    ]


SCENARIOS = [
    Scenario(waiting_events, each_event_once, "dispatch", 0),
    Scenario(reported, each_result_once, "results", 1),
    Scenario(answered, resumed_once, "answers", 2),
    Scenario(commanded, obeyed_once, "commands", 3),
    Scenario(two_slots_missed, each_slot_once, "schedules", 4),
    Scenario(one_dropped, told_once, "a dead task", 5),
    Scenario(people_wrote, each_was_heard_once, "chat", 6),
]


def reign(court: Court) -> None:
    king = court.king()
    for _ in range(STEPS):
        king.step()
