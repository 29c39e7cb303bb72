"""What each conversation has had within the last hour, and which ones were stopped.

Keeps `state/king/conversations.json`, written once a step. A crash costs at most the turns of that
step, and those of them that are still at work are counted again at the next start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import PydanticCustomError

from kingdom.clock import isoformat, still_waits
from kingdom.king import conversations
from kingdom.king.chat import place_in
from kingdom.king.conversations import Conversation, Failing, Limit, Stopped, Turn
from kingdom.king.desk import Desk
from kingdom.king.outcomes import Draft
from kingdom.king.outstanding import Outstanding
from kingdom.models.event import Event
from kingdom.models.fields import read_timestamp
from kingdom.models.message import Notification, ThreadUpdate
from kingdom.models.result import ResultBase
from kingdom.models.task import Task
from kingdom.store.spending import Day, price
from kingdom.store.state import read_json, write_json
from kingdom.words import ENGLISH, Words

FILE = ("state", "king", "conversations.json")
PAUSE = timedelta(hours=20)  # of a schedule that keeps failing; a nightly one misses no night
_MOST = 5_000  # conversations; more than are busy within an hour
_FEW, _WRITTEN_PER_SECOND = 200, 10  # a long file is written less often


class Conversations:
    def __init__(self, desk: Desk, outstanding: Outstanding) -> None:
        self._desk = desk
        self._outstanding = outstanding
        self._path = desk.setting.base.path(*FILE)
        self._known: dict[str, Conversation] = {}
        self._changed = False
        self._next_write = float("-inf")
        self._day: Day | None = None

    def start(self) -> None:
        """After it is known which tasks are under way."""
        self._known = dict(_read(read_json(self._path, {})))
        for task in self._outstanding.tasks():
            if conversations.conversation_of(task):
                turns = self._of(task).turns
                turns.setdefault(task.event_id, Turn(task.created_at, task.trust == "bot"))

    def step(self) -> None:
        moment = self._desk.monotonic()
        if self._changed and moment >= self._next_write:
            self._next_write = moment + len(self._known) // _FEW / _WRITTEN_PER_SECOND
            self._write()

    def write(self) -> None:
        if self._changed:
            self._write()

    def _write(self) -> None:
        now = self._desk.now()
        for one in self._known.values():
            one.forget_old(now)
        known = [(name, one) for name, one in self._known.items() if not one.is_over]
        self._known = dict(known[-_MOST:])
        write_json(self._path, {name: _told(one) for name, one in known[-_MOST:]}, sync=False)
        self._changed = False

    # Before it is taken up

    def refusal(self, event: Event, general: str) -> Limit | None:
        king = self._desk.config.settings.king
        known, bots = self._seen(event), king.bots.start_work
        return conversations.refusal(event, general, known, king.conversation, bots)

    def wait(self, event: Event) -> Limit | None:
        limits = self._desk.config.settings.king.conversation
        return conversations.wait(event, self._seen(event), limits)

    def stop(self, event: Event, limit: Limit) -> None:
        """People are told, once a day for each conversation and limit. That bots start no work is
        no news."""
        if limit.code == "bot":
            return
        now, known = self._desk.now(), self._of(event)
        known.stopped.pop(event.id, None)
        known.stopped[event.id] = Stopped(limit.reason(event.id), now)
        id_ = _message_id(f"{conversations.name_of(event)} {limit.code} {now:%Y%m%d}")
        said = limit.reason(event.id, self._desk.words)
        kind = ThreadUpdate if _has_a_thread(event) else Notification
        draft = Draft(kind, said, {"urgency": "high"})
        told = event if kind is ThreadUpdate else event.revised(payload={})
        if self._desk.bus.publish("messages", self._desk.reply(id_, draft, told))[0]:
            self._desk.log.warning(
                "conversation.stopped", event_id=event.id, limit=limit.code, reason=said
            )

    def count(self, event: Event) -> None:
        """It is taken up."""
        is_turn = bool(conversations.conversation_of(event))
        if not is_turn and conversations.name_of(event) not in self._known:
            return
        known = self._of(event)
        if is_turn:
            known.turns[event.id] = Turn(self._desk.now(), conversations.is_bots(event))
        known.stopped.clear()

    def forget(self, event: Event) -> None:
        """It has ended without being taken up."""
        known = self._known.get(conversations.name_of(event))
        if known is not None and event.id in known.stopped:
            del known.stopped[event.id]
            self._changed = True

    def release(self, event: Event) -> list[str]:
        """A person lets it go on, from the beginning; answers which others were stopped."""
        known = self._of(event)
        others = [id_ for id_ in known.stopped if id_ != event.id]
        known.turns.clear()
        known.failing.clear()
        known.stopped.clear()
        known.released[event.id] = self._desk.now()
        return others

    # When it has ended

    def note_end(self, task: Task, result: ResultBase) -> None:
        name, is_turn = conversations.name_of(task), bool(conversations.conversation_of(task))
        if not is_turn and name not in self._known and not conversations.is_failure(result):
            return
        now, known = self._desk.now(), self._of(task)
        if is_turn:
            turn = known.turns.get(task.event_id, Turn(task.created_at, task.trust == "bot"))
            usd = turn.usd + self._cost(task, result)
            known.turns[task.event_id] = turn._replace(usd=usd)
        general = task.target_general
        failing = conversations.after(result, task, known.failing.get(general), now)
        if failing is None:
            known.failing.pop(general, None)
            known.stopped.pop(task.original_task_id or "", None)
        else:
            known.failing[general] = failing

    def _cost(self, task: Task, result: ResultBase) -> float:
        """Of all its attempts."""
        told = float(price((result.metrics or {}).get("cost_usd")) or 0)
        today = self._desk.now().astimezone(self._desk.config.settings.system.zone).date()
        if self._day is None or self._day.date != str(today):
            self._day = Day(self._desk.setting.base, today)
        self._day.refresh()
        noted = (one.cost for one in self._day.attempts if one.task_id == task.id)
        return max(told, float(sum(one for one in noted if one is not None)))

    def is_paused(self, schedule: str, general: str, task_id: str | None) -> bool:
        """A schedule that has failed as often as it may runs once a day until it works."""
        known = self._known.get(schedule)
        found = known.failing.get(general) if known else None
        most = self._desk.config.settings.king.conversation.failures
        if known is None or found is None or found.times < most:
            return False
        now = self._desk.now()
        if not still_waits(found.at + PAUSE, now, PAUSE):
            return False
        if task_id and task_id not in known.stopped:
            values = {"about": schedule, "general": general, "count": found.times, "task": task_id}
            said = Words(ENGLISH)("king_limit_schedule", **values)
            known.stopped = {task_id: Stopped(said, now)}
            self._changed = True
            content = self._desk.words("king_limit_schedule", **values)
            id_ = _message_id(f"{schedule} {now:%Y%m%d}")
            told = Notification(id=id_, content=content, created_at=now, urgency="high")
            self._desk.bus.publish("messages", told)
        return True

    def _of(self, one: Event | Task) -> Conversation:
        """To be changed."""
        name, known = conversations.name_of(one), self._seen(one)
        self._known.pop(name, None)
        self._known[name] = known  # the busiest are the last
        self._changed = True
        return known

    def _seen(self, one: Event | Task) -> Conversation:
        known = self._known.get(conversations.name_of(one)) or Conversation()
        known.forget_old(self._desk.now())
        return known


def _message_id(about: str) -> str:
    """The bus knows it: what is said twice of the same is said once, also after a crash."""
    digest = hashlib.sha256(about.encode("utf-8", "backslashreplace")).hexdigest()
    return f"msg-limit-{digest[:16]}"


def _has_a_thread(event: Event) -> bool:
    return event.id.startswith("evt-slack-") and place_in(event.payload) is not None


def _told(one: Conversation) -> dict[str, Any]:
    return {
        "turns": {
            id_: {"at": isoformat(turn.at), "bot": turn.bot, "usd": turn.usd}
            for id_, turn in one.turns.items()
        },
        "failing": {
            general: {"input": found.input, "times": found.times, "at": isoformat(found.at)}
            for general, found in one.failing.items()
        },
        "stopped": {
            id_: {"reason": found.reason, "at": isoformat(found.at)}
            for id_, found in one.stopped.items()
        },
        "released": {id_: {"at": isoformat(at)} for id_, at in one.released.items()},
    }


def _read(raw: Any) -> Iterator[tuple[str, Conversation]]:
    """What can be read; the rest is forgotten."""
    for name, entry in raw.items() if isinstance(raw, dict) else ():
        try:
            made = Conversation(
                {
                    id_: Turn(_moment(one), bool(one["bot"]), float(one["usd"]))
                    for id_, one in entry["turns"].items()
                },
                {
                    general: Failing(str(one["input"]), int(one["times"]), _moment(one))
                    for general, one in entry["failing"].items()
                },
                {
                    id_: Stopped(str(one["reason"]), _moment(one))
                    for id_, one in entry["stopped"].items()
                },
                {id_: _moment(one) for id_, one in entry["released"].items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError, PydanticCustomError):
            continue
        yield name, made


def _moment(entry: dict[str, Any]) -> datetime:
    return read_timestamp(entry["at"])
