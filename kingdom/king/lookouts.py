"""Tells people of a watcher that sees nothing: once when it begins, and once when it is over.

The sentinel writes how its watchers fare to `state/sentinel/watchers.json` and makes no messages.
What was told is in `state/king/watchers-told.json`, with the message's id, and is written before
the message is: a crash in between publishes the same message again, and the bus knows its id.
"""

from __future__ import annotations

from typing import Any

from kingdom.king.desk import Desk
from kingdom.models.message import Notification
from kingdom.store import disk
from kingdom.store.state import read_json, write_json

OK = "ok"
_KEYS = {"code", "message_id", "content", "urgency"}


class Lookouts:
    def __init__(self, desk: Desk) -> None:
        base = desk.setting.base
        self._desk = desk
        self._source = base.path("state", "sentinel", "watchers.json")
        self._path = base.path("state", "king", "watchers-told.json")
        self._told: dict[str, dict[str, Any]] = {}
        self._stamp: object = None
        self._next_look = float("-inf")

    def start(self) -> None:
        kept = _objects(read_json(self._path, {}))
        self._told = {name: told for name, told in kept.items() if told.keys() >= _KEYS}
        for told in self._told.values():
            self._publish(told)

    def step(self, interval: float) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look:
            return
        self._next_look = moment + interval
        facts = disk.facts_of(self._source)
        stamp = facts and disk.stamp_of(facts)
        if stamp == self._stamp:
            return
        for name, standing in _objects(read_json(self._source, {})).items():
            self._consider(name, standing)
        self._stamp = stamp

    def _consider(self, name: str, standing: dict[str, Any]) -> None:
        told, words = self._told.get(name, {}), self._desk.words
        if standing.get("alarming") and told.get("code") != standing.get("code"):
            said = " ".join(filter(None, (standing.get("sentence"), standing.get("remedy"))))
            content = words("king_watcher_trouble", watcher=name, said=said)
            self._tell(name, str(standing.get("code")), content, "high")
        elif standing.get("state") == OK and told.get("code"):
            self._tell(name, "", words("king_watcher_ok", watcher=name), "normal")

    def _tell(self, name: str, code: str, content: str, urgency: str) -> None:
        (id_,) = self._desk.ids("msg", 1)
        told = {"code": code, "message_id": id_, "content": content, "urgency": urgency}
        self._told[name] = told
        write_json(self._path, self._told)
        self._publish(told)

    def _publish(self, told: dict[str, Any]) -> None:
        """Known already, unless a crash came in between."""
        message = Notification(
            id=told["message_id"],
            content=told["content"],
            urgency=told["urgency"],
            created_at=self._desk.now(),
        )
        self._desk.bus.publish("messages", message)


def _objects(found: object) -> dict[str, dict[str, Any]]:
    if not isinstance(found, dict):
        return {}
    return {name: one for name, one in found.items() if isinstance(one, dict)}
