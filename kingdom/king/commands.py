"""What a person may ask of the king, and when it cannot be done. Pure.

An objection is one sentence; the event that asked is then completed with it as its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from pydantic_core import PydanticCustomError

from kingdom.models.base import Record
from kingdom.models.event import Event
from kingdom.models.fields import read_timestamp
from kingdom.models.ids import is_id
from kingdom.models.result import NeedsHuman
from kingdom.models.task import Task
from kingdom.settings.wording import shown
from kingdom.words import ENGLISH, Words

Verb = Literal["cancel", "freeze", "thaw", "retry", "release"]
VERBS: tuple[Verb, ...] = get_args(Verb)
OPEN_STATES = ("pending", "in_progress")
BY_DEFAULT = "default"  # who answered, as the envoy says it, if nobody did in time

Found = tuple[str, Record] | None  # what the bus answers when it is asked to look


class Objection(Exception):
    """Why what was asked cannot be done, in English, as files and logs say it."""

    def said(self, words: Words) -> str:
        """As people read it."""
        return str(self)


class Refusal(Objection):
    """One that is told in the thread."""

    def __init__(self, name: str, **values: str) -> None:
        super().__init__(Words(ENGLISH)(name, **values))
        self._name = name
        self._values = values

    def said(self, words: Words) -> str:
        return words(self._name, **self._values)


@dataclass(frozen=True)
class Command:
    verb: Verb
    task_id: str | None = None
    fresh: bool = False
    event_id: str | None = None  # of an event that is to be let pass


@dataclass(frozen=True)
class Answer:
    task_id: str
    text: str
    answered_by: str = ""
    until: datetime | None = None  # if it is the default: when that was taken


def read_command(payload: Mapping[str, Any]) -> Command:
    verb = next((one for one in VERBS if one == payload.get("command")), None)
    if verb is None:
        given = shown(payload.get("command"))
        raise Objection(f"{given} is not a command; known: {', '.join(VERBS)}.")
    task_id, event_id = payload.get("task_id"), payload.get("event_id")
    if verb == "release" and is_id(event_id):
        return Command(verb, event_id=event_id)
    if task_id is None and verb in ("cancel", "retry", "release"):
        raise Objection(f"{verb} needs a task_id.")
    if task_id is not None and not is_id(task_id):
        raise Objection(f"{shown(task_id)} is not a task's id.")
    return Command(verb, task_id, payload.get("fresh") is True)


def read_answer(payload: Mapping[str, Any]) -> Answer:
    task_id, text, who = (payload.get(key) for key in ("task_id", "text", "answered_by"))
    if not is_id(task_id):
        raise Objection(f"{shown(task_id)} is not a task's id.")
    if not isinstance(text, str) or not text.strip():
        raise Objection("The answer has no text.")
    until = _moment(payload.get("until")) if who == BY_DEFAULT else None
    return Answer(str(task_id), text, who if isinstance(who, str) else "", until)


def _moment(value: object) -> datetime | None:
    try:
        return read_timestamp(value)
    except PydanticCustomError:
        return None


def open_task(task_id: str, found: Found) -> Task:
    """The task, if it has not ended."""
    state, task = _known(task_id, found)
    if state not in OPEN_STATES:
        raise Objection(f"{task_id} has ended already ({task.status}).")
    return task


def ended_task(task_id: str, found: Found, generals: Collection[str]) -> Task:
    """The task, if it has ended and its general could do it again."""
    state, task = _known(task_id, found)
    if state in OPEN_STATES:
        raise Objection(f"{task_id} has not ended yet; stop it with: kingdom cancel {task_id}")
    _check_installed(task, generals)
    return task


def stopped_event(event_id: str, found: Found) -> Event:
    """The event, if it waits, or has ended without a task."""
    state, event = found or ("", None)
    if not isinstance(event, Event):
        raise Objection(f"Nothing is known of {event_id}.")
    if state != "pending" and (state != "completed" or event.task_id):
        raise Objection(f"{event_id} is not stopped ({event.status}).")
    return event


def not_under_way(task_id: str, successor: Task | None) -> None:
    """Two that continue one task would share its workspace, and do its work twice."""
    if successor is not None:
        raise Objection(
            f"{successor.id} is at it already; stop that one with: kingdom cancel {successor.id}"
        )


def open_question(answer: Answer, task: Found, result: Found, generals: Collection[str]) -> Task:
    """The task that asked, if its question is still open."""
    _, asked = _known(answer.task_id, task)
    question = result[1] if result else None
    if not isinstance(question, NeedsHuman):
        raise Refusal("king_no_question", task=answer.task_id)
    if question.answered_by is not None:
        raise Refusal("king_answered_already", task=answer.task_id)
    _check_installed(asked, generals)
    return asked


def is_approval(question: object) -> bool:
    """Whether the general asked it, about what it holds, and not a soldier."""
    return isinstance(question, NeedsHuman) and bool(question.held)


def check_approver(result: Found, event: Event) -> None:
    """Who approves has to be a member, whatever way the answer came."""
    if result and is_approval(result[1]) and event.trust != "member":
        raise Refusal("king_may_not_approve")


def _known(task_id: str, found: Found) -> tuple[str, Task]:
    if found is None or not isinstance(found[1], Task):
        raise Refusal("king_no_task", task=task_id)
    return found[0], found[1]


def _check_installed(task: Task, generals: Collection[str]) -> None:
    if task.target_general not in generals:
        raise Refusal("king_not_installed", general=task.target_general, task=task.id)
