"""What people ask of the king itself: answers to questions, and commands. Handled at once.

A retry starts new work, so it passes the gate like any other, and waits as an event until it may;
for a soldier it waits as a task.

Each ends in one commit. What a command writes in `state/control/` is written before, and writing it
again changes nothing, so a crash in between is harmless.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Claim, Move, New
from kingdom.king import chat, commands
from kingdom.king.chat import place_of, without_place
from kingdom.king.commands import Answer, Command, Objection, Refusal
from kingdom.king.conversation_state import Conversations
from kingdom.king.desk import Desk
from kingdom.king.gate import Deferrals, Gate
from kingdom.king.outcomes import Draft, resumption_of, retry_of
from kingdom.king.outstanding import Outstanding
from kingdom.king.routing import APPROVAL, RELEASE, RESUME, first_payload, is_own, trace_of
from kingdom.models.event import Event
from kingdom.models.message import ThreadUpdate
from kingdom.models.priority import HIGH
from kingdom.models.result import NeedsHuman
from kingdom.models.task import Task
from kingdom.runtime import held_actions
from kingdom.runtime.config import ANSWER, COMMAND
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.topology import DEAD, PENDING


class Petitions:
    def __init__(
        self,
        desk: Desk,
        gate: Gate,
        outstanding: Outstanding,
        control: Control,
        deferrals: Deferrals,
        conversations: Conversations,
    ) -> None:
        self._desk = desk
        self._gate = gate
        self._outstanding = outstanding
        self._control = control
        self._deferrals = deferrals
        self._conversations = conversations

    def step(self) -> None:
        for claims in self._desk.hands.rounds("events", is_own):
            for claim in claims:
                with self._desk.hands.alone(claim):
                    self._handle(claim)

    def _handle(self, claim: Claim) -> None:
        event = claim.message
        assert isinstance(event, Event)
        if event.type == ANSWER:
            self._answer(claim, event)
        elif event.type == COMMAND:
            self._command(claim, event)
        else:
            self._end(claim, "failed", f"This version does not know {event.type}.")

    # Answers

    def _answer(self, claim: Claim, event: Event) -> None:
        bus = self._desk.bus
        try:
            answer = commands.read_answer(event.payload)
        except Objection as objection:
            self._end(claim, "failed", str(objection))
            return
        task, result = bus.look("tasks", answer.task_id), bus.look("results", answer.task_id)
        try:
            asked = commands.open_question(answer, task, result, self._desk.config.generals)
            commands.check_approver(result, event)
        except Objection as objection:
            known = task[1] if task and isinstance(task[1], Task) else None
            self._refuse_answer(claim, known, result[1] if result else None, objection)
            return
        question = self._desk.hands.named("results", asked.id)
        if question is None or question.message.delivery.processed_at is None:
            self._desk.hands.put_off(claim, self._desk.soon(), "the question is being handled")
        else:
            self._resume(claim, question, asked, answer)

    def _resume(self, claim: Claim, question: Claim, asked: Task, answer: Answer) -> None:
        desk = self._desk
        task = self._continued(asked, claim, answer, question.message)
        until = desk.shown(answer.until) if answer.until else ""
        draft = resumption_of(
            task, desk.words, answer.text, answer.answered_by, asked.id, until=until
        )
        desk.hands.commit(
            [
                Move(claim, "dispatched", fields={"task_id": task.id, "trace_id": task.trace_id}),
                Move(question, HANDLED, fields={"answered_by": claim.id}),
            ],
            [New("tasks", task), *desk.messages([(draft, task)])],
        )
        self._outstanding.add(task)
        desk.tell(
            "event.dispatched",
            task.trace_id,
            event_id=claim.id,
            task_id=task.id,
            target_general=task.target_general,
        )
        desk.tell_of_task(task, ANSWER)
        desk.tell("task.resumed", task.trace_id, task_id=task.id, original_task_id=asked.id)
        desk.log.info(
            "task.resumed",
            task_id=task.id,
            original_task_id=asked.id,
            event_id=claim.id,
            trace_id=task.trace_id,
        )

    def _continued(self, asked: Task, claim: Claim, answer: Answer, question: object) -> Task:
        first = first_payload(asked)
        payload: dict[str, Any] = {
            "answer": answer.text,
            "answered_by": answer.answered_by,
            "original": first if place_of(asked) is not None else without_place(first),
        }
        type_ = APPROVAL
        if not commands.is_approval(question):
            payload["question"] = question.question if isinstance(question, NeedsHuman) else ""
            type_ = RESUME
        return self._successor(asked, event_id=claim.id, type=type_, payload=payload, priority=HIGH)

    def _refuse_answer(
        self, claim: Claim, task: Task | None, result: object, objection: Objection
    ) -> None:
        """Said in the thread, if there is one: someone waits there for something to happen."""
        words = self._desk.words
        said = words("king_refused_answer", reason=objection.said(words))
        draft = Draft(ThreadUpdate, said)
        told = [] if task is None else [(draft, self._speaker_for(task, result))]
        self._end(claim, "failed", str(objection), self._desk.messages(told))

    def _speaker_for(self, task: Task, result: object) -> Task:
        """Who has the thread now: the task that went on with the answer, if one did."""
        answered_by = result.answered_by if isinstance(result, NeedsHuman) else None
        event = self._desk.bus.look("events", answered_by) if answered_by else None
        next_id = event[1].task_id if event and isinstance(event[1], Event) else None
        found = self._desk.bus.look("tasks", next_id) if next_id else None
        return found[1] if found and isinstance(found[1], Task) else task

    # Commands

    def _command(self, claim: Claim, event: Event) -> None:
        try:
            command = commands.read_command(event.payload)
            if command.verb == "retry":
                self._retry(claim, event, command)
            elif command.event_id is not None:
                self._let_pass(claim, command.event_id)
            elif command.verb == "release":
                self._release(claim, event, command.task_id or "")
            else:
                self._end(claim, "completed", self._steer(command, claim.id))
        except Objection as objection:
            self._end(claim, "failed", str(objection))
        self._gate.refresh(now=True)

    def _steer(self, command: Command, event_id: str) -> str:
        """Write down what is asked; answers what was done."""
        now, task_id = self._desk.now(), command.task_id
        if command.verb == "thaw":
            return self._thaw(task_id)
        if task_id is None:
            is_new = self._control.ask("freeze", EVERYTHING, by=event_id, at=now)
            return "The kingdom is frozen." if is_new else "The kingdom was frozen already."
        commands.open_task(task_id, self._desk.bus.look("tasks", task_id))
        if command.verb == "freeze":
            is_new = self._control.ask("freeze", task_id, by=event_id, at=now)
            said = f"{task_id} is frozen." if is_new else f"{task_id} was frozen already."
        else:
            self._control.ask("cancel", task_id, by=event_id, at=now)
            said = f"{task_id} is being cancelled."
        self._desk.task_log.note(task_id, command.verb, event=event_id)
        return said

    def _thaw(self, task_id: str | None) -> str:
        if task_id is not None:
            was = self._control.take_back("freeze", task_id)
            if was and self._control.is_asked("freeze", EVERYTHING):
                return f"{task_id} is thawed, but the kingdom as a whole is frozen."
            return f"{task_id} is thawed." if was else f"{task_id} was not frozen."
        was = self._control.take_back("freeze", EVERYTHING)
        said = "The kingdom is thawed." if was else "The kingdom was not frozen."
        still = self._control.named("freeze")
        return f"{said} Still frozen by itself: {', '.join(still)}." if still else said

    def _retry(self, claim: Claim, event: Event, command: Command) -> None:
        desk, task_id = self._desk, command.task_id or ""
        found, result = desk.bus.look("tasks", task_id), desk.bus.look("results", task_id)
        original = commands.ended_task(task_id, found, desk.config.generals)
        commands.not_under_way(task_id, self._outstanding.successor_of(task_id))
        if self._has_to_wait(claim, event, original):
            return
        dead = []
        if found and found[0] == DEAD:
            # Taken along, lest an operator puts it back in this very moment.
            claimed = desk.hands.named("tasks", task_id, DEAD)
            if claimed is None:
                desk.hands.put_off(claim, desk.soon(), "the task is being moved")
                return
            dead = [Move(claimed, DEAD)]
        question = self._open_question(task_id, result)
        beginning = self._first_of(original) if command.fresh else original
        task = self._successor(
            original,
            type=beginning.type,
            payload=beginning.payload,
            fresh=command.fresh or None,
        )
        draft = retry_of(task, desk.words, original.id, answers=question is not None)
        moves = [self._ending(claim, "completed", f"{task.id} tries {original.id} again.", task)]
        if question is not None:
            moves.append(Move(question, HANDLED, fields={"answered_by": claim.id}))
        desk.hands.commit([*moves, *dead], [New("tasks", task), *desk.messages([(draft, task)])])
        if question is not None and commands.is_approval(question.message):
            held_actions.withdraw_approvals(desk.setting.base, task_id, desk.now())
        self._outstanding.add(task)
        desk.tell_of_task(task, event.type)
        self._deferrals.forget(event.id)
        desk.log.info(
            "task.retried", task_id=task.id, original_task_id=original.id, event_id=claim.id
        )

    def _release(self, claim: Claim, event: Event, task_id: str) -> None:
        """Needs no soldier, so nothing is waited for."""
        desk = self._desk
        original = commands.ended_task(
            task_id, desk.bus.look("tasks", task_id), desk.config.generals
        )
        if held_actions.read(desk.setting.base, task_id) is None:
            raise Refusal("king_nothing_held", task=task_id)
        commands.not_under_way(task_id, self._outstanding.successor_of(task_id))
        question = self._open_question(task_id, desk.bus.look("results", task_id))
        task = self._successor(
            original, type=RELEASE, payload=first_payload(original), priority=HIGH
        )
        said = desk.words(
            "king_released", general=task.target_general, original=task_id, task=task.id
        )
        context = {"inherits": task_id} | ({"answers": task_id} if question else {})
        draft = Draft(ThreadUpdate, said, {"context": context})
        moves = [self._ending(claim, "completed", f"{task.id} does what was held.", task)]
        if question is not None:
            moves.append(Move(question, HANDLED, fields={"answered_by": claim.id}))
        desk.hands.commit(moves, [New("tasks", task), *desk.messages([(draft, task)])])
        self._outstanding.add(task)
        desk.tell_of_task(task, event.type)
        desk.tell("task.actions_released", task.trace_id, task_id=task_id, released_as=task.id)
        desk.log.info("task.released", task_id=task.id, original_task_id=task_id)

    def _open_question(self, task_id: str, result: commands.Found) -> Claim | None:
        """What the task asked, taken, if nobody has answered it: nobody need any more."""
        asked = result[1] if result else None
        is_open = isinstance(asked, NeedsHuman) and not asked.answered_by
        return self._desk.hands.named("results", task_id) if is_open else None

    def _let_pass(self, claim: Claim, event_id: str) -> None:
        """An event that met a limit of its conversation, and others that wait there. If we die
        after this is written and before they are back, the command is handled again."""
        desk = self._desk
        found = desk.bus.look("events", event_id)
        event = commands.stopped_event(event_id, found)
        taken = chat.directed(event, desk.config) if chat.is_chat(event.type) else None
        waiting = self._conversations.release(taken[1] if taken else event)
        self._conversations.write()
        looked = ((id_, desk.bus.look("events", id_)) for id_ in waiting)
        names = [event_id, *(id_ for id_, one in looked if one is not None and one[0] == PENDING)]
        claims = [one for id_ in names if (one := desk.hands.named("events", id_)) is not None]
        moves = [Move(one, PENDING, fields={"reason": None}) for one in claims]
        said = f"{event_id} may be taken up now."
        desk.hands.commit([*moves, self._ending(claim, "completed", said)])
        desk.log.info("conversation.released", event_id=event_id, command=claim.id)

    def _has_to_wait(self, claim: Claim, event: Event, original: Task) -> bool:
        """At the gate, with the priority of a command: a person waits for it. Not for a soldier:
        new events would take each one that gets free."""
        config = self._desk.config
        manifest = config.generals[original.target_general].manifest
        held = self._gate.closure_for(manifest, event.priority)
        if held is not None:
            self._deferrals.note(event, held)
            interval = config.settings.king.polling.interval_seconds
            until = self._desk.now() + timedelta(seconds=interval)
            self._desk.hands.put_off(claim, until, held.reason)
        return held is not None

    def _first_of(self, task: Task) -> Task:
        """The task that a row of answers goes back to; as far as it is known."""
        while task.type in (RESUME, APPROVAL) and task.original_task_id:
            found = self._desk.bus.look("tasks", task.original_task_id)
            if found is None or not isinstance(found[1], Task):
                break
            task = found[1]
        return task

    def _successor(self, original: Task, **changes: Any) -> Task:
        """A new task that continues an old one."""
        kept: dict[str, Any] = {
            "event_id": original.event_id,
            "type": original.type,
            "payload": original.payload,
            "priority": original.priority,
        }
        return Task(
            id=self._desk.ids("task", 1)[0],
            target_general=original.target_general,
            created_at=self._desk.now(),
            repo=original.repo,
            original_task_id=original.id,
            trust=original.trust,
            trust_reason=original.trust_reason,
            trace_id=original.trace_id,
            **(kept | changes),
        )

    # Ends

    def _ending(self, claim: Claim, status: str, reason: str, task: Task | None = None) -> Move:
        assert isinstance(claim.message, Event)
        fields = {"reason": reason, "trace_id": trace_of(claim.message)}
        if task is not None:
            fields |= {"task_id": task.id}
        return Move(claim, "completed", status, fields)

    def _end(
        self, claim: Claim, status: str, reason: str, publish: list[New] | None = None
    ) -> None:
        self._desk.hands.commit([self._ending(claim, status, reason)], publish or [])
        self._desk.log.info(
            "command.handled",
            event_id=claim.id,
            type=getattr(claim.message, "type", ""),
            status=status,
            reason=reason,
        )
