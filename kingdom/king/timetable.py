"""Schedules: makes their tasks when they are due, each slot once.

Keeps `state/king/schedule-sent.json`: for each schedule the slot served last and the ids given for
it, written before the task is published. A crash in between publishes the same ids again, which the
bus knows or does not. A schedule that is new, or whose cron changed, begins with the next slot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from kingdom.bus.port import New
from kingdom.clock import isoformat
from kingdom.king.conversation_state import Conversations
from kingdom.king.desk import Desk
from kingdom.king.gate import Gate
from kingdom.king.outcomes import start_of
from kingdom.king.outstanding import Outstanding
from kingdom.king.schedules import CATCH_UP, due, is_served, next_slot
from kingdom.models.fields import read_timestamp
from kingdom.models.ids import is_id
from kingdom.models.manifest import Schedule
from kingdom.models.task import Task
from kingdom.runtime.config import Config, General
from kingdom.store.state import read_json, write_json

_TRUST: Final = "member"  # whoever writes the configuration belongs here


@dataclass(frozen=True)
class Sent:
    """One schedule's line in the file."""

    cron: str
    slot: str  # the last one served, or when the schedule was first seen
    task_id: str | None = None
    msg_id: str | None = None
    published: bool = True

    @property
    def moment(self) -> datetime:
        return read_timestamp(self.slot)


class Timetable:
    def __init__(
        self, desk: Desk, gate: Gate, outstanding: Outstanding, conversations: Conversations
    ) -> None:
        self._desk = desk
        self._conversations = conversations
        self._gate = gate
        self._outstanding = outstanding
        self._path = desk.setting.base.path("state", "king", "schedule-sent.json")
        self._sent: dict[str, Sent] = {}
        self._next: dict[str, datetime] = {}
        self._known: Config | None = None
        self._deferred: dict[str, str] = {}

    def start(self) -> None:
        self._sent = dict(_read(read_json(self._path, {})))
        self._know()

    def step(self) -> None:
        if self._desk.config is not self._known:
            self._know()
        now = self._desk.now()
        for general, schedule in self._all():
            with self._desk.faults.contained(f"schedule {schedule.name}"):
                self._mend(schedule, now)
                sent = self._sent[schedule.name]
                if not sent.published:
                    self._publish(general, schedule, sent)
                if self._next[schedule.name] <= now:
                    self._serve(general, schedule, now)

    def seconds_left(self) -> float:
        """Until the next slot; what is due and held back waits for the gate instead."""
        now = self._desk.now()
        later = [moment for moment in self._next.values() if moment > now]
        return (min(later) - now).total_seconds() if later else float("inf")

    def _all(self) -> Iterator[tuple[General, Schedule]]:
        for general in self._desk.config.generals.values():
            for schedule in general.manifest.schedules:
                yield general, schedule

    def _know(self) -> None:
        """Take over the configuration: what is new begins now, what is gone is forgotten."""
        self._known = self._desk.config
        now, before = self._desk.now(), self._sent
        self._sent = {}
        for _, schedule in self._all():
            sent = before.get(schedule.name)
            if sent is None or sent.cron != schedule.cron:
                sent = Sent(schedule.cron, isoformat(now))
            self._sent[schedule.name] = sent
        self._next = {}
        for _, schedule in self._all():
            self._plan(schedule)
        if self._sent != before:
            self._write()

    def _mend(self, schedule: Schedule, now: datetime) -> None:
        """A clock that was ahead must not silence a schedule until it is there again."""
        sent, zone = self._sent[schedule.name], self._desk.config.settings.system.zone
        if sent.published and not is_served(schedule.cron, zone, sent.moment, now):
            self._desk.log.warning("schedule.begins_anew", schedule=schedule.name, slot=sent.slot)
            self._sent[schedule.name] = Sent(schedule.cron, isoformat(now))
            self._write()
            self._plan(schedule)

    def _plan(self, schedule: Schedule) -> None:
        after = max(self._sent[schedule.name].moment, self._desk.now() - CATCH_UP)
        zone = self._desk.config.settings.system.zone
        self._next[schedule.name] = next_slot(schedule.cron, zone, after)

    def _serve(self, general: General, schedule: Schedule, now: datetime) -> None:
        zone, sent = self._desk.config.settings.system.zone, self._sent[schedule.name]
        found = due(schedule.cron, zone, sent.moment, now)
        for slot in found.slots:
            if self._conversations.is_paused(_event_id(schedule), general.name, sent.task_id):
                passed = replace(self._sent[schedule.name], slot=isoformat(slot))
                self._sent[schedule.name] = passed
                self._write()
            elif self._is_held_back(general, schedule):
                return
            else:
                self._fire(general, schedule, slot)
        if found.left_out:
            self._desk.log.warning(
                "schedule.slots_left_out", schedule=schedule.name, caught_up=len(found.slots)
            )
        self._plan(schedule)

    def _is_held_back(self, general: General, schedule: Schedule) -> bool:
        """New work like any other; said once for each reason."""
        found = self._gate.deferral_for(general.manifest, "normal")
        code = found.code if found else ""
        if found and self._deferred.get(schedule.name) != code:
            self._desk.log.info("schedule.deferred", schedule=schedule.name, reason=found.reason)
        self._deferred[schedule.name] = code
        return found is not None

    def _fire(self, general: General, schedule: Schedule, slot: datetime) -> None:
        (task_id,), (msg_id,) = self._desk.ids("task", 1), self._desk.ids("msg", 1)
        sent = Sent(schedule.cron, isoformat(slot), task_id, msg_id, published=False)
        self._sent[schedule.name] = sent
        self._write()
        self._publish(general, schedule, sent)

    def _publish(self, general: General, schedule: Schedule, sent: Sent) -> None:
        desk = self._desk
        task = self._task(general, schedule, sent)
        (start,) = desk.messages_named([sent.msg_id or ""], [(start_of(task, desk.words), task)])
        is_new, _ = desk.hands.commit([], [New("tasks", task), start])
        self._sent[schedule.name] = replace(sent, published=True)
        self._write()
        if is_new:
            self._outstanding.add(task)
            desk.tell_of_task(task, task.type)
            desk.log.info("schedule.fired", schedule=schedule.name, task_id=task.id, slot=sent.slot)

    def _task(self, general: General, schedule: Schedule, sent: Sent) -> Task:
        event_id = _event_id(schedule)
        trace = hashlib.sha256(f"{event_id} {sent.task_id}".encode()).hexdigest()[:32]
        return Task(
            id=sent.task_id or "",
            event_id=event_id,
            target_general=general.name,
            type=schedule.task_type,
            payload=schedule.payload,
            priority=general.manifest.priority or "normal",
            created_at=self._desk.now(),
            repo=schedule.repo or general.manifest.default_repo,
            trust=_TRUST,
            trace_id=trace,
        )

    def _write(self) -> None:
        write_json(self._path, {name: asdict(sent) for name, sent in self._sent.items()})


def _event_id(schedule: Schedule) -> str:
    return f"schedule-{schedule.name}"


def _read(raw: Any) -> Iterator[tuple[str, Sent]]:
    """What can be read; a damaged entry is a schedule that is seen for the first time."""
    for name, entry in raw.items() if isinstance(raw, dict) else ():
        try:
            sent = Sent(**entry)
            read_timestamp(sent.slot)
        except (TypeError, ValueError):
            continue
        if sent.published or (is_id(sent.task_id) and is_id(sent.msg_id)):
            yield name, sent
