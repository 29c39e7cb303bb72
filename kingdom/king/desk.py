"""What all parts of the king work with: the bus, the clock, the log, words, and what is in hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import PATIENCE
from kingdom.bus.port import Accept, Claim, Move, New, Problem
from kingdom.errors import KingdomError, LeaseLost, TryLater
from kingdom.king.chat import Place, place_heard, place_of
from kingdom.king.ids import Ids
from kingdom.king.outcomes import Draft, trust_of
from kingdom.king.routing import trace_of
from kingdom.models.base import Record
from kingdom.models.event import Event
from kingdom.models.message import MessageBase
from kingdom.models.task import Task
from kingdom.runtime.config import Config
from kingdom.runtime.faults import Faults
from kingdom.runtime.role import Setting
from kingdom.runtime.task_log import TaskLog
from kingdom.store import disk
from kingdom.topology import PENDING
from kingdom.words import Words

WORKER = "king"
SOON = timedelta(seconds=1)
MOST_AT_ONCE = 32
ROUNDS = 8
RECORDED = "not_shown"  # the bus has it safe, and the queues will show it: it is done


class Hands:
    """Claims under way. A step that failed leaves them here, and the next one goes on with them:
    the bus would give them to nobody, this process included, until their lease is over.

    A message that kills the king takes along whatever was claimed with it, and after some deaths
    all of that would be buried. So a new king takes one at first, and more as it goes well.
    """

    def __init__(self, bus: FileBus, faults: Faults) -> None:
        self._bus = bus
        self._faults = faults
        self._held: dict[tuple[str, str], Claim] = {}
        self._unshown = False
        self._most = 1

    def settle(self) -> None:
        """See to it that the queues show all we did: what they do not show would be done again."""
        if self._unshown:
            with self._bus.quiet():
                self._unshown = False

    def take(self, stream: str, limit: int, accept: Accept | None = None) -> list[Claim]:
        """What is due; what was left from before comes first, and all at once."""
        left = [one for one in self._held.values() if _is_due(one, stream, accept)]
        if left:
            return left
        most = min(limit, self._most)
        return self._keep(self._bus.claim(stream, WORKER, most, accept=accept))

    def rounds(self, stream: str, accept: Accept | None = None) -> Iterator[list[Claim]]:
        """What is due, some at a time; not all of a long queue, so that others have their turn."""
        for _ in range(ROUNDS):
            claims = self.take(stream, MOST_AT_ONCE, accept)
            if not claims:
                return
            yield claims

    def alone(self, claim: Claim) -> AbstractContextManager[None]:
        """Whatever goes wrong with this one costs no other: it is tried again later, and when its
        attempts are spent it goes to `dead/`."""
        what = f"{claim.stream}/{claim.id}"
        return self._faults.contained(what, partial(self._set_aside, claim))

    def _set_aside(self, claim: Claim, problem: Problem) -> None:
        try:
            self._bus.retry(claim, problem)
        finally:
            self._held.pop((claim.stream, claim.id), None)

    def holds(self, claim: Claim) -> bool:
        return self._held.get((claim.stream, claim.id)) is claim

    def named(self, stream: str, id_: str, *states: str) -> Claim | None:
        """This message, if it lies in one of these states now; without any, wherever it lies. None
        if it does not, or someone else holds it."""
        held = self._held.get((stream, id_))
        if held is not None:
            return held if not states or held.state in states else None
        try:
            claims = self._bus.claim(stream, WORKER, ids=[id_], judge=partial(_lies_in, states))
        except _LiesElsewhere:
            return None
        return next(iter(self._keep(claims)), None)

    def _keep(self, claims: list[Claim]) -> list[Claim]:
        for claim in claims:
            self._held[claim.stream, claim.id] = claim
        return claims

    def commit(self, moves: Iterable[Move], publish: Iterable[New] = ()) -> list[bool]:
        """As the bus does it, for what is in hand."""
        moves, publish = list(moves), list(publish)
        try:
            answers = self._bus.commit(moves, publish)
        except LeaseLost:
            self._held.clear()  # whichever it was: the bus will hand out again what is ours
            raise
        except TryLater as error:
            if error.code != RECORDED:
                raise
            self._unshown = True
            answers = [True] * len(publish)
        for move in moves:
            self._held.pop((move.claim.stream, move.claim.id), None)
        self._most = min(self._most * 2, MOST_AT_ONCE)
        return answers

    def put_off(self, claim: Claim, until: datetime, reason: str) -> None:
        self._bus.defer(claim, until, reason)
        self._held.pop((claim.stream, claim.id), None)

    def put_back(self, claim: Claim) -> None:
        """It lay there when we took it, and is none of our business."""
        status = "" if claim.stream == "results" else claim.message.status
        self.commit([Move(claim, claim.state, status)])


class _LiesElsewhere(KingdomError):
    """It has moved since it was looked at."""


def _lies_in(states: Sequence[str], state: str, message: Record) -> None:
    if states and state not in states:
        raise _LiesElsewhere(f"{message.id} lies in {state}.")


def _is_due(claim: Claim, stream: str, accept: Accept | None) -> bool:
    """Whether it was taken to be handled; others were taken to be moved along with one of those."""
    if claim.stream != stream or claim.state != PENDING or claim.message.delivery.processed_at:
        return False
    fields = claim.message.__dict__
    return accept is None or accept(fields.get("type", ""), fields.get("priority", "normal"))


def _placed(place: Place | None, fields: dict[str, Any]) -> dict[str, Any]:
    """Where the person spoke, unless the draft names a channel of its own."""
    return fields if place is None or "channel" in fields else place._asdict() | fields


class Desk:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.bus = setting.bus
        self.log = setting.log
        self.faults = setting.faults
        self.hands = Hands(setting.bus, self.faults)
        self.reserve = Ids(setting.bus)
        self.task_log = TaskLog(setting.base, setting.name, setting.clock)
        self._words: tuple[str, Words] | None = None
        self._caretaker = Caretaker(setting.base, setting.clock)

    @property
    def config(self) -> Config:
        return self.setting.config.current

    @property
    def words(self) -> Words:
        language = self.config.settings.system.language
        if self._words is None or self._words[0] != language:
            self._words = language, Words(language)
        return self._words[1]

    def now(self) -> datetime:
        return self.setting.clock.now()

    def shown(self, moment: datetime) -> str:
        """As people read it, in the kingdom's time zone."""
        return f"{moment.astimezone(self.config.settings.system.zone):%Y-%m-%d %H:%M:%S}"

    def soon(self) -> datetime:
        return self.now() + SOON

    def monotonic(self) -> float:
        return self.setting.clock.monotonic()

    def ids(self, kind: str, count: int) -> list[str]:
        zone = self.config.settings.system.zone
        return self.reserve.take(kind, count, f"{self.now().astimezone(zone):%Y%m%d}")

    def messages(self, drafts: Iterable[tuple[Draft, Task]]) -> list[New]:
        """Each with an id of its own, in the thread of its task."""
        pairs = list(drafts)
        return self.messages_named(self.ids("msg", len(pairs)), pairs)

    def messages_named(self, ids: list[str], drafts: list[tuple[Draft, Task]]) -> list[New]:
        return [New("messages", self._message(*one)) for one in zip(ids, drafts, strict=True)]

    def _message(self, id_: str, of: tuple[Draft, Task]) -> MessageBase:
        draft, task = of
        return draft.kind(
            id=id_,
            content=draft.content,
            created_at=self.now(),
            task_id=task.id,
            trace_id=task.trace_id,
            **_placed(place_of(task), draft.fields),
        )

    def replies(self, drafts: Iterable[tuple[Draft, Event]]) -> list[New]:
        """For people who wrote, where they did; there is no task."""
        pairs = list(drafts)
        return [
            New("messages", self.reply(id_, *pair))
            for id_, pair in zip(self.ids("msg", len(pairs)), pairs, strict=True)
        ]

    def reply(self, id_: str, draft: Draft, event: Event) -> MessageBase:
        return draft.kind(
            id=id_,
            content=draft.content,
            created_at=self.now(),
            trace_id=trace_of(event),
            **_placed(place_heard(event), draft.fields),
        )

    def set_aside_unreadable(self, stream: str, state: str, name: str) -> None:
        """Of files where nobody claims from; unless somebody may still be writing it."""
        facts = disk.facts_of(f"{self._caretaker.places.directory(stream, state)}/{name}")
        if facts is not None and self.now().timestamp() - facts.st_mtime >= PATIENCE:
            with suppress(FileNotFoundError):
                self._caretaker.condemn_invalid(stream, state, name)

    def tell(self, type_: str, trace_id: str | None, **data: Any) -> None:
        self.setting.tell(type_, data, trace_id)

    def tell_of_task(self, task: Task, event_type: str) -> None:
        """A task has come to be."""
        self.tell(
            "task.created",
            task.trace_id,
            task_id=task.id,
            event_type=event_type,
            target_general=task.target_general,
            priority=task.priority,
        )
        self.task_log.note(
            task.id,
            "created",
            general=task.target_general,
            type=task.type,
            event=task.event_id,
            original=task.original_task_id,
        )
        if task.trust_reason is not None and trust_of(task) != "member":
            told = {"trust": trust_of(task), "reason": task.trust_reason}
            self.tell("task.trust_lowered", task.trace_id, task_id=task.id, **told)
            self.task_log.note(task.id, "trust_lowered", **told)
