"""Unanswered questions are brought back to mind, once each, and parked in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.result import NeedsHuman
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.court import Court
from tests.support.envoy import Life, awaiting, console, mappings
from tests.support.full_disk import Refusing
from tests.support.kingdom import event, files, load

TASK = "task-20260207-001"
DAY = 86_400.0
ASKED = {
    "msg_id": "msg-20260207-002",
    "question": "Which branch?",
    "asked_at": "2026-02-07T10:00:00.000Z",
    "channel": "C1",
    "thread_ts": "1.1",
    "trace_id": "a" * 32,
}


def asks(base: BaseDir, **questions: dict[str, Any]) -> None:
    path = Path(base.path("state", "envoy", "awaiting-responses.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({name.replace("_", "-"): one for name, one in questions.items()}))
    fresh.rename(path)


def told(base: BaseDir) -> list[dict[str, Any]]:
    ids = files(base).get("messages/pending", [])
    return [load(base, "messages/pending", id_) for id_ in ids]


def reign(court: Court, steps: int = 2) -> None:
    king = court.king()
    for _ in range(steps):
        king.step()
        court.clock.advance(11)


def show(court: Court) -> None:
    """As the envoy does."""
    from kingdom.bus.port import Move

    claims = court.bus.claim("messages", "envoy", 10)
    court.bus.commit(Move(claim, "sent") for claim in claims)


def sent(base: BaseDir) -> list[dict[str, Any]]:
    ids = files(base).get("messages/sent", [])
    return [load(base, "messages/sent", id_) for id_ in ids]


def test_once_a_day_in_the_thread(court: Court, base: BaseDir) -> None:
    asks(base, task_1=ASKED)
    reign(court)
    court.clock.advance(DAY - 60)
    reign(court)
    assert told(base) == []
    court.clock.advance(60)
    reign(court)
    (first,) = told(base)
    assert first["content"] == (
        "This question has waited for an answer for 1d: Which branch?\n"
        "Reply to it, or use: kingdom answer task-1"
    )
    assert (first["type"], first["task_id"]) == ("thread_update", "task-1")
    assert (first["channel"], first["thread_ts"], first["trace_id"]) == ("C1", "1.1", "a" * 32)
    assert first["context"] == {"reminds": "task-1", "progress": True}
    show(court)
    reign(court, steps=20)
    assert told(base) == []
    court.clock.advance(DAY)
    reign(court)
    assert "for 2d:" in told(base)[0]["content"]


def test_after_three_days_away_it_is_said_once(court: Court, base: BaseDir) -> None:
    asks(base, task_1=ASKED)
    reign(court)
    court.clock.advance(3 * DAY)
    reign(court, steps=5)
    show(court)
    reign(court, steps=5)
    assert (len(sent(base)), told(base)) == (1, [])
    court.clock.advance(DAY - 120)  # 12 seconds past the fourth day
    reign(court, steps=1)
    assert len(told(base)) == 1, "the next one comes a day after the last that was due"


def test_nobody_is_reminded_twice_of_what_was_not_even_shown(court: Court, base: BaseDir) -> None:
    asks(base, task_1=ASKED)
    for _ in range(4):
        court.clock.advance(DAY)
        reign(court)
    assert len(told(base)) == 1


def test_one_without_a_default_is_parked_in_the_end(court: Court, base: BaseDir) -> None:
    asks(base, task_1=ASKED, task_2=ASKED | {"default": "main"})
    court.clock.advance(7 * DAY)
    reign(court)
    found = {one["task_id"]: one for one in told(base)}
    assert found["task-1"]["context"] == {"parks": "task-1", "progress": True}
    assert found["task-1"]["content"].startswith("Nobody answered for 7d")
    assert found["task-2"]["context"] == {"reminds": "task-2", "progress": True}
    show(court)
    court.clock.advance(7 * DAY)
    reign(court)
    assert [one["task_id"] for one in told(base)] == ["task-2"]


def test_a_default_is_named_with_its_time(court: Court, base: BaseDir) -> None:
    asks(base, task_1=ASKED | {"default": "main", "expires_at": "2026-02-10T10:00:00.000Z"})
    court.clock.advance(DAY)
    reign(court)
    assert told(base)[0]["content"].splitlines()[-1] == (
        "If nobody answers by 2026-02-10 10:00:00, it will be: main"
    )


@pytest.mark.parametrize(
    "settled", [{"answered_at": "2026-02-07T11:00:00.000Z"}, {"parked_at": "2026-02-07T11:00:00Z"}]
)
def test_what_is_settled_is_left_alone(
    court: Court, base: BaseDir, settled: dict[str, Any]
) -> None:
    asks(base, task_1=ASKED | settled)
    court.clock.advance(9 * DAY)
    reign(court)
    assert told(base) == []


def test_it_can_be_switched_off(court: Court, base: BaseDir) -> None:
    court.configure(king="questions: {remind_every_seconds: 0, park_after_seconds: 0}\n")
    asks(base, task_1=ASKED)
    court.clock.advance(30 * DAY)
    reign(court)
    assert told(base) == []


@pytest.mark.parametrize(
    "damage", ["", "[]", '{"task-1": 3}', '{"task-1": {"msg_id": "m"}}', '{"task-1": {"at": 1}}']
)
def test_what_is_damaged_costs_nothing(court: Court, base: BaseDir, damage: str) -> None:
    asks(base, task_1=ASKED, task_2={}, task_3={"asked_at": "yesterday"})
    path = Path(base.path("state", "king", "reminded.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(damage)
    court.clock.advance(DAY)
    reign(court)
    assert len(told(base)) == 1


def test_killed_anywhere_it_is_said_once(court: Court, base: BaseDir) -> None:
    def killed(point: int) -> None:
        king = court.king()
        asks(base, **{f"task_{point}": ASKED})
        with observed(Killer(point, after=point % 2 == 0, passing_over=CHANGE_NOTHING)):
            king.step()

    court.clock.advance(DAY)
    for point in range(1, 300):
        lived = in_child(lambda at=point: killed(at)) == 0  # type: ignore[misc]
        assert in_child(lambda: reign(court)) == 0
        assert len([one for one in told(base) if one["task_id"] == f"task-{point}"]) == 1
        if lived:
            return
    raise AssertionError("it never came to its end")


def test_what_the_disk_refused_is_said_later_by_the_same_king(court: Court, base: BaseDir) -> None:
    court.clock.advance(DAY)
    for point in range(1, 40):
        king = court.king()
        king.step()
        court.clock.advance(11)
        asks(base, **{f"task_{point}": ASKED})
        with observed(Refusing(point)):
            try:
                king.step()
            except Exception:  # noqa: BLE001 - as its loop does, whatever was refused
                court.clock.advance(61)
        for _ in range(3):
            king.step()
            court.clock.advance(61)
        assert len([one for one in told(base) if one["task_id"] == f"task-{point}"]) == 1


def test_many_that_are_due_are_told_a_handful_at_a_time(court: Court, base: BaseDir) -> None:
    asks(base, **{f"task_{number:03d}": ASKED for number in range(50)})
    king = court.king()
    court.clock.advance(DAY)
    kept = base.path("state", "king", "reminded.json")
    written: list[str] = []

    def note(name: str, arguments: tuple[Any, ...], call: Any) -> Any:
        if name in ("rename", "replace") and kept in map(str, arguments):
            written.append(name)
        return call()

    with observed(note):
        assert king.step() == 0.0, "there are more"
    assert len(told(base)) == 20
    assert len(written) == 2, "before they are published, and after"
    king.step()
    assert king.step() > 0
    assert len(told(base)) == 50
    assert len({one["task_id"] for one in told(base)}) == 50


# With an envoy on the console


@pytest.fixture
def asked(court: Court, base: BaseDir) -> Iterator[Any]:
    """A king and an envoy, and a question in the console."""
    king = court.king()
    envoy = Life(base, court.clock)
    court.send(event())
    king.step()
    court.report(NeedsHuman(task_id=TASK, summary="", question="Which branch?"))
    king.step()
    envoy.go()
    yield king, envoy
    envoy.end()


def test_a_question_is_reminded_of_then_parked_and_still_taken(
    court: Court, base: BaseDir, asked: Any
) -> None:
    king, envoy = asked
    for _ in range(20):
        court.clock.advance(DAY / 2)
        king.step()
        envoy.go()
    assert console(base).count("waited for an answer") == 6
    assert console(base).count("is parked") == 1
    assert awaiting(base)[TASK]["parked_at"] == "2026-02-14T10:00:00.000Z"
    said = {"task_id": TASK, "text": "main", "answered_by": "ada"}
    court.send(event("2", type="slack.human_response", payload=said, priority="high"))
    king.step()
    envoy.go()
    assert awaiting(base) == {}
    assert TASK not in mappings(base)
    court.clock.advance(11)
    king.step()
    assert json.loads(Path(base.path("state", "king", "reminded.json")).read_text()) == {}


def test_the_envoy_knows_of_it_again_when_its_notes_were_lost(
    court: Court, base: BaseDir, asked: Any
) -> None:
    king, envoy = asked
    court.clock.advance(7 * DAY)
    king.step()
    envoy.go()
    envoy.end()
    before = awaiting(base)
    Path(base.path("state", "envoy", "awaiting-responses.json")).unlink()
    king.step()
    again = Life(base, court.clock)
    again.go()
    again.end()
    assert awaiting(base) == before
    court.clock.advance(DAY)
    king.step()
    assert told(base) == []


@pytest.mark.parametrize("kept", ["asked", "told"])
def test_a_clock_that_was_ahead_silences_no_reminder(
    court: Court, base: BaseDir, kept: str
) -> None:
    """Neither one that noted when it was asked, nor one that noted when it was last told."""
    ahead = "2036-02-07T10:00:00.000Z"
    if kept == "asked":
        asks(base, task_1=ASKED | {"asked_at": ahead})
    else:
        asks(base, task_1=ASKED)
        told_of = {"msg_id": ASKED["msg_id"], "at": ahead, "parked": False}
        path = Path(base.path("state", "king", "reminded.json"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"task-1": told_of | {"told": None, "message": None}}))
    reign(court)
    court.clock.advance(DAY)
    reign(court)
    assert len(told(base)) == 1
