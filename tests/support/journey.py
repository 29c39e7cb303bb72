"""One journey as a kingdom leaves it behind: an event that became a task, asked, and went on."""

from __future__ import annotations

from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New
from kingdom.models.event import Event
from kingdom.models.message import HumanInputRequest, ThreadStart, ThreadUpdate
from kingdom.models.result import NeedsHuman, Success
from kingdom.models.task import Task
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.task_log import TaskLog
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock

EVENT, TRACE = "evt-github-1", "a" * 32
FIRST, SECOND = "task-20260207-001", "task-20260207-002"
ANSWER = f"evt-slack-response-{FIRST}-1770458460"
SOLDIERS = ("soldier-1770458400-1", "soldier-1770458460-2")
MESSAGES = tuple(f"msg-20260207-00{number}" for number in range(1, 5))
EVERY_ID = (EVENT, ANSWER, FIRST, SECOND, *SOLDIERS, *MESSAGES, TRACE)


class Journey:
    """Plays it, step by step, with the verbs and the logs that the roles use."""

    def __init__(self, base: BaseDir, clock: MovableClock) -> None:
        self.base, self.clock = base, clock
        self.bus = FileBus(base, clock=clock)

    def play(self) -> None:
        self.comes()
        self.is_dispatched()
        self.asks()
        self.is_answered()
        self.ends()
        self.bus.close()

    def comes(self) -> None:
        event = Event(
            id=EVENT, type="github.pr.review_requested", source="github", repo="acme/web",
            payload={"number": 7}, created_at=self.clock.now(), trace_id=TRACE,
        )  # fmt: skip
        self.bus.publish("events", event)
        self.tick()

    def is_dispatched(self) -> None:
        (claim,) = self.bus.claim("events", "king", ids=[EVENT])
        task = self.task(FIRST, EVENT, "github.pr.review_requested")
        opening = self.message(ThreadStart, 1, FIRST, "gen-pr takes it up")
        fields = {"task_id": FIRST}
        moves = [Move(claim, "dispatched", fields=fields)]
        self.bus.commit(moves, [New("tasks", task), New("messages", opening)])
        self.tell(
            "king", "event.dispatched", event_id=EVENT, task_id=FIRST, target_general="gen-pr"
        )
        self.tell_of_task(FIRST)
        self.shown(1, FIRST)

    def asks(self) -> None:
        self.works(FIRST, SOLDIERS[0])
        metrics = {"soldier_id": SOLDIERS[0]}
        result = NeedsHuman(
            task_id=FIRST, summary="", question="Merge it?", metrics=metrics, trace_id=TRACE,
            created_at=self.clock.now(),
        )  # fmt: skip
        self.ended(FIRST, "needs_human", result)
        self.tell("gen-pr", "task.needs_human", task_id=FIRST, question="Merge it?")
        question = self.message(HumanInputRequest, 2, FIRST, "Merge it?")
        self.handled(FIRST, EVENT, question)
        self.shown(2, FIRST)

    def is_answered(self) -> None:
        payload = {"task_id": FIRST, "text": "yes", "answered_by": "ada"}
        answer = Event(
            id=ANSWER, type="slack.human_response", source="cli", payload=payload, priority="high",
            created_at=self.clock.now(), trace_id=TRACE,
        )  # fmt: skip
        self.bus.publish("events", answer)
        self.tick()
        (claim,) = self.bus.claim("events", "king", ids=[ANSWER])
        (asked,) = self.bus.claim("results", "king", ids=[FIRST])
        task = self.task(SECOND, ANSWER, "resume", original_task_id=FIRST)
        told = self.message(ThreadUpdate, 3, SECOND, "ada answered", inherits=FIRST, answers=FIRST)
        self.bus.commit(
            [
                Move(claim, "dispatched", fields={"task_id": SECOND}),
                Move(asked, "handled", fields={"answered_by": ANSWER}),
            ],
            [New("tasks", task), New("messages", told)],
        )
        self.tell("king", "event.dispatched", event_id=ANSWER, task_id=SECOND,
                  target_general="gen-pr")  # fmt: skip
        self.tell_of_task(SECOND)
        self.tell("king", "task.resumed", task_id=SECOND, original_task_id=FIRST)
        self.shown(3, SECOND)

    def ends(self) -> None:
        self.works(SECOND, SOLDIERS[1])
        metrics = {"soldier_id": SOLDIERS[1]}
        result = Success(
            task_id=SECOND, summary="Merged.", metrics=metrics, trace_id=TRACE,
            created_at=self.clock.now(),
        )  # fmt: skip
        self.ended(SECOND, "completed", result)
        self.tell(
            "gen-pr", "task.completed", task_id=SECOND, status="success", duration_seconds=2.0
        )
        last = self.message(ThreadUpdate, 4, SECOND, "Done. Merged.", final=True)
        self.handled(SECOND, ANSWER, last)
        self.shown(4, SECOND)

    # The steps' own steps

    def task(self, id_: str, event_id: str, type_: str, **fields: Any) -> Task:
        return Task(
            id=id_, event_id=event_id, target_general="gen-pr", type=type_,
            created_at=self.clock.now(), trace_id=TRACE, **fields,
        )  # fmt: skip

    def message(self, kind: Any, number: int, task_id: str, content: str, **context: Any) -> Any:
        return kind(
            id=MESSAGES[number - 1], content=content, context=context, task_id=task_id,
            created_at=self.clock.now(), trace_id=TRACE,
        )  # fmt: skip

    def works(self, task_id: str, soldier: str) -> None:
        (self.claim,) = self.bus.claim("tasks", "gen-pr", ids=[task_id])
        self.tell("gen-pr", "task.started", task_id=task_id)
        self.tell("gen-pr", "soldier.spawned", task_id=task_id, soldier_id=soldier)
        self.note("gen-pr", task_id, "started", soldier=soldier)
        self.soldier = soldier

    def ended(self, task_id: str, status: str, result: Any) -> None:
        moves = [Move(self.claim, "completed", status=status)]
        self.bus.commit(moves, [New("results", result)])
        self.tick()
        self.tell("gen-pr", "soldier.completed", task_id=task_id, soldier_id=self.soldier,
                  status=result.status)  # fmt: skip
        self.note("gen-pr", task_id, "ended", status=result.status, soldier=self.soldier)

    def handled(self, task_id: str, event_id: str, message: Any) -> None:
        (result,) = self.bus.claim("results", "king", ids=[task_id])
        (event,) = self.bus.claim("events", "king", ids=[event_id])
        moves = [Move(result, "handled"), Move(event, "completed")]
        self.bus.commit(moves, [New("messages", message)])
        self.tick()
        self.note("king", task_id, "reported", status="x")
        self.tick()

    def shown(self, number: int, task_id: str) -> None:
        id_ = MESSAGES[number - 1]
        (claim,) = self.bus.claim("messages", "envoy", ids=[id_])
        fields = {"channel": "console", "thread_ts": FIRST}
        self.bus.commit([Move(claim, "sent", fields=fields)])
        self.tell("envoy", "message.sent", msg_id=id_, task_id=task_id, channel="console")

    def tell_of_task(self, task_id: str) -> None:
        self.tell("king", "task.created", task_id=task_id, event_type="x",
                  target_general="gen-pr", priority="normal")  # fmt: skip
        self.note("king", task_id, "created", general="gen-pr")

    def tell(self, actor: str, type_: str, **data: Any) -> None:
        InternalLog(self.base, actor, self.clock).emit(type_, data, TRACE)
        self.tick()

    def note(self, actor: str, task_id: str, step: str, **facts: Any) -> None:
        TaskLog(self.base, actor, self.clock).note(task_id, step, **facts)

    def tick(self) -> None:
        self.clock.advance(0.5)
