"""What becomes of what people say: an answer, an event, or a courteous word.

Decides; the daemon acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from kingdom.bus.files.bus import FileBus
from kingdom.envoy.answers import BY_DEFAULT, TRUST, said_in
from kingdom.envoy.questions import Question, Questions, chosen
from kingdom.envoy.rendering import on_one_line
from kingdom.envoy.transport import Reply, Speech
from kingdom.errors import NeverWorks
from kingdom.models.event import Event
from kingdom.models.priority import priority_of
from kingdom.words import Words

_NAMES = {"no_answer": "envoy_no_answer", "not_an_option": "envoy_not_an_option"}


@dataclass(frozen=True)
class Answer:
    task_id: str
    question: Question
    text: str


@dataclass(frozen=True)
class SaidBy:
    """Who said it, as people read it, and what tells it from all else that was ever said."""

    name: str
    where: Mapping[str, str]


NOBODY = SaidBy(BY_DEFAULT, {})  # it is the default; a person may have that name, too


@dataclass(frozen=True)
class Notice:
    """`what` is its kind; each kind is told a person only so often."""

    what: str
    text: str
    task_id: str = ""


def meant_by(reply: Reply, questions: Questions, words: Words) -> Answer | Notice:
    """The first reply of someone who may answer counts, if it is an answer."""
    if not reply.may_answer:
        return Notice("stranger", words("envoy_may_not_answer"))
    task_id, question = _asked(reply, questions)
    if question is None:
        name = "envoy_old_button" if reply.asked_in else "envoy_nothing_asked"
        return Notice("button" if reply.asked_in else "closed", words(name))
    if question.answered_at is not None:
        return Notice("late", words("envoy_answered_already"), task_id)
    try:
        return Answer(task_id, question, _chosen(reply, question))
    except NeverWorks as fault:
        options = ", ".join(map(on_one_line, question.options or ()))
        return Notice("option", words(_NAMES[fault.code], options=options), task_id)


def _asked(reply: Reply, questions: Questions) -> tuple[str, Question | None]:
    for task_id, one in questions.items():
        if one.thread == reply.thread and reply.asked_in in ("", one.msg_id):
            return task_id, one
    return "", None


def _chosen(reply: Reply, question: Question) -> str:
    if not reply.asked_in:
        return chosen(question, reply.text)
    options = question.options or []
    return options[reply.number - 1] if 0 < reply.number <= len(options) else chosen(question, "")


def speech_event(speech: Speech, now: datetime) -> Event:
    """The same words are the same event: its id has the moment they were said."""
    type_ = "slack.channel.message" if speech.is_direct else "slack.app_mention"
    kind = "msg" if speech.is_direct else "mention"
    payload = {
        "text": speech.text,
        "channel": speech.channel,
        "user": speech.user,
        "ts": speech.ts,
    }
    if speech.thread_ts:
        payload["thread_ts"] = speech.thread_ts
    return Event(
        id=f"evt-slack-{kind}-{speech.ts.replace('.', '-')}",
        type=type_,
        source="slack",
        payload=payload,
        priority=priority_of(type_),
        created_at=now,
        trust=TRUST,
    )


def said_by(reply: Reply) -> SaidBy:
    where = {"user": reply.user, "channel": reply.thread.channel, "ts": reply.ts}
    return SaidBy(reply.answered_by, where if reply.ts else {})


def known_answer(bus: FileBus, task_id: str, passed_on: str) -> tuple[str, SaidBy]:
    """The answer that the king has taken, or else the event that was passed on, and whose it is;
    empty if there is none."""
    found = bus.look("results", task_id)
    event_id = getattr(found[1], "answered_by", None) if found else None
    payload = said_in(bus, event_id or passed_on)
    text, who = (str(payload.get(key) or "") for key in ("text", "answered_by"))
    return text, NOBODY if payload.get("until") else SaidBy(who, {})


def closing_line(words: Words, text: str, by: SaidBy) -> str:
    """What a question shows that is no longer asked."""
    answer = on_one_line(text)
    if not answer:
        return words("envoy_withdrawn")
    if by is NOBODY:
        return words("envoy_defaulted", answer=answer)
    return words("envoy_answered", who=on_one_line(by.name) or "?", answer=answer)
