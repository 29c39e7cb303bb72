"""What a result means for its event, and what people are told of it. Pure.

A task's thread ends with a `thread_update` that is `final`; a question leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from kingdom.failures import FAILURES
from kingdom.king.chat import is_chat
from kingdom.king.routing import title_of
from kingdom.models.message import (
    HumanInputRequest,
    MessageBase,
    Notification,
    ThreadStart,
    ThreadUpdate,
)
from kingdom.models.result import Failed, Killed, NeedsHuman, Skipped, Success
from kingdom.models.task import Task
from kingdom.runtime import control
from kingdom.words import ENGLISH, Words

AnyResult = Success | Failed | NeedsHuman | Skipped | Killed
FINAL = {"final": True}
_BEGINNING, _END = 300, 500  # characters of an error that people are told at once
UNKNOWN = "failed"  # of what kind a failure is, when its result does not say
DONE, FAILED, CANCELLED, WAITING = "done", "failed", "cancelled", "waiting"  # how a task stands


@dataclass(frozen=True)
class Draft:
    """A message that has no id yet."""

    kind: type[MessageBase]
    content: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Its last draft is the word in the task's own thread."""

    event_status: str
    drafts: tuple[Draft, ...]

    @property
    def announcements(self) -> tuple[Draft, ...]:
        return self.drafts[:-1]

    def with_word(self, said: str) -> Outcome:
        """With this below the last word."""
        last = self.drafts[-1]
        more = replace(last, content=f"{last.content}\n{said}")
        return replace(self, drafts=(*self.announcements, more))


def outcome(result: AnyResult, task: Task, words: Words, now: datetime, wait: float) -> Outcome:
    """`wait`: seconds after which a question takes its default."""
    announcements = tuple(_announcements(result, task, words))
    if _names_a_channel(result) and not may_choose_channels(task):
        ignored = words("king_channel_ignored", trust=trust_of(task))
        return _outcome(result, task, words, now, wait, ()).with_word(ignored)
    return _outcome(result, task, words, now, wait, announcements)


def trust_of(task: Task) -> str:
    return task.trust or "outside"


def may_choose_channels(task: Task) -> bool:
    """Work of less trusted people is told in its own thread, and nowhere else."""
    return trust_of(task) == "member"


def _names_a_channel(result: AnyResult) -> bool:
    return bool(result.proclamation or result.notify_channel)


def _outcome(
    result: AnyResult,
    task: Task,
    words: Words,
    now: datetime,
    wait: float,
    announcements: tuple[Draft, ...],
) -> Outcome:
    match result:
        case Success():
            is_reply = is_chat(task.type) and result.summary.strip()
            done = words("king_success", summary=result.summary, **_names(task))
            closing = _closing(result.summary if is_reply else done)
        case Skipped():
            closing = _closing(words("king_skipped", reason=result.reason, **_names(task)))
        case Failed() | Killed():
            return Outcome("failed", (*announcements, _failure(result, task, words)))
        case NeedsHuman():
            return Outcome("completed", (*announcements, _question(result, task, now, wait)))
        case _:
            assert_never(result)
    return Outcome("completed", (*announcements, closing))


def start_of(task: Task, words: Words) -> Draft:
    """Opens the thread of a task."""
    content = words("king_started", type=task.type, **_names(task))
    return Draft(ThreadStart, _with_title(content, task))


def retry_of(task: Task, words: Words, original: str, *, answers: bool) -> Draft:
    """`answers`: the original had a question open, which nobody need answer any more."""
    content = words("king_retried", original=original, **_names(task))
    context = {"context": {"answers": original}} if answers else {}
    return Draft(ThreadStart, _with_title(content, task), context)


def _with_title(content: str, task: Task) -> str:
    return f"{content}\n{title_of(task)}".rstrip()


