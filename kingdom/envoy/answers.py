"""From what a person said to the event that tells the king."""

from __future__ import annotations

from datetime import datetime

from kingdom.clock import isoformat
from kingdom.envoy.questions import Question
from kingdom.models.event import Event
from kingdom.models.fields import Trust
from kingdom.runtime.config import ANSWER

BY_DEFAULT = "default"
TRUST: Trust = "member"  # an answer counts only from someone who may give it


def id_prefix(task_id: str) -> str:
    return f"evt-slack-response-{task_id}-"


def id_of_answer(task_id: str, at: datetime) -> str:
    return f"{id_prefix(task_id)}{int(at.timestamp())}"


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
) -> Event:
    """The same answer is the same event: its id has the task and the second it was given.

    `until`: if it is the default, when that was taken.
    """
    payload = {"task_id": task_id, "text": text, "answered_by": answered_by}
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
