"""People are told of what the outbound gate holds, and reminded until they decide."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kingdom.bus.port import Problem
from kingdom.king.daemon import King
from kingdom.models.result import NeedsHuman
from kingdom.runtime import held_actions
from kingdom.runtime.held_actions import Held, HeldActions
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.court import Court, court_in
from tests.support.kingdom import event, message, result

INTERVAL = 11.0
DAY = 86_400.0
MSG, TASK, NEXT = "msg-20260207-009", "task-20260207-001", "task-20260207-002"
HELD = HeldActions(
    TASK,
    "soldier-1",
    (Held("comment:1", "A GitHub token in body.", "abc"),),
    [{"do": "comment", "body": "x"}],
    {},
    "f" * 32,
)


def hold(court: Court) -> None:
    court.bus.publish("messages", message(9, task_id=TASK, content="the secret"))
    (claim,) = court.bus.claim("messages", "envoy", ids=[MSG])
    court.bus.hold(claim, Problem("outbound_held", "A GitHub token in content."))


def notices(court: Court) -> list[dict[str, Any]]:
    return [one for one in court.all("messages") if one["context"].get("held")]


def look(court: Court, king: King, seconds: float = INTERVAL) -> None:
    court.clock.advance(seconds)
    king.step()


def test_a_held_message_is_told_of_once_and_then_every_day_until_it_is_decided(
    court: Court,
) -> None:
    king = court.king()
    hold(court)
    look(court, king)
    look(court, king)
    look(court, court.king())
    (told,) = notices(court)
    assert (told["type"], told["task_id"], told["urgency"]) == ("notification", TASK, "high")
    assert told["content"] == (
        f"{MSG} was not sent, since it may hold a secret. A GitHub token in content.\n"
        f"Look at it: kingdom queue show {MSG}\nSend it as it is: kingdom release {MSG}\n"
        f"Never send it: kingdom queue drop {MSG}"
    )
    king = court.king()
    look(court, king, DAY)
    _, again = notices(court)
    assert again["content"].startswith("Nobody has decided for ")
    (claim,) = court.bus.claim("messages", "operator", ids=[MSG])
    court.bus.bury(claim, Problem("dropped", "An operator dropped it."))
    look(court, king, DAY)
    look(court, king, DAY)
    assert len(notices(court)) == 2


def test_a_king_that_was_killed_at_any_point_tells_of_it_once(court: Court) -> None:
    hold(court)
    court.close()

    def one_step(point: int) -> None:
        with court_in(court.base, court.clock) as mine:
            made = mine.king()
            with observed(Killer(point, after=True, passing_over=CHANGE_NOTHING)):
                look(mine, made)

    kills = sum(in_child(partial(one_step, point)) != 0 for point in range(1, 60, 3))
    assert kills > 3
    with court_in(court.base, court.clock) as mine:
        look(mine, mine.king())
        assert len(notices(mine)) == 1


@pytest.fixture
def done(court: Court) -> King:
    """A king whose task ended with actions that are held."""
    king = court.king()
    court.send(event(repo="acme/api", payload={"number": 7}, trust="fork", trace_id="f" * 32))
    king.step()
    court.report(result(held=["comment: A GitHub token in body."]))
    king.step()
    held_actions.write(court.base, HELD, court.clock.now())
    return king


def command(**payload: Any) -> Any:
    return event("cmd", type="kingdom.command", payload=payload, trust="member")


@pytest.mark.provokes("task.actions_released")
def test_held_actions_are_told_of_and_released_as_a_task_of_their_general(
    court: Court, done: King
) -> None:
    look(court, done)
    (told,) = notices(court)
    assert "comment: A GitHub token in body." in told["content"]
    assert f"kingdom release {TASK}" in told["content"]
    court.send(command(command="release", task_id=TASK))
    done.step()
    task = court.all("tasks")[1]
    assert (task["id"], task["type"], task["original_task_id"]) == (NEXT, "release", TASK)
    assert (task["payload"], task["trust"], task["repo"]) == ({"number": 7}, "fork", "acme/api")
    (told,) = court.told("task.actions_released")
    assert told["data"] == {"task_id": TASK, "released_as": NEXT}
    court.send(
        event("cmd2", type="kingdom.command", payload={"command": "release", "task_id": TASK})
    )
    done.step()
    assert court.event("evt-test-cmd2")["reason"].startswith(f"{NEXT} is at it already")


def test_what_is_not_held_cannot_be_released(court: Court, done: King) -> None:
    held_actions.remove(court.base, TASK)
    court.send(command(command="release", task_id=TASK))
    done.step()
    found = court.event("evt-test-cmd")
    assert (found["status"], found["reason"]) == ("failed", f"Nothing of {TASK} is held.")
    assert len(court.all("tasks")) == 1


# What waits for approval is held as well, and asked about


@pytest.fixture
def asked(court: Court) -> King:
    """A king whose task ended with a question: whether what is held may be done."""
    king = court.king()
    court.send(event(repo="acme/api", payload={"number": 7}, trust="fork", trace_id="f" * 32))
    king.step()
    waits = Held("comment:1", "A person approves it first.", "abc", "Fine.")
    held_actions.write(court.base, HELD._replace(held=(waits,)), court.clock.now())
    words = {"question": "May this be done?", "options": ["approve", "reject"], "default": "reject"}
    court.report(NeedsHuman(task_id=TASK, summary="done", held=["comment: It waits."], **words))
    king.step()
    return king


def answered(name: str, text: str = "approve", **fields: Any) -> Any:
    payload = {"task_id": TASK, "text": text, "answered_by": "ann"}
    return event(
        name, type="slack.human_response", payload=payload, **({"trust": "member"} | fields)
    )


def test_what_waits_for_approval_is_a_question_and_no_notice(court: Court, asked: King) -> None:
    look(court, asked)
    look(court, asked, DAY / 2)
    assert notices(court) == []
    (question,) = [one for one in court.all("messages") if one["type"] == "human_input_request"]
    assert (question["default"], question["options"]) == ("reject", ["approve", "reject"])
    assert question["expires_at"] is not None
    for name, trust in (("1", None), ("2", "outside")):
        court.send(answered(f"a{name}", trust=trust))
        asked.step()
        assert court.event(f"evt-test-a{name}")["reason"] == "Only a member may approve it."
    court.send(answered("yes"))
    asked.step()
    (task,) = court.all("tasks")[1:]
    assert (task["type"], task["trust"], task["original_task_id"]) == ("approval", "fork", TASK)
    original = {"number": 7}
    assert task["payload"] == {"answer": "approve", "answered_by": "ann", "original": original}
    court.send(answered("late", "reject"), command(command="release", task_id=TASK))
    asked.step()
    assert court.event("evt-test-late")["reason"] == f"The question of {TASK} was answered already."
    assert court.event("evt-test-cmd")["reason"].startswith(f"{NEXT} is at it already")
    assert len(court.all("tasks")) == 2


@pytest.mark.parametrize(("verb", "type_", "left"), [
    ("release", "release", [TASK]),  # until that is done
    ("retry", "github.pr.comment", []),
])  # fmt: skip
def test_a_command_decides_instead_of_an_answer(
    court: Court, asked: King, verb: str, type_: str, left: list[str]
) -> None:
    court.send(command(command=verb, task_id=TASK))
    asked.step()
    assert court.all("tasks")[1]["type"] == type_
    assert held_actions.tasks(court.base) == left
    court.send(answered("late"))
    asked.step()
    assert court.event("evt-test-late")["reason"] == f"The question of {TASK} was answered already."
    assert any(one["context"].get("answers") == TASK for one in court.all("messages"))


def test_approvals_do_not_keep_what_may_hold_a_secret_from_being_told(
    court: Court, done: King
) -> None:
    waits = Held("push:1", "A person approves it first.", "abc", "a diff")
    for number in range(25):
        other = HELD._replace(task_id=f"task-20260101-{number:03}", held=(waits,))
        held_actions.write(court.base, other, court.clock.now())
    look(court, done)
    (told,) = notices(court)
    assert told["context"]["held"] == TASK
