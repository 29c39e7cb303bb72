"""From what a person said to the event that tells the king."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clock import isoformat
from kingdom.envoy.questions import Question
from kingdom.envoy.transport import Reply
from kingdom.models.event import Event
from kingdom.models.fields import Trust
from kingdom.runtime.config import ANSWER
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import EVENTS

PREFIX = "evt-slack-response-"
BY_DEFAULT = "default"
TRUST: Trust = "member"  # an answer counts only from someone who may give it


def id_prefix(task_id: str) -> str:
    return f"{PREFIX}{task_id}-"


def id_of_answer(task_id: str, at: datetime) -> str:
    return f"{id_prefix(task_id)}{int(at.timestamp())}"


def is_known(bus: FileBus, base: BaseDir, task_id: str, reply: Reply) -> bool:
    """Whether this very reply was an answer, and has come again. If nothing is asked there any
    more, the task is not known, and the answers of that second are looked through."""
    if task_id:
        return bus.look("events", id_of_answer(task_id, reply.at)) is not None
    second = f"-{int(reply.at.timestamp())}"
    given = {"channel": reply.thread.channel, "ts": reply.ts}
    same = (one for one in ids_of_answers(base) if one.endswith(second))
    return any(given.items() <= said_in(bus, one).items() for one in same)


def is_settled(bus: FileBus, task_id: str) -> bool:
    """Whether the king has taken an answer already; its note about that may be on its way."""
    found = bus.look("results", task_id)
    return found is not None and getattr(found[1], "answered_by", None) is not None


def answers_by_task(base: BaseDir) -> dict[str, str]:
    """The id of the first that was passed on for each, whether or not the king has taken it."""
    ids = sorted(ids_of_answers(base), reverse=True)
    return {one.removeprefix(PREFIX).rpartition("-")[0]: one for one in ids}


def ids_of_answers(base: BaseDir) -> Iterator[str]:
    for state in EVENTS.states:
        for name in disk.names(base.path(EVENTS.root, state.directory)):
            if name.startswith(PREFIX) and name.endswith(".json"):
                yield name.removesuffix(".json")


def said_in(bus: FileBus, event_id: str) -> dict[str, Any]:
    event = bus.look("events", event_id) if event_id else None
    return dict(event[1].payload) if event and isinstance(event[1], Event) else {}


def answer_event(
    task_id: str,
    question: Question,
    text: str,
    *,
    answered_by: str,
    source: str,
    at: datetime,
    now: datetime,
    until: datetime | None = None,
    where: Mapping[str, str] | None = None,
) -> Event:
    """The same answer is the same event: its id has the task and the second it was given.

    `until`: if it is the default, when that was taken. `where` it was said, and the id of whom.
    """
    payload = {"task_id": task_id, "text": text, "answered_by": answered_by, **(where or {})}
    if until is not None:
        payload["until"] = isoformat(until)
    return Event(
        id=id_of_answer(task_id, at),
        type=ANSWER,
        source=source,
        payload=payload,
        priority="high",  # someone waits, or has waited
        created_at=now,
        trust=TRUST,
        trace_id=question.trace_id,
    )
