"""Tells people of a condition: once when it begins, and once more when it is over.

What was told is in `state/chamberlain/alerts.json`. A message's id is written there before it is
published: a crash in between publishes the same message again, and the bus knows its id. What the
bus cannot take now is tried again; until it is out, nothing more is told of that condition.
"""

from __future__ import annotations

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.mending import is_message
from kingdom.clock import isoformat
from kingdom.errors import KingdomError
from kingdom.models.fields import Urgency
from kingdom.models.message import Notification
from kingdom.store.state import write_json

EVERY = 5.0  # seconds until what could not be published is tried again
FILE = "alerts.json"
_KEYS = {"since", "is_open", "message"}
_MESSAGE_KEYS = {"id", "content", "urgency"}


class Alerts:
    """Conditions by name, such as `heartbeat:gen-pr`."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._path = office.path(FILE)
        self._told = office.board.told  # one for all: each writes the whole file
        self._excuses: dict[str, str] = {}

    def start(self) -> None:
        kept = self._office.recall(FILE)
        whole = {name: told for name, told in kept.items() if _is_whole(told)}
        self._told |= whole
        if len(whole) < len(kept):
            self._office.say_damaged(FILE)
            write_json(self._path, self._told)  # or each duty that tells something would say so
        self.settle()

    def settle(self) -> None:
        """Publish what could not be published before."""
        for name in list(self._told):
            self._is_out(name)

    def is_open(self, condition: str) -> bool:
        return condition in self._told and bool(self._told[condition]["is_open"])

    def open_ones(self, prefix: str = "") -> list[str]:
        return [name for name in self._told if name.startswith(prefix) and self.is_open(name)]

    def begin(self, condition: str, content: str, urgency: Urgency = "high") -> bool:
        """Whether it was not known yet."""
        if not self._is_out(condition) or self.is_open(condition):
            return False
        self._tell(condition, content, urgency, is_open=True)
        return True

    def end(self, condition: str, content: str) -> bool:
        """Whether it had begun."""
        if not self._is_out(condition) or not self.is_open(condition):
            return False
        self._tell(condition, content, "normal", is_open=False)
        return True

    def forget(self, condition: str) -> None:
        """It is over, and something else is told instead."""
        if condition in self._told:
            write_json(self._path, {k: v for k, v in self._told.items() if k != condition})
            del self._told[condition]

    def _tell(self, condition: str, content: str, urgency: Urgency, *, is_open: bool) -> None:
        message = {"id": self._office.bus.next_id("msg"), "content": content, "urgency": urgency}
        since = isoformat(self._office.now())
        told = {"since": since, "is_open": is_open, "message": message}
        write_json(self._path, {**self._told, condition: told})  # or it is not known yet
        self._told[condition] = told
        self._office.log.info("alert.told", condition=condition, is_open=is_open, text=content)
        self._is_out(condition)

    def _is_out(self, condition: str) -> bool:
        """Whether nothing of it is left to be published, or is now."""
        try:
            if condition in self._told:
                self._publish(condition)
        except (KingdomError, OSError) as error:
            if self._excuses.get(condition) != str(error):
                self._excuses[condition] = str(error)
                self._office.log.warning("alert.put_off", condition=condition, error=str(error))
            return False
        self._excuses.pop(condition, None)
        return True

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


class TellLate:
    """The duty that sees to it that every alert gets out, however late."""

    name = "alerts"

    def __init__(self, office: Office) -> None:
        self._alerts = Alerts(office)

    def start(self) -> None:
        self._alerts.start()

    def step(self) -> float:
        self._alerts.settle()
        return EVERY

    def stop(self) -> None:
        """Nothing: what is not out yet is written."""


def _is_whole(told: object) -> bool:
    if not isinstance(told, dict) or told.keys() != _KEYS:
        return False
    message = told["message"]
    return (
        isinstance(told["since"], str)
        and isinstance(told["is_open"], bool)
        and (message is None or is_message(message, _MESSAGE_KEYS, Notification))
    )
