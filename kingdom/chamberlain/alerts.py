"""Tells people of a condition: once when it begins, and once more when it is over.

What was told is in `state/chamberlain/alerts.json`. A message's id is written there before it is
published: a crash in between publishes the same message again, and the bus knows its id.
"""

from __future__ import annotations

from kingdom.chamberlain.duty import Office
from kingdom.clock import isoformat
from kingdom.models.fields import Urgency
from kingdom.models.message import Notification
from kingdom.store.state import read_json, write_json

_KEYS = {"since", "is_open", "message"}
_MESSAGE_KEYS = {"id", "content", "urgency"}


class Alerts:
    """Conditions by name, such as `heartbeat:gen-pr`."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._path = office.path("alerts.json")
        self._told = office.board.told  # one for all: each writes the whole file

    def start(self) -> None:
        kept = read_json(self._path, {})
        entries = kept.items() if isinstance(kept, dict) else ()
        self._told |= {name: told for name, told in entries if _is_whole(told)}
        for name in list(self._told):
            self._publish(name)

    def is_open(self, condition: str) -> bool:
        return condition in self._told and bool(self._told[condition]["is_open"])

    def open_ones(self, prefix: str = "") -> list[str]:
        return [name for name in self._told if name.startswith(prefix) and self.is_open(name)]

    def begin(self, condition: str, content: str, urgency: Urgency = "high") -> bool:
        """Whether it was not known yet."""
        if self.is_open(condition):
            return False
        self._tell(condition, content, urgency, is_open=True)
        return True

    def end(self, condition: str, content: str) -> bool:
        """Whether it had begun."""
        if not self.is_open(condition):
            return False
        self._tell(condition, content, "normal", is_open=False)
        return True

    def forget(self, condition: str) -> None:
        """It is over, and something else is told instead."""
        if self._told.pop(condition, None) is not None:
            write_json(self._path, self._told)

    def _tell(self, condition: str, content: str, urgency: Urgency, *, is_open: bool) -> None:
        message = {"id": self._office.bus.next_id("msg"), "content": content, "urgency": urgency}
        since = isoformat(self._office.now())
        self._told[condition] = {"since": since, "is_open": is_open, "message": message}
        write_json(self._path, self._told)
        self._office.log.info("alert.told", condition=condition, is_open=is_open, text=content)
        self._publish(condition)

    def _publish(self, condition: str) -> None:
        """If that is still to be done. What is over and told is forgotten."""
        told = self._told[condition]
        if told["message"] is None:
            return
        message = Notification(**told["message"], created_at=self._office.now())
        self._office.bus.publish("messages", message)
        if told["is_open"]:
            told["message"] = None
        else:
            del self._told[condition]
        write_json(self._path, self._told, sync=False)


def _is_whole(told: object) -> bool:
    if not isinstance(told, dict) or told.keys() != _KEYS:
        return False
    message = told["message"]
    return message is None or (isinstance(message, dict) and message.keys() == _MESSAGE_KEYS)
