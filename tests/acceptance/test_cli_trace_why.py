"""Trace and why, for anything that has an id, whatever is left of it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, Problem
from kingdom.errors import NotFound
from kingdom.models.message import ThreadUpdate
from kingdom.models.result import Failed, Killed
from kingdom.ops.init import init
from kingdom.ops.tracing import trace
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import claim_and_die, kingdom, one_sentence
from tests.support.envoy import publish, question
from tests.support.journey import ANSWER, EVENT, EVERY_ID, FIRST, SECOND, SOLDIERS, TRACE, Journey
from tests.support.kingdom import START, MovableClock, drop, event, message, task


@pytest.fixture
def ready(base: BaseDir) -> BaseDir:
    init(base)
    local = Path(base.config, "local", "system.yaml")
    local.write_text("runtime:\n  engine: rehearsal\n")
    return base


@pytest.fixture
def travelled(ready: BaseDir, clock: MovableClock) -> BaseDir:
    Journey(ready, clock).play()
    return ready


def story(base: BaseDir, id_: str) -> list[dict[str, str]]:
    said = kingdom("trace", id_, "--json", base=base)
    assert said.code == 0, said
    moments: list[dict[str, str]] = json.loads(said.out)["moments"]
    return moments


def reasons(base: BaseDir, id_: str) -> list[str]:
    said = kingdom("why", id_, "--json", base=base)
    assert said.code == 0, said
    return [one["sentence"] for told in json.loads(said.out) for one in told["reasons"]]


# Trace


def test_the_whole_story_in_order(travelled: BaseDir) -> None:
    told = [(one["kind"], one["about"]) for one in story(travelled, EVENT)]
    assert told == [
        ("event.detected", EVENT),
        ("event.dispatched", EVENT),
        ("task.created", FIRST),
        ("message.sent", "msg-20260207-001"),
        ("task.started", FIRST),
        ("soldier.spawned", SOLDIERS[0]),
        ("task.needs_human", FIRST),
        ("soldier.completed", SOLDIERS[0]),
        ("event.completed", EVENT),
        ("task_log:reported", FIRST),
        ("message.sent", "msg-20260207-002"),
        ("event.detected", ANSWER),
        ("event.dispatched", ANSWER),
        ("task.created", SECOND),
        ("task.resumed", SECOND),
        ("message.sent", "msg-20260207-003"),
        ("task.started", SECOND),
        ("soldier.spawned", SOLDIERS[1]),
        ("task.completed", SECOND),
        ("soldier.completed", SOLDIERS[1]),
        ("event.completed", ANSWER),
        ("result.handled", SECOND),
        ("message.sent", "msg-20260207-004"),
    ]


@pytest.mark.parametrize("id_", EVERY_ID)
def test_every_id_leads_to_the_same_story(travelled: BaseDir, id_: str) -> None:
    assert story(travelled, id_) == story(travelled, EVENT)


def test_as_people_read_it(travelled: BaseDir) -> None:
    said = kingdom("trace", f"tasks/{FIRST}", base=travelled)
    first, second, *_ = said.lines
    assert first.split() == ["TIME", "AFTER", "WHO", "ABOUT", "WHAT"]
    assert second.split()[:4] == ["2026-02-07T10:00:00.000Z", "+0.00s", "github", EVENT]
    assert "asks: Merge it?" in said.out
    assert "ended: success, Merged." in said.out


def test_what_has_not_ended_is_pointed_at(ready: BaseDir) -> None:
    publish(ready, event("1"), stream="events")
    said = kingdom("trace", "evt-test-1", base=ready)
    assert said.lines[-1] == "evt-test-1 lies in events/pending now: kingdom why evt-test-1"


PARTS = {
    "events": "queue/events/completed",
    "tasks": "queue/tasks/completed",
    "messages": "queue/messages/sent",
    "results": "state/results",
    "events log": "logs/events.log",
    "tasks log": "logs/tasks.log",
}


def test_half_of_the_files_pruned(travelled: BaseDir) -> None:
    """Whatever is left still tells, in order and nothing twice."""
    attic = Path(travelled.root, "attic")
    attic.mkdir()
    for part in PARTS:
        put_aside(travelled, part, attic)
    known: dict[int, set[str]] = {}
    for count in range(1, len(PARTS) + 1):
        for left in itertools.combinations(PARTS, count):
            for part in left:
                os.rename(attic / part, travelled.path(PARTS[part]))
            known.setdefault(count, set()).update(id_ for id_ in EVERY_ID if tells(travelled, id_))
            for part in left:
                put_aside(travelled, part, attic)
    assert known[1] == known[len(PARTS)] == set(EVERY_ID), "some part knows each"


def put_aside(base: BaseDir, part: str, attic: Path) -> None:
    os.rename(base.path(PARTS[part]), attic / part)


def tells(base: BaseDir, id_: str) -> bool:
    try:
        told = trace(base, id_).moments
    except NotFound:
        return False
    assert told == sorted(told, key=lambda one: one.at)
    assert len({(one.kind, one.about) for one in told}) == len(told)
    return True


@pytest.mark.parametrize("left", PARTS)
def test_why_knows_what_is_left(travelled: BaseDir, left: str) -> None:
    for name, path in PARTS.items():
        target = Path(travelled.path(path))
        if name != left:
            target.unlink() if target.is_file() else shutil.rmtree(target)
    for id_ in EVERY_ID:
        said = kingdom("why", id_, base=travelled)
        assert said.code == 0 or said.err.startswith(f"kingdom: Nothing is known of {id_}"), said


def test_of_what_only_the_logs_remember(travelled: BaseDir) -> None:
    for name in ("events", "tasks", "messages", "results"):
        shutil.rmtree(travelled.path(PARTS[name]))
    gone, last = reasons(travelled, EVENT)
    assert gone == "Its file is no longer kept."
    assert "became task-20260207-001 for gen-pr" in last


@pytest.mark.parametrize("command", ["trace", "why"])
@pytest.mark.parametrize("id_", ["evt-nobody", "soldier-1-1", "b" * 32, "-x", "", "a\x1b[2J"])
def test_what_nobody_knows_is_one_sentence(travelled: BaseDir, command: str, id_: str) -> None:
    said = kingdom(command, "--", id_, base=travelled)
    assert one_sentence(said, 1).startswith("Nothing is known of")


@pytest.mark.parametrize("command", ["trace", "why"])
def test_a_path_is_no_id(travelled: BaseDir, command: str) -> None:
    said = kingdom(command, "../../etc/passwd", base=travelled)
    assert one_sentence(said, 2).startswith("'../../etc' is not a stream.")


@pytest.mark.parametrize("command", ["trace", "why"])
def test_a_slip_of_the_keyboard_is_put_right(travelled: BaseDir, command: str) -> None:
    assert "Did you mean: evt-github-1" in one_sentence(
        kingdom(command, "evt-githb-1", base=travelled), 1
    )


@pytest.mark.parametrize("command", ["trace", "why"])
def test_garbage_in_logs_and_queues_costs_only_itself(travelled: BaseDir, command: str) -> None:
    whole = kingdom(command, EVENT, base=travelled).out
    names = (EVENT, FIRST, SOLDIERS[0])
    with open(travelled.events_log, "ab") as log:
        for name in names:
            for value in ("7", '"x"', "null", "[]", '{"data": 7}', '{"task_id": []}'):
                log.write(f'{{"ts": {value}, "data": {value}, "x": "{name}"}}\n'.encode())
            log.write(
                f'{{"ts": "x", "actor": 1, "type": [], "data": {{"task_id": "{name}"\n'.encode()
            )
            log.write(b"\xff\xfe" + name.encode() + b"\n")
    with open(travelled.tasks_log, "ab") as log:
        log.write(f"{FIRST}\n[x] [y] {FIRST}\n[[[ {FIRST} ]]]".encode())
    drop(travelled, "messages/pending", "msg-20260207-077.json", f'{{"task_id": "{FIRST}"')
    drop(travelled, "messages/pending", "msg-20260207-078.json", "[" * 100_000)
    assert kingdom(command, EVENT, base=travelled).out == whole


HOSTILE: list[Any] = [7, None, [], {}, [{"x": 1}], "\x1b[2J", "2026-13-77", "x" * 5000]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:10])
def test_files_of_any_form_are_taken_as_they_are(ready: BaseDir, value: Any) -> None:
    keys = ("type", "payload", "created_at", "delivery", "context", "metrics", "task_id", "status",
            "event_id", "target_general", "content", "trace_id", "answered_by", "question",
            "retry_count", "not_before", "error", "error_code", "reason", "priority")  # fmt: skip
    content = json.dumps(dict.fromkeys(keys, value))
    for stream in ("events", "tasks", "messages"):
        for state in ("pending", "completed", "sent", "in_progress", "dispatched", "dead"):
            place = Path(ready.path("queue", stream, state))
            if place.is_dir():
                (place / f"x-{stream}-{state}.json").write_text(content)
    Path(ready.path("state/results/task-20260207-009.json")).write_text(content)
    Path(ready.sessions_file).write_text(json.dumps([value, {"id": value, "task_id": value}]))
    ids = [path.stem for path in Path(ready.queue).rglob("x-*.json")]
    for id_ in (*ids, "task-20260207-009"):
        for command in ("trace", "why"):
            said = kingdom(command, id_, base=ready)
            assert said.code in (0, 1), said
            assert "bug" not in said.err
            assert "\x1b" not in said.out + said.err


# Why not yet


class Running:
    """Someone who sits on the seats of these roles."""

    def __init__(self, base: BaseDir, *names: str) -> None:
        self.seats = [Seat(base, name) for name in names]

    def __enter__(self) -> None:
        self.locks = [seat.take() for seat in self.seats]

    def __exit__(self, *_: object) -> None:
        for seat, lock in zip(self.seats, self.locks, strict=True):
            seat.leave()
            lock.close()


def waiting(base: BaseDir, name: str = "1", **fields: Any) -> str:
    one = event(name, **({"type": "github.pr.review_requested", "repo": "a/b"} | fields))
    publish(base, one, stream="events")
    return one.id


def test_the_king_is_not_running(ready: BaseDir) -> None:
    said = kingdom("why", waiting(ready), base=ready)
    assert said.lines == [
        "evt-test-1  (events/pending)",
        "  The king is not running.",
        "    Start it with: kingdom start",
    ]


def test_nothing_holds_it_back(ready: BaseDir) -> None:
    id_ = waiting(ready)
    with Running(ready, "king"):
        assert reasons(ready, id_) == ["Nothing holds it back: it goes to gen-pr next."]


def test_no_engine(ready: BaseDir) -> None:
    Path(ready.config, "local", "system.yaml").write_text(
        "runtime:\n  engine: command\n  command: {argv: [no-such-program]}\n"
    )
    with Running(ready, "king"):
        (told,) = reasons(ready, waiting(ready))
    assert "no-such-program" in told


@pytest.mark.parametrize(
    ("health", "tokens", "told"),
    [
        ("yellow", "ok", "Health is yellow: only urgent work is let in."),
        ("red", "ok", "Health is red: no work is let in."),
        ("green", "critical", "The day's budget is at its critical level: no work is let in."),
    ],
)
def test_health_and_budget(ready: BaseDir, health: str, tokens: str, told: str) -> None:
    from kingdom.clock import SystemClock, isoformat

    now = isoformat(SystemClock().now())
    measured = {"health": health, "tokens": {"status": tokens}, "updated_at": now}
    Path(ready.resources_file).write_text(json.dumps(measured))
    with Running(ready, "king"):
        assert reasons(ready, waiting(ready)) == [told]


def test_all_soldiers_are_at_work(ready: BaseDir) -> None:
    publish(ready, *(task(number) for number in range(1, 4)), stream="tasks")
    with Running(ready, "king"):
        assert reasons(ready, waiting(ready)) == ["All soldiers are at work (3)."]


def test_frozen(ready: BaseDir) -> None:
    id_ = waiting(ready)
    publish(ready, task(1), task(2), stream="tasks")
    control = Control(ready)
    control.ask("freeze", "task-20260207-001", by="x", at=START)
    with Running(ready, "king", "gen-pr"):
        assert "It is frozen." in reasons(ready, "task-20260207-001")
        assert "It is frozen." not in reasons(ready, "task-20260207-002")
        control.ask("freeze", EVERYTHING, by="x", at=START)
        assert reasons(ready, id_) == ["The kingdom is frozen."]
        assert "The kingdom is frozen." in reasons(ready, "task-20260207-002")


def test_nobody_subscribes(ready: BaseDir) -> None:
    (told,) = reasons_while_king_runs(ready, waiting(ready, type="made.up"))
    assert told == "No general subscribes to made.up: the king will discard it."


def reasons_while_king_runs(base: BaseDir, id_: str) -> list[str]:
    with Running(base, "king", "gen-pr", "envoy"):
        return reasons(base, id_)


def test_others_come_before_it(ready: BaseDir) -> None:
    last = waiting(ready, "low", priority="low")
    waiting(ready, "high", priority="high")
    waiting(ready, "normal")
    told, next_ = reasons_while_king_runs(ready, last)
    assert told == "2 come before it, by priority, then age: evt-test-high, evt-test-normal."
    assert next_ == "Nothing holds it back: it goes to gen-pr next."


def test_a_command_waits_for_nothing_but_the_king(ready: BaseDir) -> None:
    id_ = waiting(ready, type="kingdom.command")
    assert reasons_while_king_runs(ready, id_) == [
        "The king handles it itself, as soon as it looks."
    ]


def test_a_wrong_configuration_is_named(ready: BaseDir) -> None:
    Path(ready.config, "king.yaml").write_text("pollng: 1\n")
    (told,) = reasons_while_king_runs(ready, waiting(ready))
    assert told.startswith("The configuration is wrong: ")
    assert "pollng" in told


def test_held_by_whom_and_tried_how_often(ready: BaseDir) -> None:
    id_ = waiting(ready)
    bus = FileBus(ready)
    (claim,) = bus.claim("events", "king", ids=[id_])
    held = reasons_while_king_runs(ready, id_)
    assert f"The king (pid {os.getpid()}) is at it just now." in held
    bus.retry(claim, Problem("network", "The line went dead."))
    bus.close()
    told = reasons_while_king_runs(ready, id_)[0]
    assert told.startswith("It was tried once without success. The line went dead.")


def test_its_worker_died(ready: BaseDir) -> None:
    id_ = waiting(ready)
    claim_and_die(ready, "events", "king", id_)
    told = reasons_while_king_runs(ready, id_)
    assert "The king died while it had it; it is taken up again." in told


def test_a_task_waits(ready: BaseDir) -> None:
    publish(ready, task(1, not_before="2099-01-01T00:00:00Z", retry_count=2), stream="tasks")
    told = reasons(ready, "task-20260207-001")
    assert told[0] == "It was made for gen-pr because of evt-test-1 (github.pr.comment)."
    assert "gen-pr is not running." in told
    assert any(
        one.startswith("It was tried 2 times without success. It is due again in") for one in told
    )


def test_a_task_of_a_general_that_is_gone(ready: BaseDir) -> None:
    publish(ready, task(1, target_general="gen-gone"), stream="tasks")
    assert "gen-gone is not installed, so nobody takes it up." in reasons(
        ready, "task-20260207-001"
    )


def test_a_task_at_work(ready: BaseDir) -> None:
    publish(ready, task(1, event_id="schedule-nightly"), stream="tasks")
    claim_and_die(ready, "tasks", "gen-pr", "task-20260207-001")
    pending = Path(ready.path("queue/tasks/pending/task-20260207-001.json"))
    if pending.exists():  # a claim by name leaves it where it lies
        pending.rename(ready.path("queue/tasks/in_progress/task-20260207-001.json"))
    soldier = {
        "id": SOLDIERS[0],
        "task_id": "task-20260207-001",
        "general": "gen-pr",
        "attempt": 2,
        "started_at": "2026-02-07T10:00:00Z",
    }
    Path(ready.sessions_file).write_text(json.dumps([soldier]))
    told = reasons_while_king_runs(ready, "task-20260207-001")
    assert told[0] == "It was made for gen-pr by its schedule nightly."
    assert told[-1].startswith(f"{SOLDIERS[0]} has been at it for ")
    assert "(attempt 2)" in told[-1]
    assert f"It was set to work on {soldier['task_id']}." in reasons(ready, SOLDIERS[0])
    told = reasons(ready, "task-20260207-001")
    assert "gen-pr is not running, and neither is a soldier of it." in told[-1]
    assert "at it" not in told[-1]


def test_a_failed_task_has_a_code_that_is_explained(ready: BaseDir) -> None:
    publish(ready, task(1), stream="tasks")
    bus = FileBus(ready)
    (claim,) = bus.claim("tasks", "gen-pr", ids=["task-20260207-001"])
    bus.commit([Move(claim, "completed", status="failed")])
    bus.publish(
        "results",
        Failed(
            task_id="task-20260207-001",
            summary="",
            error="exit 1",
            error_code="soldier_crashed",
            metrics={"soldier_id": SOLDIERS[0]},
        ),
    )
    bus.close()
    said = kingdom("why", "task-20260207-001", base=ready)
    assert "It ended: failed. exit 1." in said.out
    assert "The soldier's program ended with an error and left no result." in said.out
    assert f"kingdom logs {SOLDIERS[0]}." in said.out


def test_an_open_question_and_an_answered_one(travelled: BaseDir) -> None:
    assert reasons(travelled, FIRST) == [
        f"It was made for gen-pr because of {EVENT} (github.pr.review_requested).",
        "It asked: Merge it? It was answered: yes.",
        f"{SECOND} goes on with that.",
        "It ended: success. Merged.",
    ]
    path = Path(travelled.path(f"state/results/{FIRST}.json"))
    content = json.loads(path.read_text())
    del content["answered_by"]
    path.write_text(json.dumps(content))
    said = kingdom("why", EVENT, base=travelled)
    assert f'Answer it with: kingdom answer {FIRST} "..."' in said.out


@pytest.mark.parametrize(
    ("type_", "payload", "settled", "goes_on"),
    [
        (
            "kingdom.command",
            {"command": "retry", "task_id": FIRST},
            f"Nobody answered it: it was tried again ({ANSWER}).",
            "tries it again",
        ),
        (
            "slack.human_response",
            {"text": " "},
            f"It was answered ({ANSWER}).",
            "goes on with that",
        ),
        ("slack.human_response", {}, f"It was answered ({ANSWER}).", "goes on with that"),
    ],
)
def test_a_question_without_the_words_of_an_answer(
    travelled: BaseDir, type_: str, payload: dict[str, str], settled: str, goes_on: str
) -> None:
    path = Path(travelled.path(f"queue/events/completed/{ANSWER}.json"))
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"type": type_, "payload": payload}))
    assert reasons(travelled, FIRST)[1:3] == [
        f"It asked: Merge it? {settled}",
        f"{SECOND} {goes_on}.",
    ]
    path.unlink()
    assert reasons(travelled, FIRST)[1] == f"It asked: Merge it? It was answered ({ANSWER})."


@pytest.mark.parametrize("kept", [True, False])
def test_a_cancelled_task_says_once_that_a_person_did_it(ready: BaseDir, kept: bool) -> None:
    said = "A person cancelled it."
    publish(ready, task(1), stream="tasks")
    bus = FileBus(ready)
    (claim,) = bus.claim("tasks", "gen-pr", ids=[FIRST])
    bus.commit([Move(claim, "completed", status="cancelled")])
    if kept:
        killed = Killed(task_id=FIRST, summary=said, error=said, error_code="cancelled")
        bus.publish("results", killed)
    bus.close()
    shown = kingdom("why", FIRST, base=ready).out
    assert shown.count(said) == 1, shown
    assert f"Start it again with: kingdom retry {FIRST}." in shown


def test_a_discarded_event_has_its_reason(ready: BaseDir) -> None:
    id_ = waiting(ready, type="made.up")
    bus = FileBus(ready)
    (claim,) = bus.claim("events", "king", ids=[id_])
    bus.commit([Move(claim, "completed", fields={"reason": "Nobody wants it"})])
    bus.close()
    assert reasons(ready, id_) == ["Nobody wants it."]


def test_what_is_dead_says_why_and_how_to_bring_it_back(ready: BaseDir) -> None:
    id_ = waiting(ready)
    bus = FileBus(ready)
    (claim,) = bus.claim("events", "king", ids=[id_])
    bus.bury(claim, Problem("poison", "It kills"))
    bus.close()
    said = kingdom("why", id_, base=ready)
    assert "It was given up: It kills." in said.out
    assert f"kingdom queue retry {id_}" in said.out
    assert "given up: It kills" in kingdom("trace", id_, base=ready).out


def test_messages(ready: BaseDir) -> None:
    publish(ready, message(1, task_id=FIRST), question(2, task_id=FIRST))
    with Running(ready, "envoy"):
        assert reasons(ready, "msg-20260207-001") == [
            f"It is about {FIRST}.",
            "Nothing holds it back: it is shown next.",
        ]
        told = reasons(ready, "msg-20260207-002")
    assert told[-1] == "msg-20260207-001 of the same task has to be shown before it."
    assert "The envoy is not running." in reasons(ready, "msg-20260207-001")


def test_a_trace_id_tells_of_all_that_has_not_ended(ready: BaseDir) -> None:
    publish(ready, event("1", trace_id=TRACE), stream="events")
    publish(ready, task(1, trace_id=TRACE), stream="tasks")
    told = json.loads(kingdom("why", TRACE, "--json", base=ready).out)
    assert {one["id"] for one in told} == {"evt-test-1", "task-20260207-001"}


def test_a_trace_id_of_what_has_ended_tells_of_its_beginning(travelled: BaseDir) -> None:
    (told,) = json.loads(kingdom("why", TRACE, "--json", base=travelled).out)
    assert told["id"] == EVENT


# Logs


def test_rotated_logs_tell_their_part(ready: BaseDir, clock: MovableClock) -> None:
    log = InternalLog(ready, "king", clock)
    for number, name in enumerate(["events-20260205.log", "events.log.old", "events.log"]):
        log.emit(
            "event.deferred", {"event_id": "evt-a", "event_type": "x.y", "reason": str(number)}
        )
        if name != "events.log":
            Path(ready.events_log).rename(ready.path("logs", name))
        clock.advance(1)
    told = [one["text"] for one in story(ready, "evt-a")]
    assert told == ["has to wait: 0", "has to wait: 1", "has to wait: 2"]


def test_two_schedules_are_two_stories(ready: BaseDir) -> None:
    publish(
        ready,
        task(1, event_id="schedule-nightly", trace_id="x1"),
        task(2, event_id="schedule-nightly", trace_id="x2"),
        stream="tasks",
    )
    assert {one["about"] for one in story(ready, "task-20260207-001")} == {"task-20260207-001"}


def test_ids_are_completed(travelled: BaseDir) -> None:
    for command in ("trace", "why"):
        said = kingdom("complete", "--", command, "msg-20260207-00", cwd=travelled.root)
        assert len(said.lines) == 4
    Path(travelled.sessions_file).write_text(
        json.dumps([{"id": SOLDIERS[0], "task_id": FIRST, "general": "gen-pr"}])
    )
    with Running(travelled, "gen-pr"):
        said = kingdom("complete", "--", "why", "soldier-", cwd=travelled.root)
    assert said.lines == [f"{SOLDIERS[0]}\tat {FIRST}"]


def test_an_update_without_a_task_is_a_story_of_its_own(ready: BaseDir) -> None:
    alone = ThreadUpdate(id="msg-20260207-009", content="hello", created_at=START)
    publish(ready, alone)
    assert [one["kind"] for one in story(ready, alone.id)] == ["message.waits"]
