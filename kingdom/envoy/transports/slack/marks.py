"""Reactions on a thread's first message: how its task stands, at a glance.

They are an ornament: one that Slack refuses keeps no message from being sent.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.clock import Clock
from kingdom.envoy.rendering import NOTABLE
from kingdom.envoy.threads import is_final, named, stands_alone
from kingdom.models.message import HumanInputRequest, MessageBase, ThreadStart

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

SEEN, WAITING, DONE, FAILED = "eyes", "raising_hand", "white_check_mark", "x"
CANCELLED = "no_entry_sign"
_ENDED = {"done": DONE, "failed": FAILED, "cancelled": CANCELLED}
_MOST_WAITING = 1_000


class Change(NamedTuple):
    name: str
    is_set: bool


def changes(message: MessageBase) -> list[Change]:
    """What this message says of how its task stands."""
    if message.task_id is None or stands_alone(message):
        return []
    if isinstance(message, HumanInputRequest):
        return [Change(WAITING, True)]
    if is_final(message):
        return [Change(WAITING, False), Change(_ended(message), True)]
    if isinstance(message, ThreadStart):
        return [Change(SEEN, True)]
    return [Change(WAITING, False)] if named(message, "answers") else []


def _ended(message: MessageBase) -> str:
    """As the king says; by how loud it is, where an earlier version said nothing."""
    said = (message.reply_context or {}).get("outcome")
    by_sound = FAILED if message.urgency in NOTABLE else DONE
    return _ENDED.get(said, by_sound) if isinstance(said, str) else by_sound


class Marks:
    """What cannot be set now is set a little later, unless the process ends before."""

    def __init__(self, slack: Slack, clock: Clock, log: FilteringBoundLogger) -> None:
        self._slack = slack
        self._clock = clock
        self._log = log
        self._waiting: deque[tuple[Posted, Change]] = deque(maxlen=_MOST_WAITING)
        self._not_before: datetime | None = None

    def mark(self, parent: Posted, message: MessageBase) -> None:
        self._waiting.extend((parent, change) for change in changes(message))
        self.catch_up()

    def catch_up(self) -> None:
        if self._not_before is not None and self._clock.now() < self._not_before:
            return
        self._not_before = None
        while self._waiting and self._not_before is None:
            parent, change = self._waiting[0]
            try:
                self._set(parent, change)
            except SlackLater as error:
                self._not_before = error.not_before
                if error.not_before is None:
                    self._drop(change, error)
            except SlackRefused as error:
                self._drop(change, error)
            else:
                self._waiting.popleft()

    def _set(self, parent: Posted, change: Change) -> None:
        if change.is_set:
            self._slack.react(parent, change.name)
        else:
            self._slack.unreact(parent, change.name)

    def _drop(self, change: Change, error: Exception) -> None:
        self._waiting.popleft()
        self._log.warning("reaction.not_set", reaction=change.name, error=str(error))
