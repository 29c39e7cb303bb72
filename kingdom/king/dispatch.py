"""Events that ask for work: superseded, discarded, refused, or made tasks, each in one commit.

A crash before the commit leaves the events pending; after it, everything is done but the lines in
the logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kingdom.bus.port import Claim, Move, New
from kingdom.king import chat
from kingdom.king.admission import Deferral
from kingdom.king.conversation_state import Conversations
from kingdom.king.conversations import Limit
from kingdom.king.courtesy import Courtesy
from kingdom.king.desk import MOST_AT_ONCE, ROUNDS, Desk
from kingdom.king.gate import Deferrals, Gate
from kingdom.king.outcomes import Draft, start_of
from kingdom.king.outstanding import Outstanding
from kingdom.king.routing import newest, task_for, trace_of
from kingdom.models.event import Event
from kingdom.models.message import ThreadUpdate
from kingdom.models.task import Task
from kingdom.runtime.config import General
from kingdom.topology import PENDING


@dataclass
class _Batch:
    """What becomes of the events that were taken together."""

    superseded: list[tuple[Claim, Event]] = field(default_factory=list)  # and by which
    discarded: list[Claim] = field(default_factory=list)
    refused: list[tuple[Claim, Limit]] = field(default_factory=list)
    dispatched: list[tuple[Claim, Task]] = field(default_factory=list)


class Dispatch:
    def __init__(
        self,
        desk: Desk,
        gate: Gate,
        outstanding: Outstanding,
        deferrals: Deferrals,
        courtesy: Courtesy,
        conversations: Conversations,
    ) -> None:
        self._desk = desk
        self._gate = gate
        self._outstanding = outstanding
        self._deferrals = deferrals
        self._courtesy = courtesy
        self._conversations = conversations

    def step(self) -> None:
        done: list[_Batch] = []
        try:
            for _ in range(ROUNDS):
                limit = self._gate.room(MOST_AT_ONCE)
                claims = self._desk.hands.take("events", limit, self._gate.accept_work)
                if not claims:
                    break
                done += self._handle_all(claims)
        finally:
            for batch in done:  # an event that came meanwhile did not wait for the logs
                with self._desk.faults.contained("telling of events"):
                    self._tell(batch)

    def _handle_all(self, claims: list[Claim]) -> list[_Batch]:
        """In one commit; one by one, if one of them is in the way of the others."""
        done: list[_Batch] = []
        if len(claims) > 1:
            with self._desk.faults.contained("several events at once"):
                return [self._handle(claims)]
        for claim in filter(self._desk.hands.holds, claims):
            with self._desk.hands.alone(claim):
                done.append(self._handle([claim]))
        return done

    def _handle(self, claims: list[Claim]) -> _Batch:
        batch = self._decide([claim for claim in claims if not self._is_answered(claim)])
        if batch == _Batch():
            return batch
        moves = [
            Move(claim, "dispatched", fields={"task_id": task.id, "trace_id": task.trace_id})
            for claim, task in batch.dispatched
        ]
        moves += [_end(claim, f"Superseded by {winner.id}.") for claim, winner in batch.superseded]
        moves += [_end(claim, _nobody(claim)) for claim in batch.discarded]
        moves += [_end(claim, limit.reason(claim.id)) for claim, limit in batch.refused]
        words = self._desk.words
        tasks = [task for _, task in batch.dispatched]
        starts = self._desk.messages((start_of(task, words), task) for task in tasks)
        unheard = self._desk.replies(self._unheard(batch.discarded))
        self._desk.hands.commit(moves, [*(New("tasks", task) for task in tasks), *starts, *unheard])
        for task in tasks:
            self._outstanding.add(task)
        return batch

    def _unheard(self, discarded: list[Claim]) -> Iterator[tuple[Draft, Event]]:
        """People who wrote to nobody are told whom they can write to."""
        names = ", ".join(self._desk.config.generals)
        said = self._desk.words("king_nobody_hears", generals=names)
        for claim in discarded:
            event = _event(claim)
            is_heard = event.trust == "member" or chat.place_heard(event) is not None
            if chat.is_chat(event.type) and is_heard:
                yield Draft(ThreadUpdate, said), event

    def _is_answered(self, claim: Claim) -> bool:
        """Small talk is, at once."""
        event = _event(claim)
        reply = self._courtesy.reply_to(event)
        if reply is not None:
            self._courtesy.answer(claim, event, reply)
            self._deferrals.forget(event.id)
        return reply is not None

    def _decide(self, claims: list[Claim]) -> _Batch:
        batch, taken = _Batch(), []
        for rivals in self._by_subject(claims):
            # One that is refused stands in nobody's way.
            welcome = [claim for claim in rivals if not self._is_refused(claim, batch)]
            if not welcome:
                continue
            winner = newest([_event(claim) for claim in welcome])
            batch.superseded += [(claim, winner) for claim in welcome if claim.id != winner.id]
            (claim,) = (claim for claim in welcome if claim.id == winner.id)
            general, event = self._whose(winner)
            if general is None:
                batch.discarded.append(claim)
            elif not self._is_put_off(claim, event, general):
                self._conversations.count(event)
                taken.append((claim, event, general))
        ids, now = self._desk.ids("task", len(taken)), self._desk.now()
        for id_, (claim, event, general) in zip(ids, taken, strict=True):
            batch.dispatched.append((claim, task_for(event, general, id_, now)))
        return batch

    def _is_refused(self, claim: Claim, batch: _Batch) -> bool:
        general, event = self._whose(_event(claim))
        limit = general and self._conversations.refusal(event, general.name)
        if limit:
            self._conversations.stop(event, limit)
            batch.refused.append((claim, limit))
        return bool(limit)

    def _whose(self, event: Event) -> tuple[General | None, Event]:
        """Who takes it up, and as what."""
        found = chat.directed(event, self._desk.config) if chat.is_chat(event.type) else None
        return found or (self._desk.config.route(event.type), event)

    def _is_put_off(self, claim: Claim, event: Event, general: General) -> bool:
        """Its conversation has had enough for now; or a person named another general than the gate
        has judged for, which is not free just now."""
        limit = self._conversations.wait(event)
        if limit is not None and limit.until is not None:
            self._conversations.stop(event, limit)
            reason = limit.reason(event.id)
            self._put_off(claim, Deferral(f"conversation_{limit.code}", reason), limit.until)
            return True
        config = self._desk.config
        if general is config.route(_event(claim).type):
            return False
        held = self._gate.deferral_for(general.manifest, event.priority)
        if held is not None:
            self._courtesy.say_it_waits(_event(claim))
            interval = config.settings.king.polling.interval_seconds
            self._put_off(claim, held, self._desk.now() + timedelta(seconds=interval))
        return held is not None

    def _put_off(self, claim: Claim, held: Deferral, until: datetime) -> None:
        self._deferrals.note(_event(claim), held)
        self._desk.hands.put_off(claim, until, held.reason)

    def _by_subject(self, claims: list[Claim]) -> Iterable[list[Claim]]:
        """Claims of one type about one subject together, with those that still wait."""
        groups: dict[tuple[str, str], list[Claim]] = {}
        for claim in claims:
            event = _event(claim)
            key = (event.type, event.subject or f"only {event.id}")
            if key not in groups:
                groups[key] = []
                for rival in self._desk.bus.alike(claim):
                    if (taken := self._desk.hands.named("events", rival, PENDING)) is not None:
                        groups[key].append(taken)
            if all(claim.id != one.id for one in groups[key]):
                groups[key].append(claim)
        return groups.values()

    def _tell(self, batch: _Batch) -> None:
        desk = self._desk
        for claim, task in batch.dispatched:
            event = _event(claim)
            self._deferrals.forget(event.id)
            desk.tell(
                "event.dispatched",
                task.trace_id,
                event_id=event.id,
                task_id=task.id,
                target_general=task.target_general,
            )
            desk.tell_of_task(task, event.type)
            desk.log.info(
                "event.dispatched",
                event_id=event.id,
                type=event.type,
                task_id=task.id,
                general=task.target_general,
                trace_id=task.trace_id,
            )
        for claim, winner in batch.superseded:
            self._conversations.forget(self._whose(_event(claim))[1])
            self._tell_end(claim, "event.superseded", superseded_by=winner.id)
        for claim in batch.discarded:
            self._tell_end(claim, "event.discarded", reason=_nobody(claim))
        for claim, limit in batch.refused:
            self._tell_end(claim, "event.discarded", reason=limit.reason(claim.id))

    def _tell_end(self, claim: Claim, type_: str, **why: str) -> None:
        event = _event(claim)
        self._deferrals.forget(event.id)
        self._desk.tell(type_, trace_of(event), event_id=event.id, event_type=event.type, **why)
        self._desk.log.info(type_, event_id=event.id, type=event.type, **why)


def _event(claim: Claim) -> Event:
    assert isinstance(claim.message, Event)
    return claim.message


def _end(claim: Claim, reason: str) -> Move:
    fields = {"reason": reason, "trace_id": trace_of(_event(claim))}
    return Move(claim, "completed", fields=fields)


def _nobody(claim: Claim) -> str:
    return f"No general subscribes to {_event(claim).type}."
