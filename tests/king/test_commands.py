"""What a person may ask, and the sentence that says why it cannot be done."""

from __future__ import annotations

from typing import Any

import pytest

from kingdom.king.commands import (
    Answer,
    Command,
    Found,
    Objection,
    ended_task,
    open_question,
    open_task,
    read_answer,
    read_command,
)
from kingdom.models.result import NeedsHuman, Success
from tests.support.kingdom import task

TASK = task()
ASKED = NeedsHuman(task_id=TASK.id, summary="", question="Which?")
GENERALS = {"gen-pr"}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"command": "freeze"}, Command("freeze")),
        ({"command": "thaw", "task_id": None}, Command("thaw")),
        ({"command": "freeze", "task_id": TASK.id}, Command("freeze", TASK.id)),
        ({"command": "cancel", "task_id": TASK.id}, Command("cancel", TASK.id)),
        ({"command": "retry", "task_id": TASK.id}, Command("retry", TASK.id)),
        ({"command": "retry", "task_id": TASK.id, "fresh": True}, Command("retry", TASK.id, True)),
        ({"command": "retry", "task_id": TASK.id, "fresh": "yes"}, Command("retry", TASK.id)),
    ],
)
def test_a_command_is_read(payload: dict[str, Any], expected: Command) -> None:
    assert read_command(payload) == expected


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ({}, "None is not a command; known: cancel, freeze, thaw, retry, release."),
        (
            {"command": "dance"},
            "'dance' is not a command; known: cancel, freeze, thaw, retry, release.",
        ),
        (
            {"command": ["cancel"]},
            "['cancel'] is not a command; known: cancel, freeze, thaw, retry, release.",
        ),
        ({"command": "cancel"}, "cancel needs a task_id."),
        ({"command": "retry", "task_id": None}, "retry needs a task_id."),
        ({"command": "cancel", "task_id": "../all"}, "'../all' is not a task's id."),
        ({"command": "freeze", "task_id": 7}, "7 is not a task's id."),
        ({"command": "freeze", "task_id": ""}, "'' is not a task's id."),
    ],
)
def test_a_command_that_says_nothing_is_refused_in_a_sentence(
    payload: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Objection) as refused:
        read_command(payload)
    assert str(refused.value) == sentence


def test_an_answer_is_read_or_refused() -> None:
    said = {"task_id": TASK.id, "text": "Use b.", "answered_by": "ada"}
    assert read_answer(said) == Answer(TASK.id, "Use b.", "ada")
    assert read_answer(said | {"answered_by": 7}) == Answer(TASK.id, "Use b.", "")
    for wrong in ({"task_id": "a/b"}, {"text": " \n"}, {"text": None}, {"task_id": None}):
        with pytest.raises(Objection):
            read_answer(said | wrong)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (None, f"No task {TASK.id} is known."),
        (("completed", TASK.revised(status="failed")), f"{TASK.id} has ended already (failed)."),
        (("dead", TASK.revised(status="dead")), f"{TASK.id} has ended already (dead)."),
    ],
)
def test_what_has_ended_cannot_be_stopped(found: Found, sentence: str) -> None:
    with pytest.raises(Objection) as refused:
        open_task(TASK.id, found)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("state", ["pending", "in_progress"])
def test_only_what_has_ended_is_tried_again(state: str) -> None:
    assert open_task(TASK.id, (state, TASK)) is TASK
    with pytest.raises(Objection, match="has not ended yet"):
        ended_task(TASK.id, (state, TASK), GENERALS)
    assert ended_task(TASK.id, ("dead", TASK), GENERALS) is TASK


def test_nothing_is_made_for_a_general_that_is_gone() -> None:
    with pytest.raises(Objection, match="gen-pr, whose task"):
        ended_task(TASK.id, ("completed", TASK), {"gen-jira"})
    with pytest.raises(Objection, match="gen-pr, whose task"):
        open_question(Answer(TASK.id, "b"), ("completed", TASK), ("handled", ASKED), set())


@pytest.mark.parametrize(
    ("task_found", "result_found", "sentence"),
    [
        (None, ("handled", ASKED), "No task"),
        (("completed", TASK), None, "asked no question"),
        (
            ("completed", TASK),
            ("handled", Success(task_id=TASK.id, summary="")),
            "asked no question",
        ),
        (
            ("completed", TASK),
            ("handled", ASKED.revised(answered_by="evt-1")),
            "was answered already",
        ),
    ],
)
def test_only_an_open_question_can_be_answered(
    task_found: Found, result_found: Found, sentence: str
) -> None:
    with pytest.raises(Objection, match=sentence):
        open_question(Answer(TASK.id, "b"), task_found, result_found, GENERALS)


def test_an_open_question_is_answered() -> None:
    found = open_question(Answer(TASK.id, "b"), ("completed", TASK), ("handled", ASKED), GENERALS)
    assert found is TASK
