"""Tells people of a watcher that sees nothing: once when it begins, and once when it is over.

The sentinel writes how its watchers fare to `state/sentinel/watchers.json` and makes no messages.
What was told is in `state/king/watchers-told.json`. A message's id is written there before it is
published: a crash in between publishes the same message again, and the bus knows its id.

One kind of trouble is told once until it is over, and not again within the hour: a watcher that
comes and goes is no reason for a message each time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from kingdom.clock import SET_BACK, isoformat
from kingdom.king.desk import Desk
from kingdom.models.message import Notification
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.words import ENGLISH, Words

OK, TROUBLE = "ok", "trouble"
_QUIET = timedelta(hours=1)
_KEYS = {"codes", "is_open", "message"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        self._told = {name: told for name, told in kept.items() if _is_whole(told)}
        for name, told in self._told.items():
            with self._desk.faults.contained(f"watcher {name}"):
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
        standings = _objects(read_json(self._source, {}))
        for name in standings.keys() | self._told.keys():
            with self._desk.faults.contained(f"watcher {name}"):
                self._consider(name, standings.get(name, {}))
        self._stamp = stamp

    def _consider(self, name: str, standing: dict[str, Any]) -> None:
        told, words = self._told.get(name, _nothing()), self._desk.words
        code = str(standing.get("code"))
        if standing.get("alarming") and not self._was_told(told, code):
            content = words("king_watcher_trouble", watcher=name, said=_said(standing, code, words))
            codes = told["codes"] | {code: isoformat(self._desk.now())}
            self._tell(name, codes, content, is_open=True)
        elif standing.get("state") == OK and told["is_open"]:
            if standing.get("last_look") is None:
                return  # it did not look yet
            self._tell(name, told["codes"], words("king_watcher_ok", watcher=name), is_open=False)
        elif standing.get("state") != TROUBLE and told["is_open"]:  # it is off: nobody waits for it
            self._told[name] = told | {"is_open": False}
            write_json(self._path, self._told)

    def _was_told(self, told: dict[str, Any], code: str) -> bool:
        if code not in told["codes"]:
            return False
        now = self._desk.now()
        since, latest = isoformat(now - _QUIET), isoformat(now + SET_BACK)
        return bool(told["is_open"]) or since < str(told["codes"][code]) <= latest

    def _tell(self, name: str, codes: dict[str, str], content: str, *, is_open: bool) -> None:
        (id_,) = self._desk.ids("msg", 1)
        message = {"id": id_, "content": content, "urgency": "high" if is_open else "normal"}
        told = {"codes": codes, "is_open": is_open, "message": message}
        self._told[name] = told
        write_json(self._path, self._told)
        self._publish(told)

    def _publish(self, told: dict[str, Any]) -> None:
        """If that is still to be done; the bus knows it, unless a crash came in between."""
        if told["message"] is not None:
            message = Notification(**told["message"], created_at=self._desk.now())
            self._desk.bus.publish("messages", message)
            told["message"] = None
            write_json(self._path, self._told, sync=False)


def _said(standing: dict[str, Any], code: str, words: Words) -> str:
    """What a watcher says is English; in other languages it is quoted after the failure's own."""
    sentence, told = str(standing.get("sentence") or ""), words.failure(code)
    if words.language == ENGLISH or told is None:
        return " ".join(filter(None, (sentence, str(standing.get("remedy") or ""))))
    quoted = f"“{sentence}”" if sentence else ""
    return " ".join(filter(None, (told.sentence, quoted, told.remedy)))


def _nothing() -> dict[str, Any]:
    return {"codes": {}, "is_open": False, "message": None}


def _is_whole(told: dict[str, Any]) -> bool:
    if told.keys() != _KEYS or not isinstance(told["codes"], dict):
        return False
    try:
        if told["message"] is not None:
            Notification(**told["message"], created_at=_EPOCH)
    except (ValidationError, TypeError):
        return False
    return True


def _objects(found: object) -> dict[str, dict[str, Any]]:
    if not isinstance(found, dict):
        return {}
    return {name: one for name, one in found.items() if isinstance(one, dict)}
