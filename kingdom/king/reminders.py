"""Reminds people of questions that nobody answers, and in the end parks those without a default.

The king makes these messages, as it made the questions; the envoy only shows them. A parked one is
brought to mind no more, and can still be answered. One with a default never gets there: the envoy
takes the default when its time is over.

Keeps `state/king/reminded.json`: for each open question the last moment that was due, and the
message made for it, written before it is published, a handful at once. A crash in between publishes
the same messages again, and the bus knows their ids. What fell due while nobody was there is
told of once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from kingdom.clock import is_ahead, isoformat
from kingdom.king.desk import Desk
from kingdom.king.questions import Asked, OpenQuestions
from kingdom.models.fields import read_timestamp
from kingdom.models.ids import is_id
from kingdom.models.message import ThreadUpdate
from kingdom.models.result import NeedsHuman
from kingdom.store.state import read_json, write_json
from kingdom.topology import PENDING
from kingdom.words.harmless import at_a_glance

_AT_ONCE = 20  # so that many that are due do not keep the king from its work
_KEYS = {"msg_id", "at", "parked", "told", "message"}


class Due(NamedTuple):
    """A question that is to be brought to mind, or parked."""

    task_id: str
    asked: Asked
    at: datetime
    parks: bool


class Reminders:
    def __init__(self, desk: Desk, questions: OpenQuestions) -> None:
        self._desk = desk
        self._questions = questions
        self._path = desk.setting.base.path("state", "king", "reminded.json")
        self._told: dict[str, dict[str, Any]] = {}
        self._next_look = float("-inf")

    def start(self) -> None:
        kept = read_json(self._path, {})
        entries = kept.items() if isinstance(kept, dict) else ()
        self._told = {task: told for task, told in entries if is_id(task) and _is_whole(told)}

    def step(self, interval: float) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look:
            return
        self._next_look = moment + interval
        self._publish()
        asked = self._questions.by_task()
        due = list(islice(self._all_due(asked), _AT_ONCE))
        self._tell(due)
        self._forget(asked)
        if len(due) == _AT_ONCE:
            self._next_look = moment

    def seconds_left(self) -> float:
        """There are more that are due, or none is known of."""
        return 0.0 if self._next_look <= self._desk.monotonic() else float("inf")

    def _all_due(self, asked: Mapping[str, Asked]) -> Iterator[Due]:
        for task_id, one in asked.items():
            due = None
            with self._desk.faults.contained(f"question of {task_id}"):
                due = self._due(task_id, one)
            if due is not None:
                yield due

    def _due(self, task_id: str, asked: Asked) -> Due | None:
        told = self._told.get(task_id)
        if told is None or told["msg_id"] != asked.msg_id:
            told = _nothing(asked)
        settings, now = self._desk.config.settings.king.questions, self._desk.now()
        every, park_after = settings.remind_every_seconds, settings.park_after_seconds
        last = read_timestamp(told["at"])
        if is_ahead(last, now):  # a clock that was ahead silences nobody
            last = now
            self._told[task_id] = told | {"at": isoformat(now)}
            write_json(self._path, self._told, sync=False)
        waited = (now - asked.asked_at).total_seconds()
        parks = asked.default is None and 0 < park_after <= waited
        passed = int((now - last).total_seconds() // every) if every else 0
        if told["parked"] or asked.is_parked or not (parks or passed > 0):
            return None
        if self._is_settled(task_id) or self._is_waiting(told["told"]):
            return None
        return Due(task_id, asked, last + timedelta(seconds=passed * every), parks)

    def _is_settled(self, task_id: str) -> bool:
        found = self._desk.bus.look("results", task_id)
        result = found[1] if found else None
        return isinstance(result, NeedsHuman) and result.answered_by is not None

    def _is_waiting(self, msg_id: str | None) -> bool:
        """Whether the last one was not even shown: nobody is told the same thing twice at once."""
        found = self._desk.bus.look("messages", msg_id) if msg_id else None
        return found is not None and found[0] == PENDING

    def _tell(self, due: list[Due]) -> None:
        ids = self._desk.ids("msg", len(due))
        for id_, one in zip(ids, due, strict=True):
            told = {"msg_id": one.asked.msg_id, "at": isoformat(one.at), "parked": one.parks}
            self._told[one.task_id] = told | {"told": id_, "message": None}
            with self._desk.faults.contained(f"question of {one.task_id}"):
                self._told[one.task_id]["message"] = self._message(id_, one)
        self._publish()
        for id_, one in zip(ids, due, strict=True):
            name = "question.parked" if one.parks else "question.reminded"
            known = {"task_id": one.task_id, "message_id": id_, "trace_id": one.asked.trace_id}
            self._desk.log.info(name, **known)

    def _message(self, id_: str, due: Due) -> dict[str, Any]:
        task_id, asked, _, parks = due
        return {
            "id": id_,
            "content": self._content(task_id, asked, parks),
            "task_id": task_id,
            "channel": asked.channel,
            "thread_ts": asked.thread_ts or None,
            "trace_id": asked.trace_id,
            # Come late, it must not open a thread again that is over.
            "context": {"parks" if parks else "reminds": task_id, "progress": True},
        }

    def _content(self, task_id: str, asked: Asked, parks: bool) -> str:
        words, desk = self._desk.words, self._desk
        span = words.span((desk.now() - asked.asked_at).total_seconds())
        question = at_a_glance(asked.question)
        if parks:
            return words("king_parked", span=span, question=question, task=task_id)
        said = words("king_reminder", span=span, question=question, task=task_id)
        if asked.default is None or asked.expires_at is None:
            return said
        until, default = desk.shown(asked.expires_at), at_a_glance(asked.default)
        return f"{said}\n{words('envoy_default_until', moment=until, default=default)}"

    def _publish(self) -> None:
        """What is still to be, or may be: the bus knows what it had before."""
        waiting = [told for told in self._told.values() if told["message"] is not None]
        if not waiting:
            return
        now, messages = self._desk.now(), []
        for told in waiting:
            with self._desk.faults.contained(f"reminder {told['told']}"):
                messages.append(ThreadUpdate(**told["message"], created_at=now))
        write_json(self._path, self._told)
        self._desk.bus.publish("messages", *messages)
        for told in waiting:
            told["message"] = None
        write_json(self._path, self._told, sync=False)

    def _forget(self, asked: Mapping[str, Asked]) -> None:
        """Those that were settled. One that is only missing may come back: the envoy makes its
        notes anew when they were lost."""
        gone = [one for one in self._told if one not in asked and self._is_over(one)]
        for task_id in gone:
            del self._told[task_id]
        if gone:
            write_json(self._path, self._told, sync=False)

    def _is_over(self, task_id: str) -> bool:
        return self._desk.bus.look("results", task_id) is None or self._is_settled(task_id)


def _nothing(asked: Asked) -> dict[str, Any]:
    at = isoformat(asked.asked_at)
    return {"msg_id": asked.msg_id, "at": at, "parked": False, "told": None, "message": None}


def _is_whole(told: object) -> bool:
    if not isinstance(told, dict) or told.keys() != _KEYS:
        return False
    try:
        at = read_timestamp(told["at"])
        if told["message"] is not None:
            ThreadUpdate(**told["message"], created_at=at)
    except (PydanticCustomError, ValidationError, TypeError):
        return False
    return True
