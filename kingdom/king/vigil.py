"""Looks after tasks on which nobody may ever report: dropped, buried, or lost with their result.

Their events end as failed, with a message, so that nothing waits for ever. Looked at when the king
starts and at its polling interval; what it costs grows with the tasks under way, not with history.
"""

from __future__ import annotations

from kingdom.bus.due import LONGEST_DEFERRAL, due_at
from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Move, New
from kingdom.failures import FAILURES
from kingdom.king.commands import OPEN_STATES
from kingdom.king.desk import Desk
from kingdom.king.outcomes import Draft, burial_of
from kingdom.king.outstanding import Outstanding
from kingdom.king.reports import DISPATCHED, Busy, Events
from kingdom.models.event import Event
from kingdom.models.ids import is_id
from kingdom.models.result import Killed
from kingdom.models.task import Task
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.store import disk
from kingdom.topology import DEAD, EVENTS, PENDING

_SUFFIX = ".json"


class Vigil:
    def __init__(
        self, desk: Desk, events: Events, outstanding: Outstanding, control: Control
    ) -> None:
        self._desk = desk
        self._bus = desk.bus
        self._events = events
        self._outstanding = outstanding
        self._control = control
        self._silent: set[str] = set()  # ended, and no result was there at the last look
        self._next_look = float("-inf")
        self._dispatched: set[str] = set()  # names that were looked at

    def start(self) -> None:
        """Know again what a former life had made."""
        for waiting in self._bus.waiting("tasks"):
            self._add(waiting)
        for result in self._bus.waiting("results"):
            self._add(self._task(result.id))
        self._look_at_dispatched()
        for wish in ("cancel", "freeze"):
            for name in self._control.named(wish):
                if name not in self._outstanding and name != EVERYTHING:
                    with self._desk.faults.contained(f"{wish} of {name}"):
                        self._control.take_back(wish, name)

    def _add(self, task: object) -> None:
        if isinstance(task, Task):
            self._outstanding.add(task)

    def _task(self, task_id: str) -> Task | None:
        found = self._bus.look("tasks", task_id) if task_id else None
        return found[1] if found and isinstance(found[1], Task) else None

    def _look_at_dispatched(self) -> None:
        """Those that came there since the last look, and not from us. Nobody claims from there, so
        nobody else would see one that was put there by hand, or cannot be read."""
        names = disk.names(self._desk.setting.base.path(EVENTS.root, DISPATCHED))
        found = {name for name in names if name.endswith(_SUFFIX) and not name.startswith(".")}
        ours = {f"{task.event_id}{_SUFFIX}" for task in self._outstanding.tasks()}
        for name in found - self._dispatched - ours:
            with self._desk.faults.contained(f"events/{DISPATCHED}/{name}"):
                id_ = name.removesuffix(_SUFFIX)
                seen = self._bus.look("events", id_) if is_id(id_) else None
                if seen is None:
                    found.remove(name)  # if it is still there, it is looked at again
                    self._desk.set_aside_unreadable("events", DISPATCHED, name)
                elif seen[0] == DISPATCHED and isinstance(seen[1], Event):
                    self._look_at_event(seen[1])
        self._dispatched = found

    def _look_at_event(self, event: Event) -> None:
        task = self._task(event.task_id or "")
        self._add(task)
        if task is None:
            self._end_without_task(event)

    def _end_without_task(self, event: Event) -> None:
        """Task and event come to be in one commit, so someone has removed the task's file."""
        claim = self._desk.hands.named("events", event.id, DISPATCHED)
        if claim is None:
            return
        reason = f"Its task {event.task_id or ''} is gone."
        self._desk.hands.commit([Move(claim, "completed", "failed", {"reason": reason})])
        self._desk.log.warning("event.task_gone", event_id=event.id, task_id=event.task_id)
        if event.task_id:
            self._tell_of_end(event.task_id, event.trace_id, reason)

    def step(self, interval: float) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look:
            return
        self._next_look = moment + interval
        self._look_at_dispatched()
        silent = set()
        for task in self._outstanding.tasks():
            with self._desk.faults.contained(f"tasks/{task.id}"):
                if self._is_silent(task):
                    silent.add(task.id)
        self._silent = silent

    def _is_silent(self, task: Task) -> bool:
        """Whether it ended and nobody reported, which may be so for the blink of an eye."""
        found, result = self._bus.look("tasks", task.id), self._bus.look("results", task.id)
        if found and isinstance(found[1], Task) and found[0] in OPEN_STATES:
            self._attend(found[0], found[1])
            return False
        if result and result[0] == PENDING:
            return False
        if result and result[0] == HANDLED:
            self._close(task, "failed" if result[1].status in ("failed", "killed") else "completed")
        elif (found and found[0] == DEAD) or task.id in self._silent:
            now = found[1] if found and isinstance(found[1], Task) else task
            self._end_unreported(found[0] if found else "", now)
        else:
            return True
        return False

    def _end_unreported(self, state: str, task: Task) -> None:
        if state == "completed" and _was_moved_by_hand(task):
            self._end(task, "dropped", state)
        elif state == DEAD and task.delivery.locked_by:
            claim = self._desk.hands.named("tasks", task.id, DEAD)
            if claim is not None:  # else its general is at it, and puts it back
                self._desk.hands.put_back(claim)
        else:
            self._close(task, "failed", burial_of(task, self._desk.words))

    def _attend(self, state: str, task: Task) -> None:
        """One that waits to be tried again, or whose general is gone: that one ends no task."""
        now = self._desk.now()
        due = due_at(task, now, LONGEST_DEFERRAL)
        self._outstanding.rest(task.id, state == PENDING and due is not None and due > now)
        is_absent = task.target_general not in self._desk.config.generals
        if is_absent and self._control.is_asked("cancel", task.id):
            self._end(task, "cancelled", state)

    def _end(self, task: Task, code: str, state: str) -> None:
        """With a result, in its general's place; it is then handled as any other."""
        claim = self._desk.hands.named("tasks", task.id, state)
        if claim is None:
            return  # its general still lives, and will do it
        failure = FAILURES[code]
        result = Killed(
            task_id=task.id,
            summary=failure.sentence,
            error=failure.sentence,
            error_code=failure.code,
            trace_id=task.trace_id,
            created_at=self._desk.now(),
        )
        self._desk.hands.commit([Move(claim, "completed", "cancelled")], [New("results", result)])
        self._control.forget(task.id)
        self._tell_of_end(task.id, task.trace_id, failure.sentence)
        self._desk.task_log.note(task.id, "ended", status="killed", code=failure.code)

    def _close(self, task: Task, status: str, *drafts: Draft) -> None:
        desk = self._desk
        try:
            event = self._events.waiting_for(task)
        except Busy:
            return  # at the next look
        if event is not None or drafts:
            moves = [Move(event, "completed", status)] if event else []
            desk.hands.commit(moves, desk.messages((draft, task) for draft in drafts))
            code = task.delivery.last_error_code
            if drafts:  # else someone reported, and told of its end
                reason = task.delivery.last_error_message or FAILURES["dropped"].sentence
                self._tell_of_end(task.id, task.trace_id, reason)
            desk.task_log.note(task.id, "closed", status=status, code=code)
            desk.log.warning(
                "task.closed",
                task_id=task.id,
                event_id=task.event_id,
                status=status,
                code=code,
                trace_id=task.trace_id,
            )
        self._outstanding.remove(task.id)
        self._control.forget(task.id)

    def _tell_of_end(self, task_id: str, trace_id: str | None, reason: str) -> None:
        self._desk.tell("task.cancelled", trace_id, task_id=task_id, reason=reason)


def _was_moved_by_hand(task: Task) -> bool:
    """Whether no verb of the bus brought it where ended ones lie: those note it, and take the
    lease away."""
    return task.delivery.processed_at is None or task.delivery.locked_by is not None
