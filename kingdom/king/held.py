"""Tells people of what the outbound gate holds, once each, and reminds them until they decide.

Reads the names in `queue/messages/held/` and `state/results/held/`. Keeps `state/king/held.json`:
for each the moment it was last told of and the message made for that, written before it is
published. A crash in between publishes the same message again, and the bus knows its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from kingdom.clock import isoformat
from kingdom.king.desk import Desk
from kingdom.models.fields import read_timestamp
from kingdom.models.ids import is_id
from kingdom.models.message import MessageBase, Notification
from kingdom.runtime import held_actions
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.topology import HELD, MESSAGES

_SUFFIX = ".json"
_AT_ONCE = 20  # so that many do not keep the king from its work
_KEYS = {"at", "message"}


class Item(NamedTuple):
    """What is held: a message, or actions of a task."""

    id: str
    words: str
    reason: str
    since: datetime
    task_id: str | None
    trace_id: str | None


class HeldItems:
    def __init__(self, desk: Desk) -> None:
        base = desk.setting.base
        self._desk = desk
        self._base = base
        self._path = base.path("state", "king", "held.json")
        self._messages = base.path(MESSAGES.root, HELD)
        self._told: dict[str, dict[str, Any]] = {}
        self._next_look = float("-inf")
        self._changed_at: list[int] = []

    def start(self) -> None:
        kept = read_json(self._path, {})
        entries = kept.items() if isinstance(kept, dict) else ()
        self._told = {id_: told for id_, told in entries if _is_whole(told)}
        self._publish()

    def step(self, interval: float) -> None:
        moment, changed_at = self._desk.monotonic(), self._changes()
        if changed_at == self._changed_at and moment < self._next_look:
            return
        self._next_look, self._changed_at = moment + interval, changed_at
        self._publish()
        there = {*self._ids(), *held_actions.tasks(self._base)}
        due = [id_ for id_ in sorted(there) if self._is_due(id_)]
        items = list(islice(filter(None, map(self._item, due)), _AT_ONCE))
        self._tell(items)
        gone = [id_ for id_ in self._told if id_ not in there]
        for id_ in gone:
            del self._told[id_]
        if gone:
            write_json(self._path, self._told, sync=False)
        if len(items) == _AT_ONCE:
            self._next_look = moment

    def _changes(self) -> list[int]:
        places = (self._messages, held_actions.directory(self._base))
        return [0 if one is None else one.st_mtime_ns for one in map(disk.facts_of, places)]

    def _ids(self) -> list[str]:
        names = (name for name in disk.names(self._messages) if name.endswith(_SUFFIX))
        return [name.removesuffix(_SUFFIX) for name in names if not name.startswith(".")]

    def _is_due(self, id_: str) -> bool:
        told = self._told.get(id_)
        if told is None:
            return True
        every = self._desk.config.settings.king.questions.remind_every_seconds
        passed = (self._desk.now() - read_timestamp(told["at"])).total_seconds()
        return bool(every) and passed >= every

    def _item(self, id_: str) -> Item | None:
        """None if it has just gone, or cannot be read."""
        with self._desk.faults.contained(f"messages/{HELD}/{id_}"):
            found = self._read(id_)
            if found is None:
                self._desk.set_aside_unreadable("messages", HELD, f"{id_}{_SUFFIX}")
            return found
        return None

    def _read(self, id_: str) -> Item | None:
        """None if it has just gone, or waits for approval: that is a question."""
        found = held_actions.read(self._base, id_)
        if found is not None and not found.reason:
            return None
        if found is not None:
            since = _moment(found.created_at, self._desk.now())
            words = "king_held_actions"
            return Item(id_, words, found.reason, since, id_, found.trace_id)
        held = self._desk.bus.look("messages", id_) if is_id(id_) else None
        if held is None or held[0] != HELD or not isinstance(held[1], MessageBase):
            return None
        message, delivery = held[1], held[1].delivery
        since = delivery.processed_at or self._desk.now()
        reason, words = delivery.last_error_message or "", "king_held_message"
        return Item(id_, words, reason, since, message.task_id, message.trace_id)

    def _tell(self, items: list[Item]) -> None:
        if not items:
            return
        now, words = self._desk.now(), self._desk.words
        for id_, item in zip(self._desk.ids("msg", len(items)), items, strict=True):
            said = words(item.words, id=item.id, reason=item.reason)
            if item.id in self._told:
                span = words.span(max((now - item.since).total_seconds(), 0.0))
                said = words("king_held_still", span=span, said=said)
            message = {
                "id": id_,
                "content": said,
                "urgency": "high",
                "task_id": item.task_id,
                "trace_id": item.trace_id,
                # It opens no thread for its task, and keeps none open.
                "context": {"held": item.id, "progress": True},
            }
            self._told[item.id] = {"at": isoformat(now), "message": message}
        self._publish()

    def _publish(self) -> None:
        """What is still to be, or may be: the bus knows what it had before."""
        waiting = [told for told in self._told.values() if told["message"] is not None]
        if not waiting:
            return
        write_json(self._path, self._told)
        now = self._desk.now()
        made = [Notification(**told["message"], created_at=now) for told in waiting]
        self._desk.bus.publish("messages", *made)
        for told in waiting:
            told["message"] = None
        write_json(self._path, self._told, sync=False)


def _moment(value: object, otherwise: datetime) -> datetime:
    try:
        return read_timestamp(value)
    except PydanticCustomError:
        return otherwise


def _is_whole(told: object) -> bool:
    if not isinstance(told, Mapping) or told.keys() != _KEYS:
        return False
    try:
        at = read_timestamp(told["at"])
        if told["message"] is not None:
            Notification(**told["message"], created_at=at)
    except (PydanticCustomError, ValidationError, TypeError):
        return False
    return True
