"""Taking only some of what is due, and looking without taking."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from datetime import timedelta
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New
from kingdom.models.event import Event
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock, event, result, task

COMMAND = "kingdom.command"
COMMENT = "github.pr.comment"


def commands_only(kind: str, priority: str) -> bool:
    return kind == COMMAND


def not_low(kind: str, priority: str) -> bool:
    return priority != "low"


def nothing(kind: str, priority: str) -> bool:
    return False


def ids(bus: FileBus, limit: int = 10, **options: Any) -> list[str]:
    return [claim.id for claim in bus.claim("events", "king", limit, **options)]


def test_what_is_not_accepted_stays_and_what_is_comes_in_order(bus: FileBus) -> None:
    later = event().created_at + timedelta(seconds=5)
    bus.publish("events", event("low", priority="low"))
    bus.publish("events", event("second", created_at=later))
    bus.publish("events", event("first"))
    bus.publish("events", event("do", type=COMMAND, priority="high", created_at=later))
    assert ids(bus, accept=nothing) == []
    assert ids(bus, accept=commands_only) == ["evt-test-do"]
    assert ids(bus, accept=not_low) == ["evt-test-first", "evt-test-second"]
    assert ids(bus) == ["evt-test-low"]


def test_age_decides_between_types_of_one_priority(bus: FileBus) -> None:
    start = event().created_at
    for number in range(6):
        kind = ("github.pr.comment", "github.issue.comment")[number % 2]
        moment = start + timedelta(seconds=10 - number)
        bus.publish("events", event(str(number), type=kind, created_at=moment))
    assert ids(bus) == [f"evt-test-{number}" for number in reversed(range(6))]


def test_what_is_not_accepted_wakes_nobody(bus: FileBus, clock: MovableClock) -> None:
    bus.publish("events", event("1"))
    assert bus.wait(["events"], 0) == {"events"}
    assert bus.wait(["events"], 0, accepts={"events": commands_only}) == set()
    bus.publish("events", event("2", type=COMMAND))
    assert bus.wait(["events"], 0, accepts={"events": commands_only}) == {"events"}


def test_a_descriptor_wakes_as_well(base: BaseDir) -> None:
    reading, writing = os.pipe()
    with closing(FileBus(base)) as bus:
        threading.Timer(0.05, os.write, (writing, b".")).start()
        began = time.monotonic()
        assert bus.wait(["events"], 30, also=[reading]) == set()
        assert time.monotonic() - began < 20
    os.close(reading)
    os.close(writing)


def test_what_is_held_back_is_named_with_type_and_priority(
    bus: FileBus, clock: MovableClock
) -> None:
    bus.publish("events", event("1"), event("2", type=COMMAND, priority="high"))
    bus.publish("events", event("3", priority="low"))
    assert sorted(bus.held_back("events", commands_only)) == [
        ("evt-test-1", COMMENT, "normal"),
        ("evt-test-3", COMMENT, "low"),
    ]
    (claim,) = bus.claim("events", "king", ids=["evt-test-1"])
    assert [one for one, _, _ in bus.held_back("events", commands_only)] == ["evt-test-3"]
    bus.defer(claim, clock.now() + timedelta(seconds=9), "later")
    assert [one for one, _, _ in bus.held_back("events", commands_only)] == ["evt-test-3"]


def about(name: str, number: int | None = 7, **fields: Any) -> Event:
    payload = {"number": number} if number else {}
    return event(name, **({"repo": "acme/web", "payload": payload} | fields))


def test_events_of_one_type_about_one_subject_are_alike(bus: FileBus) -> None:
    bus.publish("events", *[about(name) for name in "abc"])
    bus.publish("events", about("other", 8), about("kind", type="github.pr.assigned"))
    bus.publish("events", about("away", repo="acme/api"), about("none", None))
    (claim,) = bus.claim("events", "king", ids=["evt-test-b"])
    assert sorted(bus.alike(claim)) == ["evt-test-a", "evt-test-c"]
    (held,) = bus.claim("events", "king", ids=["evt-test-a"])
    assert bus.alike(claim) == ["evt-test-c"]
    bus.commit([Move(held, "completed")])
    (last,) = bus.claim("events", "king", ids=["evt-test-c"])
    bus.commit([Move(last, "completed")])
    assert bus.alike(claim) == []
    (without,) = bus.claim("events", "king", ids=["evt-test-none"])
    assert bus.alike(without) == []


def test_a_ticket_is_a_subject_too(bus: FileBus) -> None:
    for name in "ab":
        bus.publish("events", event(name, type="jira.ticket.updated", payload={"key": "QP-1"}))
    (claim,) = bus.claim("events", "king", ids=["evt-test-a"])
    assert bus.alike(claim) == ["evt-test-b"]


def test_looking_takes_nothing_and_tells_the_state(bus: FileBus) -> None:
    bus.publish("tasks", task(1), task(2))
    bus.publish("results", result(3))
    (claim,) = bus.claim("tasks", "gen-pr", ids=["task-20260207-001"])
    bus.commit([Move(claim, "completed", status="failed")])
    state, found = bus.look("tasks", "task-20260207-001") or ("", None)
    assert (state, found and found.status) == ("completed", "failed")
    assert bus.look("tasks", "task-20260207-009") is None
    assert [one.id for one in bus.waiting("tasks")] == ["task-20260207-002"]
    (done,) = bus.claim("results", "king")
    assert [one.id for one in bus.waiting("results")] == ["task-20260207-003"]
    bus.commit([Move(done, "handled")], [New("events", event())])
    assert (bus.look("results", "task-20260207-003") or ("",))[0] == "handled"
    assert bus.waiting("results") == []


def test_looking_passes_over_what_cannot_be_read(bus: FileBus, base: BaseDir) -> None:
    bus.publish("tasks", task(1))
    with open(base.path("queue", "tasks", "pending", "task-20260207-002.json"), "w") as file:
        file.write("{")
    assert [one.id for one in bus.waiting("tasks")] == ["task-20260207-001"]
    assert bus.look("tasks", "task-20260207-002") is None


def test_a_general_waits_only_for_its_own(base: BaseDir) -> None:
    with closing(FileBus(base, general="gen-test")) as bus:
        bus.publish("tasks", task(1), task(2, target_general="gen-test"))
        assert [one.id for one in bus.waiting("tasks")] == ["task-20260207-002"]
