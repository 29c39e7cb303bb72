"""What generals report: each result ends its event and becomes messages, in one commit.

A crash before the commit leaves the result unhandled; after it, everything is done but the lines in
the logs and the removal of what was asked about the task.
"""

from __future__ import annotations

from typing import cast

from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Claim, Move, New
from kingdom.king import passing
from kingdom.king.commands import Refusal
from kingdom.king.conversation_state import Conversations
from kingdom.king.desk import Desk
from kingdom.king.outcomes import (
    AnyResult,
    Outcome,
    may_choose_channels,
    outcome,
    trust_of,
)
from kingdom.king.outstanding import Outstanding
from kingdom.models.event import Event
from kingdom.models.task import Task
from kingdom.runtime.control import Control

DISPATCHED = "dispatched"


class Busy(Exception):
    """Someone else holds the event of this task just now."""


class Events:
    """The events that wait for their tasks."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def waiting_for(self, task: Task) -> Claim | None:
        """The event of this task, taken; None if there is none, or it went another way.

        An operator may have moved it, and it may have been dispatched again as another task.
        """
        found = self._desk.bus.look("events", task.event_id)
        if found is None or not _waits_for(*found, task.id):
            return None
        claim = self._desk.hands.named("events", task.event_id, DISPATCHED)
        if claim is None:
            raise Busy(f"{task.event_id} is in other hands")
        if _waits_for(claim.state, claim.message, task.id):
            return claim
        self._desk.hands.put_back(claim)
        return None


def _waits_for(state: str, event: object, task_id: str) -> bool:
    return state == DISPATCHED and isinstance(event, Event) and event.task_id == task_id


class Reports:
    def __init__(
        self,
        desk: Desk,
        events: Events,
        outstanding: Outstanding,
        control: Control,
        conversations: Conversations,
    ) -> None:
        self._desk = desk
        self._events = events
        self._outstanding = outstanding
        self._control = control
        self._conversations = conversations

    def step(self) -> None:
        for claims in self._desk.hands.rounds("results"):
            for claim in claims:
                with self._desk.hands.alone(claim):
                    self._handle_or_put_off(claim)

    def _handle_or_put_off(self, claim: Claim) -> None:
        try:
            self._handle(claim)
        except Busy as reason:
            self._desk.hands.put_off(claim, self._desk.soon(), str(reason))

    def _handle(self, claim: Claim) -> None:
        result = cast(AnyResult, claim.message)
        found = self._desk.bus.look("tasks", result.task_id)
        task = found[1] if found else None
        if result.delivery.processed_at is not None:
            # Taken along with an answer that then was not committed: its messages are out already.
            self._desk.hands.commit([Move(claim, HANDLED)])
        elif isinstance(task, Task):
            self._report(claim, result, task)
        else:
            self._desk.hands.commit([Move(claim, HANDLED)])
            self._desk.log.warning("result.unknown_task", task_id=result.task_id)

    def _report(self, claim: Claim, result: AnyResult, task: Task) -> None:
        desk = self._desk
        wait = desk.config.settings.king.questions.default_after_seconds
        decided = outcome(result, task, desk.words, desk.now(), wait)
        if (result.proclamation or result.notify_channel) and not may_choose_channels(task):
            desk.task_log.note(task.id, "channels_ignored", trust=trust_of(task))
        event = self._events.waiting_for(task)
        name = passing.wanted(result, task, desk.config)
        try:
            if name:
                passing.check(name, task, desk.config)
        except Refusal as refusal:
            decided, name = decided.with_word(refusal.said(desk.words)), ""
        if name:
            self._pass_on(claim, event, decided, task, name)
        else:
            moves = [Move(claim, HANDLED)]
            if event is not None:
                moves.append(Move(event, "completed", decided.event_status))
            desk.hands.commit(moves, desk.messages((draft, task) for draft in decided.drafts))
        self._outstanding.remove(task.id)
        self._control.forget(task.id)
        self._conversations.note_end(task, result)
        desk.task_log.note(task.id, "reported", status=result.status, code=result.error_code)
        desk.log.info(
            "result.handled",
            task_id=task.id,
            event_id=task.event_id,
            status=result.status,
            trace_id=task.trace_id,
        )

    def _pass_on(
        self, claim: Claim, event: Claim | None, decided: Outcome, task: Task, name: str
    ) -> None:
        """Its event then waits for the task of the general that was named."""
        desk, summary = self._desk, cast(AnyResult, claim.message).summary
        (id_,) = desk.ids("task", 1)
        following = passing.successor(name, task, desk.config, id_, desk.now())
        draft = passing.announcement(summary, task, following, desk.words)
        moves = [Move(claim, HANDLED)]
        if event is not None:
            moves.append(Move(event, DISPATCHED, fields={"task_id": id_}))
        others = [(one, task) for one in decided.announcements]
        told = desk.messages([*others, (draft, following)])
        desk.hands.commit(moves, [New("tasks", following), *told])
        self._outstanding.add(following)
        desk.tell_of_task(following, following.type)
        desk.log.info("task.passed_on", task_id=id_, from_task_id=task.id, general=name)