def resumption_of(
    task: Task, words: Words, answer: str, who: str, original: str, *, until: str = ""
) -> Draft:
    """In the thread of the task that asked, which the new one inherits.

    `until`: when the default was taken, since nobody had answered.
    """
    if until:
        content = words("king_defaulted", answer=answer, moment=until, **_names(task))
    else:
        content = words("king_resumed", answer=answer, who=who or "?", **_names(task))
    return Draft(ThreadUpdate, content, {"context": {"inherits": original, "answers": original}})


def burial_of(task: Task, words: Words) -> Draft:
    """For a task that ended without a result: nobody will ever report on it."""
    delivery = task.delivery
    code = delivery.last_error_code or "dropped"
    error = delivery.last_error_message or words("king_no_report")
    known = words.failure(code)
    if known and words.language != ENGLISH:  # the message's own words are English
        error = known.sentence
    return _failed(task, words, error, code)


def _failure(result: Failed | Killed, task: Task, words: Words) -> Draft:
    soldier = (result.metrics or {}).get("soldier_id")
    code = result.error_code or ("soldier_killed" if result.status == "killed" else "")
    return _failed(task, words, _error_of(result, words), code, soldier)


def _error_of(result: Failed | Killed, words: Words) -> str:
    """A soldier's own words as they are. Those of its general begin with the failure's sentence,
    which is said in the language of people; what follows are facts."""
    known, told = FAILURES.get(result.error_code or ""), words.failure(result.error_code or "")
    if known is None or told is None or result.summary != known.sentence:
        return result.error
    return result.error.replace(known.sentence, told.sentence, 1)


def _failed(task: Task, words: Words, error: str, code: str, soldier: object = None) -> Draft:
    content = words("king_failed", error=_shown(error), code=code or UNKNOWN, **_names(task))
    if remedy := _remedy(words, code, task.id, soldier):
        content = f"{content}\n{remedy}"
    if code in (control.CANCELLED, control.SUPERSEDED):  # no news to alarm anybody with
        return _closing(content, CANCELLED)
    return _closing(content, FAILED, urgency="high")


def _shown(error: str) -> str:
    """Its beginning says what failed, its end what a check said last; the result has it all."""
    if len(error) <= _BEGINNING + _END:
        return error
    return f"{error[:_BEGINNING].rstrip()} […] {error[-_END:].lstrip()}"


def _remedy(words: Words, code: str, task_id: str, soldier: object) -> str:
    known = words.failure(code)
    if known is None:
        return ""
    names = {"TASK": task_id, "SOLDIER": soldier if isinstance(soldier, str) else task_id}
    return re.sub(r"\b(TASK|SOLDIER)\b", lambda match: names[match[1]], known.remedy)


def _question(result: NeedsHuman, task: Task, now: datetime, wait: float) -> Draft:
    default = result.default or None
    fields: dict[str, Any] = {
        "urgency": "high",
        "options": result.options or None,
        "default": default,
        "expires_at": now + timedelta(seconds=wait) if default else None,
        "reply_context": {"task_id": task.id, "outcome": WAITING},
    }
    return Draft(HumanInputRequest, result.question, fields)


def _announcements(result: AnyResult, task: Task, words: Words) -> Iterator[Draft]:
    if result.proclamation is not None:
        said = result.proclamation
        yield Draft(Notification, said.message, {"channel": said.channel})
    if result.notify_channel:
        error = _error_of(result, words) if isinstance(result, Failed | Killed) else result.error
        text = result.question or error or result.reason or result.summary
        status = words(f"king_status_{result.status}")
        content = words("king_notice", text=text, status=status, **_names(task))
        yield Draft(Notification, content, {"channel": result.notify_channel})


def _closing(content: str, ended: str = DONE, **fields: Any) -> Draft:
    told = {"context": FINAL, "reply_context": {"outcome": ended}}
    return Draft(ThreadUpdate, content, told | fields)


def _names(task: Task) -> dict[str, str]:
    return {"general": task.target_general, "task": task.id}
