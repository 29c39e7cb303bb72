"""One task, one thread: which thread a message belongs to, and what is remembered afterwards.

A task that continues another (`context.inherits`) speaks in the thread of that one. The mapping
goes when the task has said its last word (`context.final`) or its question was answered, since its
successor has the thread then (`context.answers`). A notification that names a channel is for those
who read that one: it stands for itself, whichever task it tells of.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kingdom.envoy.transport import Thread
from kingdom.models.fields import Timestamp
from kingdom.models.message import MessageBase, Notification
from kingdom.models.part import Part


class ThreadMapping(Part):
    """An entry of `thread-mappings.json`: a task's thread."""

    channel: str
    thread_ts: str
    created_at: Timestamp

    @property
    def thread(self) -> Thread:
        return Thread(self.channel, self.thread_ts)


Mappings = Mapping[str, ThreadMapping]


def thread_of(message: MessageBase, mappings: Mappings) -> Thread | None:
    """The thread this message belongs to; None if it begins one, or stands for itself."""
    known = mappings.get(message.task_id or "") or mappings.get(named(message, "inherits"))
    if known and not stands_alone(message):
        return known.thread
    return Thread(message.channel, message.thread_ts) if message.thread_ts else None


def after(
    message: MessageBase, thread: Thread | None, mappings: Mappings, now: datetime
) -> Mappings:
    """The mappings once this message has been shown in this thread, or given up without one."""
    left = {task: one for task, one in mappings.items() if task != named(message, "answers")}
    task_id = message.task_id
    if task_id is None:
        return left
    if is_final(message):
        left.pop(task_id, None)
    elif thread and not stands_alone(message) and _is_news(message, thread, left.get(task_id)):
        left[task_id] = ThreadMapping(
            channel=thread.channel, thread_ts=thread.thread_ts, created_at=now
        )
    return left


def _is_news(message: MessageBase, thread: Thread, known: ThreadMapping | None) -> bool:
    """A task's thread is elsewhere once another transport has begun it anew."""
    return not is_passing(message) if known is None else known.thread_ts != thread.thread_ts


def named(message: MessageBase, key: str) -> str:
    """The task that the context names under this key; empty if it names none."""
    value = message.context.get(key)
    return value if isinstance(value, str) else ""


def stands_alone(message: MessageBase) -> bool:
    return isinstance(message, Notification) and bool(message.channel)


def is_passing(message: MessageBase) -> bool:
    """Whether it only tells how work goes on. Come late, it must not keep a thread that is over."""
    return message.context.get("progress") is True


def is_final(message: MessageBase) -> bool:
    return message.context.get("final") is True
