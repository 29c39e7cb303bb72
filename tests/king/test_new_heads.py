"""A new head of a pull request ends the work on the old one."""

from __future__ import annotations

from typing import Any

import pytest

from kingdom.king.new_heads import is_of_one_head, outdates
from kingdom.models.event import Event
from kingdom.models.result import Killed
from kingdom.models.task import Task
from kingdom.runtime.control import Control
from tests.support.court import Court
from tests.support.kingdom import event, task

REVIEW, FIRST = "github.pr.review_requested", "task-20260207-001"


def of(kind: Any, head: str, minute: int, **fields: Any) -> Any:
    said = fields.pop("payload", {})
    payload = {"number": 7, "head_sha": head, "updated_at": f"2026-02-07T10:{minute:02d}:00Z"}
    values = {"type": REVIEW, "repo": "acme/api", "payload": payload | said}
    return kind(**(values | fields))


def review(name: str, head: str, minute: int, **fields: Any) -> Event:
    made: Event = of(lambda **given: event(name, **given), head, minute, **fields)
    return made


def at_work(head: str, minute: int, **fields: Any) -> Task:
    made: Task = of(task, head, minute, **fields)
    return made


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (at_work("a", 1), True),
        (at_work("b", 1), False),
        (at_work("a", 3), False),
        (at_work("", 1), False),
        (at_work("a", 1, payload={"number": 8}), False),
        (at_work("a", 1, type="github.pr.assigned"), False),
        (at_work("a", 1, payload={"channel": "C1", "ts": "1.0"}), False),
        (at_work("a", 1, original_task_id="task-20260207-009"), False),
    ],
)
def test_only_the_same_wish_for_an_older_version_is_outdated(old: Task, expected: bool) -> None:
    assert (is_of_one_head(old) and outdates(review("new", "b", 2), old)) is expected


def test_a_mention_is_a_person_s_own_wish() -> None:
    assert not is_of_one_head(at_work("a", 1, type="github.pr.mentioned"))


@pytest.mark.parametrize("soldiers", [1, 3])
def test_the_old_one_is_cancelled_also_if_the_new_one_has_to_wait_and_kings_die(
    court: Court, soldiers: int
) -> None:
    court.soldiers(soldiers)
    court.send(review("old", "a", 1))
    court.king().step()
    court.send(review("new", "b", 2))
    control = Control(court.base)
    for _ in range(2):
        control.forget(FIRST)  # as if the king had died before it asked
        court.king().step()
        assert control.named("cancel") == [FIRST]
    assert control.superseded_by(FIRST) == "evt-test-new"
    king = court.king()
    court.report(Killed(task_id=FIRST, summary="-", error="-", error_code="superseded"))
    king.step()
    assert control.named("cancel") == []
    assert court.event("evt-test-new")["status"] == "dispatched"
    (told,) = (one for one in court.all("messages") if one["context"].get("final"))
    assert (told["urgency"], told["reply_context"]["outcome"]) == ("normal", "cancelled")


def test_a_new_head_that_is_not_taken_up_ends_nothing(court: Court) -> None:
    king = court.king()
    court.send(review("old", "a", 1))
    king.step()
    court.soldiers(1)
    court.send(review("new", "b", 2, payload={"by_bot": True}))
    court.clock.advance(2)
    king.step()
    assert Control(court.base).named("cancel") == []
