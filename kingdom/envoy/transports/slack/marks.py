"""Reactions on a thread's first message: how its task stands, at a glance.

They are an ornament: one that Slack refuses keeps no message from being sent. Those that wait for a
limit to end are kept in `state/envoy/reactions.json`, which is there only while some do.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, still_waits
from kingdom.envoy.rendering import NOTABLE
from kingdom.envoy.threads import is_final, named, stands_alone
from kingdom.models.message import HumanInputRequest, MessageBase, ThreadStart
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

SEEN, WAITING, DONE, FAILED = "eyes", "raising_hand", "white_check_mark", "x"
CANCELLED = "no_entry_sign"
_ENDED = {"done": DONE, "failed": FAILED, "cancelled": CANCELLED}
_MOST_WAITING = 1_000


class Change(NamedTuple):
    name: str
    is_set: bool


Mark = tuple[Posted, Change]


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
    """What cannot be set now is set a little later, also by the next process."""

    def __init__(
        self, slack: Slack, clock: Clock, log: FilteringBoundLogger, base: BaseDir
    ) -> None:
        self._slack = slack
        self._clock = clock
        self._log = log
        self._directory = base.path("state", "envoy")
        self._path = base.path("state", "envoy", "reactions.json")
        self._kept = _read(self._path)
        self._waiting: deque[Mark] = deque(self._kept, maxlen=_MOST_WAITING)
        self._not_before: datetime | None = None

    def mark(self, parent: Posted, message: MessageBase) -> None:
        self._waiting.extend((parent, change) for change in changes(message))
        self.catch_up()

    def catch_up(self) -> None:
        until, now = self._not_before, self._clock.now()
        if until is None or not still_waits(until, now, LONGEST_LIMIT):
            self._set_what_waits()
        self._keep()

    def _set_what_waits(self) -> None:
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

    def _keep(self) -> None:
        waiting = list(self._waiting)
        if waiting == self._kept:
            return
        try:
            disk.make_directory(self._directory)
            if waiting:
                write_json(
                    self._path, [[parent.channel, parent.ts, *change] for parent, change in waiting]
                )
            else:
                disk.remove(self._path)
        except OSError as error:
            self._log.warning("reactions.not_kept", error=str(error))
        self._kept = waiting

    def _set(self, parent: Posted, change: Change) -> None:
        if change.is_set:
            self._slack.react(parent, change.name)
        else:
            self._slack.unreact(parent, change.name)

    def _drop(self, change: Change, error: Exception) -> None:
        self._waiting.popleft()
        self._log.warning("reaction.not_set", reaction=change.name, error=str(error))


def _read(path: str) -> list[Mark]:
    content = read_json(path, [])
    return [mark for one in content if (mark := _mark(one))] if isinstance(content, list) else []


def _mark(raw: Any) -> Mark | None:
    match raw:
        case [str(channel), str(ts), str(name), bool(is_set)]:
            return Posted(channel, ts), Change(name, is_set)
    return None
