"""Whatever others wrote where the king looks: it comes up, goes on, and says what it set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingdom.king.dispatch import Dispatch
from kingdom.king.petitions import Petitions
from kingdom.king.reports import Reports
from kingdom.models.result import NeedsHuman
from kingdom.runtime.config import General
from tests.support.court import Court
from tests.support.kingdom import event, files, load, result, task

OLD = "2026-02-01T10:00:00.000Z"
ASKING = "task-20260207-051"
TROUBLE = {"state": "trouble", "since": OLD, "code": "c", "sentence": "s", "alarming": True}
MESSAGE = {"id": "msg-20260207-500", "content": "c", "urgency": "high"}
QUESTION = {"msg_id": "msg-20260207-400", "question": "Q?", "asked_at": OLD, "channel": "c"}
REMINDED = {"msg_id": "m", "at": OLD, "parked": False, "told": None, "message": None}

FILES: dict[str, list[Any]] = {
    "sentinel/watchers.json": [
        {"github": TROUBLE | {"sentence": "a\ud800"}},
        {"github": TROUBLE | {"remedy": 7.5}},
        {"\ud800": TROUBLE | {"code": {"a": []}}},
    ],
    "king/watchers-told.json": [
        {"github": {"codes": {}, "is_open": True, "message": MESSAGE | {"id": "\ud800"}}},
        {"github": {"codes": {}, "is_open": True, "message": MESSAGE | {"content": 7}}},
    ],
    "envoy/awaiting-responses.json": [
        {ASKING: QUESTION | {"default": "a", "expires_at": "9999-12-31T23:59:59Z"}},
        {ASKING: QUESTION | {"question": "\ud800", "thread_ts": "\ud800", "trace_id": "\ud800"}},
    ],
    "king/reminded.json": [{"\ud800": REMINDED}, {ASKING: REMINDED | {"message": {"id": 7}}}],
    "king/schedule-sent.json": [
        {"daily": {"cron": "0 * * * *", "slot": OLD, "task_id": "a b", "msg_id": "c",
                   "published": False}},
        {"daily": {"cron": "0 * * * *", "slot": "0001-01-01T00:00:00+14:00"}},
    ],
    "engines/command.json": [
        {"code": "c", "reason": "r", "since": "0001-01-01T00:00:00+14:00", "until": OLD,
         "failures": 1},
        '{"code": "c", "reason": "r", "since": "", "until": "", "failures": 1e999}',
    ],
    "resources.json": ['{"health": "green", "updated_at": 1e999}', '{"health": NaN}'],
}  # fmt: skip
CASES = [(name, content) for name, contents in FILES.items() for content in contents]


@pytest.mark.parametrize(("name", "content"), CASES, ids=lambda value: ascii(value)[:40])
def test_a_king_comes_up_and_takes_what_comes(court: Court, name: str, content: Any) -> None:
    engine = "runtime: {engine: command, command: {argv: [agent]}}"
    court.configure(system=f"timezone: Asia/Seoul\n{engine}\n")
    court.general("gen-daily", more="schedules: [{name: daily, cron: '0 * * * *', task_type: a}]\n")
    court.soldiers(50)
    court.bus.publish("tasks", task(51))
    court.report(NeedsHuman(task_id=ASKING, summary="", question="Q?"))
    path = Path(court.base.path("state", name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    for life in range(2):
        king = court.king()
        court.send(event(f"command-{life}", type="kingdom.command", payload={"command": "thaw"}))
        for _ in range(2):
            king.step()
            court.clock.advance(4000)
        assert court.state("events", f"evt-test-command-{life}") == "completed"


BAD = "evt-test-bad"


class StumblingDispatch(Dispatch):
    def _whose(self, event: Any) -> tuple[General | None, Any]:
        if event.id == BAD:
            raise ValueError("\ud800")
        return super()._whose(event)


class StumblingPetitions(Petitions):
    def _handle(self, claim: Any) -> None:
        if claim.id == BAD:
            raise ValueError
        super()._handle(claim)


class StumblingReports(Reports):
    def _handle(self, claim: Any) -> None:
        if claim.id == "task-20260207-001":
            raise ValueError
        super()._handle(claim)


def events(court: Court) -> None:
    court.send(event("bad"), event("good"))


def commands(court: Court) -> None:
    freeze = {"type": "kingdom.command", "payload": {"command": "thaw"}, "priority": "high"}
    court.send(event("bad", **freeze), event("good", **freeze))


def results(court: Court) -> None:
    court.send(event("bad"), event("good"))
    court.king().step()
    court.report(result(1), result(2))


@pytest.mark.breaks
@pytest.mark.provokes("queue.buried")
@pytest.mark.parametrize(
    ("part", "kind", "prepare", "dead"),
    [
        ("_dispatch", StumblingDispatch, events, f"events/{BAD}"),
        ("_petitions", StumblingPetitions, commands, f"events/{BAD}"),
        ("_reports", StumblingReports, results, "results/task-20260207-001"),
    ],
)
def test_what_cannot_be_handled_is_tried_a_few_times_and_ends_in_dead(
    court: Court, part: str, kind: type, prepare: Callable[[Court], None], dead: str
) -> None:
    prepare(court)
    king = court.king()
    getattr(king, part).__class__ = kind
    for _ in range(8):
        king.step()
        court.clock.advance(100)
    stream, _, id_ = dead.partition("/")
    found = court.bus.look(stream, id_)
    assert found is not None
    assert found[0] == "dead"
    assert found[1].delivery.last_error_code == "handling_failed"
    assert found[1].delivery.attempt_count == 5
    good = court.state("events", "evt-test-good")
    assert good == ("dispatched" if part == "_dispatch" else "completed")
    told = [one["data"] for one in court.told("queue.buried")]
    assert [(one["stream"], one["id"]) for one in told] == [(stream, id_)]
    if stream == "results":  # nobody will ever report on it, so its event ends
        assert court.event(BAD)["status"] == "failed"


def test_unreadable_events_among_those_dispatched_are_set_aside_once(court: Court) -> None:
    king = court.king()
    place = Path(court.base.path("queue/events/dispatched"))
    (place / "evt-bad.json").write_text("{half")
    (place / "no id.json").write_text("{}")
    (place / "evt-test-alone.json").write_bytes(event("alone", status="dispatched").to_json())
    court.clock.set_wall(court.clock.now().replace(year=2100))  # they have lain there for long
    for _ in range(3):
        king.step()
        court.clock.advance(11)
    assert files(court.base)["events/dead"] == ["evt-bad", "no id"]
    alone = load(court.base, "events/completed", "evt-test-alone")
    assert alone["status"] == "failed", "it has no task"
    assert len(court.told("queue.buried")) == 2
