"""People are told of what lies in `dead/` before it goes, and it goes only if they were.

`state/chamberlain/dead-told.json` names each file and since when people know of it. The message's
id is written there before it is published: a crash in between publishes the same one again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.mending import is_message
from kingdom.clock import isoformat
from kingdom.models.message import Notification
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

FILE = "dead-told.json"
AHEAD = timedelta(days=3)
_SLACK = timedelta(hours=2)  # a round does not begin to the second
NOT_TOLD = "People are told three days before."


class Notices:
    """What is known already; `objection` notes what is not yet."""

    def __init__(self, base: BaseDir, now: datetime) -> None:
        self._path = base.path("state", "chamberlain", FILE)
        self._now = now
        kept = read_json(self._path, {})
        self._kept: dict[str, Any] = kept if isinstance(kept, dict) else {}
        told = self._kept.get("told")
        self._told: dict[str, str] = {
            name: moment
            for name, moment in (told.items() if isinstance(told, dict) else ())
            if _is_moment(moment)
        }
        self._lying: dict[str, str] = {}  # those of `_told` that are still there, and new ones
        self._fresh = 0

    def told_before(self, before: datetime) -> datetime:
        return before + AHEAD

    def objection(self, stream: str, name: str) -> str:
        """Why it may not go yet."""
        key = f"{stream}/{name}"
        known = self._told.get(key)
        self._fresh += known is None
        self._lying[key] = known or isoformat(self._now)
        since = self._now - datetime.fromisoformat(self._lying[key])
        return "" if since >= AHEAD - _SLACK else NOT_TOLD

    def tell(self, office: Office) -> None:
        """At the end of a round: of those that people do not know, in one message."""
        message = self._kept.get("message")
        self._told = self._lying
        if self._fresh:
            day = (self._now + AHEAD).astimezone(office.config.settings.system.zone).date()
            message = {
                "id": office.bus.next_id("msg"),
                "content": office.words("chamberlain_dead", count=self._fresh, day=day),
            }
        self._write(message)
        self._fresh = 0
        self.publish(office)

    def publish(self, office: Office) -> None:
        """If that is still to be done."""
        message = self._kept.get("message")
        if not is_message(message, {"id", "content"}, Notification):
            if message is not None:
                office.say_damaged(FILE)
                self._write(None)
            return
        said = Notification(**message, urgency="normal", created_at=office.now())
        office.bus.publish("messages", said)
        self._write(None)

    def _write(self, message: object) -> None:
        value = {"told": self._told, "message": message}
        if value != self._kept:
            write_json(self._path, value)
            self._kept = value


def _is_moment(value: object) -> bool:
    try:
        return datetime.fromisoformat(str(value)).tzinfo is not None
    except ValueError:
        return False
