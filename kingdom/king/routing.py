"""From an event to a task: whose it is, which of several counts, and what the task says. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic_core import PydanticCustomError

from kingdom.models.event import Event
from kingdom.models.fields import read_timestamp
from kingdom.models.task import Task
from kingdom.runtime.config import OWN_TYPES, General

RESUME = "resume"  # the type of a task that goes on after an answer
RELEASE = "release"  # of one that does what the outbound gate held of another
APPROVAL = "approval"  # of one that does what a person approved of another, if they did
_TITLE_LENGTH = 200


def is_own(event_type: str, priority: str = "") -> bool:
    """Commands and answers: handled by the king itself, at once, whatever the gates say."""
    return event_type in OWN_TYPES


def trace_of(event: Event) -> str:
    """Given to it, or derived, so that a second try at the same event tells the same story."""
    return event.trace_id or hashlib.sha256(event.id.encode()).hexdigest()[:32]


def task_for(event: Event, general: General, task_id: str, now: datetime) -> Task:
    return Task(
        id=task_id,
        event_id=event.id,
        target_general=general.name,
        type=event.type,
        payload=event.payload,
        priority=general.manifest.priority or event.priority,
        created_at=now,
        repo=event.repo or general.manifest.default_repo,
        trust=event.trust,
        trust_reason=event.trust_reason,
        trace_id=trace_of(event),
    )


def newest(events: Sequence[Event]) -> Event:
    """Of several about one subject, the one whose source changed last."""
    return max(events, key=lambda event: (changed_at(event), event.created_at, event.id))


def changed_at(one: Event | Task) -> datetime:
    try:
        return read_timestamp(one.payload.get("updated_at"))
    except PydanticCustomError:
        return one.created_at


def first_payload(task: Task) -> dict[str, Any]:
    """What it all began with: a task that goes on after an answer keeps it."""
    is_answer = task.type in (RESUME, APPROVAL)
    found = task.payload.get("original", {}) if is_answer else task.payload
    return found if isinstance(found, dict) else {}


def title_of(task: Task) -> str:
    """What the task is about, in one line, if it says so. It came from outside: it is cut short,
    and put in as it is."""
    payload = first_payload(task)
    number, key = payload.get("number"), payload.get("key")
    about = f"{task.repo}#{number}" if task.repo and number is not None else key or task.repo
    named = next((payload[one] for one in ("title", "summary", "text") if payload.get(one)), None)
    words = [str(one) for one in (about, named) if one]
    line = " ".join(" ".join(words).split())
    return line if len(line) <= _TITLE_LENGTH else f"{line[: _TITLE_LENGTH - 1]}…"
