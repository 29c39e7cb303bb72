"""A task on which nobody reported has an end all the same: told once in the log of internal events,
once in its thread, and its file says so."""

from __future__ import annotations

import os
from typing import Any

import pytest

from kingdom.king.daemon import King
from tests.support.court import Court
from tests.support.kingdom import event, files, load, result

TASK = "task-20260207-001"
INTERVAL = 11.0  # more than the king's polling interval


def begun(court: Court) -> King:
    king = court.king()
    court.send(event(trace_id="a" * 32))
    king.step()
    return king


def goes_on(court: Court, king: King | None, *, lives: int = 2) -> None:
    """This king, then others, one after the other."""
    for number in range(lives + 1):
        one = king if number == 0 else court.king()
        for _ in range(3):
            court.clock.advance(INTERVAL)
            if one is not None:
                one.step()


def move(court: Court, source: str, to: str) -> None:
    place = court.base.path("queue", "tasks")
    os.rename(f"{place}/{source}/{TASK}.json", f"{place}/{to}/{TASK}.json")


def ends(court: Court) -> list[dict[str, Any]]:
    types = ("task.completed", "task.failed", "task.cancelled", "task.needs_human")
    return [one for one in court.told() if one["type"] in types]


def closings(court: Court) -> list[str]:
    return [one["content"] for one in court.all("messages") if one["context"].get("final")]


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
@pytest.mark.parametrize("how", ["dropped", "removed", "moved", "result dropped"])
def test_its_end_is_told_once(court: Court, how: str, away: bool) -> None:
    king = begun(court)
    if how == "dropped":
        court.bury(TASK)
    elif how == "removed":
        os.unlink(court.base.path("queue/tasks/pending", f"{TASK}.json"))
    elif how == "moved":
        move(court, "pending", "completed")
    else:
        court.end(TASK)
    goes_on(court, None if away else king)
    (told,) = ends(court)
    assert (told["type"], told["actor"], told["trace_id"]) == ("task.cancelled", "king", "a" * 32)
    assert told["data"] == {"task_id": TASK, "reason": told["data"]["reason"]}
    assert told["data"]["reason"]
    assert court.event("evt-test-1")["status"] == "failed"
    assert len(closings(court)) == (0 if how == "removed" and away else 1)


def test_one_that_was_reported_on_is_told_of_by_its_general_alone(court: Court) -> None:
    king = begun(court)
    court.report(result())
    goes_on(court, king)
    assert ends(court) == []


def test_also_when_its_event_is_closed_once_more(court: Court) -> None:
    king = begun(court)
    court.report(result())
    goes_on(court, king, lives=0)
    place = court.base.path("queue", "events")
    os.rename(f"{place}/completed/evt-test-1.json", f"{place}/dispatched/evt-test-1.json")
    goes_on(court, None)
    assert court.state("events", "evt-test-1") == "completed"
    assert ends(court) == []


def test_one_moved_to_completed_by_hand_gets_its_status_and_a_result(court: Court) -> None:
    king = begun(court)
    move(court, "pending", "completed")
    goes_on(court, king)
    task = load(court.base, "tasks/completed", TASK)
    assert task["status"] == "cancelled"
    (ended,) = court.all("results")
    assert (ended["status"], ended["error_code"]) == ("killed", "dropped")
    assert court.state("results", TASK) == "handled"
    (said,) = closings(court)
    assert "(dropped): A person took it out of the queue." in said
    assert f"kingdom retry {TASK}" in said


@pytest.mark.parametrize("to", ["completed", "dead"])
def test_one_whose_general_still_holds_it_is_left_to_that_one(court: Court, to: str) -> None:
    """It puts it back and ends it; only when its lease is over nobody is left to do so."""
    king = begun(court)
    (claim,) = court.bus.claim("tasks", "gen-pr")
    assert claim.message.delivery.locked_until is not None
    move(court, "in_progress", to)
    left = (claim.message.delivery.locked_until - court.clock.now()).total_seconds()
    for _ in range(int(left / INTERVAL)):
        court.clock.advance(INTERVAL)
        king.step()
    assert (ends(court), closings(court)) == ([], [])
    assert court.state("events", "evt-test-1") == "dispatched"
    goes_on(court, king)
    assert len(ends(court)) == len(closings(court)) == 1
    assert court.event("evt-test-1")["status"] == "failed"
    assert files(court.base)[f"tasks/{to}"] == [TASK]
    assert "locked_by" not in load(court.base, f"tasks/{to}", TASK)["delivery"]
