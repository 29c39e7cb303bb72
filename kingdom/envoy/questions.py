"""Questions that await an answer: when one opens, when it is settled, when its default is due.

Reminders, and the word that a question is parked (`context.parks`), are messages of the king's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kingdom.clock import is_ahead
from kingdom.envoy.threads import is_final, named
from kingdom.envoy.transport import Thread
from kingdom.errors import NeverWorks
from kingdom.models.fields import Id, Timestamp
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.models.part import Part


class Question(Part):
    """An entry of `awaiting-responses.json`: what a task asked, and where."""

    msg_id: Id
    question: str
    options: list[str] | None = None
    default: str | None = None
    asked_at: Timestamp
    expires_at: Timestamp | None = None
    channel: str
    thread_ts: str
    trace_id: str | None = None
    answered_at: Timestamp | None = None  # the envoy passed an answer on; the king has it next
    parked_at: Timestamp | None = None  # nobody is reminded any more; it can still be answered

    @property
    def thread(self) -> Thread:
        return Thread(self.channel, self.thread_ts)

    def asked_now(self, now: datetime) -> Question:
        """The same, with as much time to answer."""
        expires_at = self.expires_at
        if expires_at is not None and expires_at > self.asked_at:  # both by the same clock
            expires_at -= self.asked_at - now
        return self.revised(asked_at=now, expires_at=expires_at)

    @property
    def default_at(self) -> datetime | None:
        """When the default will be taken; None if it never is."""
        if self.default is None or self.answered_at is not None:
            return None
        return self.expires_at


Questions = Mapping[str, Question]


def asked_by(message: HumanInputRequest, thread: Thread | None, now: datetime) -> Question:
    channel, thread_ts = thread or (message.channel, "")
    expires_at = message.expires_at
    if expires_at is not None and is_ahead(message.created_at, now):
        expires_at = now + (expires_at - message.created_at)
    return Question(
        msg_id=message.id,
        question=message.content,
        options=message.options,
        default=message.default,
        asked_at=now,
        expires_at=expires_at,
        channel=channel,
        thread_ts=thread_ts,
        trace_id=message.trace_id,
    )


def after(
    message: MessageBase, thread: Thread | None, questions: Questions, now: datetime
) -> Questions:
    """The open questions once this message has been shown in this thread, or given up without
    one: a question that nobody saw can still be found with `kingdom ask`."""
    left = {task: one for task, one in questions.items() if task != named(message, "answers")}
    task_id = message.task_id
    if task_id is None:
        return left
    if named(message, "parks") in left:
        parked = named(message, "parks")
        left[parked] = left[parked].revised(parked_at=now)
    if isinstance(message, HumanInputRequest):
        asked = asked_by(message, thread, now)
        known = left.get(task_id)
        left[task_id] = known if known and known.msg_id == asked.msg_id else asked
    elif is_final(message):
        left.pop(task_id, None)
    return left


def with_default_due(questions: Questions, now: datetime) -> dict[str, Question]:
    """Those that nobody answered in time, and that say what to do then."""
    return {
        task: one for task, one in questions.items() if one.default_at and one.default_at <= now
    }


def next_default(questions: Questions) -> datetime | None:
    moments = [one.default_at for one in questions.values() if one.default_at is not None]
    return min(moments, default=None)


def chosen(question: Question, text: str) -> str:
    """The answer that is meant. If there are options: one of them, by its words or its number."""
    answer = text.strip()
    if not answer:
        raise NeverWorks(
            "An answer needs some words.", remedy="Say it in quotes.", code="no_answer"
        )
    if not question.options:
        return answer
    folded = answer.casefold()
    for option in question.options:
        if option.strip().casefold() == folded:
            return option
    if answer.isascii() and answer.isdecimal() and 0 < int(answer) <= len(question.options):
        return question.options[int(answer) - 1]
    raise NeverWorks(
        f"{shortened(answer)!r} is not among the answers to choose from.",
        remedy=f"They are: {', '.join(question.options)}.",
        code="not_an_option",
    )


def shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
