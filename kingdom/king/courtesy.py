"""Answers small talk at once, from what the king knows; no soldier is asked.

It answers also while no new work is let in, since that is when people ask what goes on: events that
the gate holds back are looked at, each once. An answer and the end of its event are one commit.
Whoever gave work that has to wait is told so, once.
"""

from __future__ import annotations

from functools import partial

from kingdom.bus.port import Claim, Move, Problem
from kingdom.king import chat, smalltalk
from kingdom.king.desk import Desk
from kingdom.king.gate import Gate
from kingdom.king.outcomes import Draft
from kingdom.king.outstanding import Outstanding
from kingdom.king.questions import OpenQuestions
from kingdom.king.routing import title_of, trace_of
from kingdom.king.smalltalk import Standing
from kingdom.models.event import Event
from kingdom.models.ids import is_id
from kingdom.models.message import ThreadUpdate
from kingdom.models.task import Task
from kingdom.topology import PENDING
from kingdom.words.harmless import at_a_glance

ANSWERED = "The king answered it."
_LISTEN_SECONDS = 2.0
_HEALTHY = ("green", "unmeasured")


class Courtesy:
    def __init__(
        self, desk: Desk, gate: Gate, outstanding: Outstanding, questions: OpenQuestions
    ) -> None:
        self._desk = desk
        self._gate = gate
        self._outstanding = outstanding
        self._questions = questions
        self._heard: set[str] = set()  # held back, looked at, and no small talk
        self._next_look = float("-inf")

    def reply_to(self, event: Event) -> Draft | None:
        """What is said to it, if it is small talk of someone who may know what goes on here."""
        if not chat.is_chat(event.type) or event.trust != "member":
            return None
        kind = smalltalk.kind_of(chat.spoken(event.payload))
        if kind is None:
            return None
        return Draft(ThreadUpdate, smalltalk.answer(kind, self._standing(), self._desk.words))

    def step(self) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look or not self._holds_back():
            return
        self._next_look = moment + _LISTEN_SECONDS
        held = {id_ for id_, _, _ in self._desk.bus.held_back("events", self._accepts)}
        for id_ in sorted(held - self._heard):
            with self._desk.faults.contained(f"events/{id_}", partial(self._pass_over, id_)):
                self._hear(id_)
        self._heard &= held

    def _pass_over(self, event_id: str, problem: Problem) -> None:
        self._heard.add(event_id)

    def seconds_left(self) -> float:
        return _LISTEN_SECONDS if self._holds_back() else float("inf")

    def _holds_back(self) -> bool:
        return not all(self._gate.accept(type_, "normal") for type_ in chat.CHAT)

    def _accepts(self, event_type: str, priority: str) -> bool:
        return not chat.is_chat(event_type) or self._gate.accept(event_type, priority)

    def _hear(self, event_id: str) -> None:
        found = self._desk.bus.look("events", event_id)
        event = found[1] if found else None
        if not isinstance(event, Event) or self.reply_to(event) is None:
            self._heard.add(event_id)
            if isinstance(event, Event):
                self.say_it_waits(event)
            return
        claim = self._desk.hands.named("events", event_id, PENDING)
        if claim is not None and (reply := self.reply_to(event)) is not None:
            self.answer(claim, event, reply)

    def answer(self, claim: Claim, event: Event, reply: Draft) -> None:
        fields = {"reason": ANSWERED, "trace_id": trace_of(event)}
        told = self._desk.replies([(reply, event)])
        self._desk.hands.commit([Move(claim, "completed", fields=fields)], told)
        self._desk.log.info("chat.answered", event_id=event.id, type=event.type)

    def say_it_waits(self, event: Event) -> None:
        """Once, also after a restart: the bus knows the message by its id."""
        id_ = f"msg-waits-{event.id}"
        is_work = chat.is_chat(event.type) and event.trust == "member"
        if not is_work or chat.place_in(event.payload) is None or not is_id(id_):
            return
        words = self._desk.words
        said = words("king_waits", reason=self._trouble() or words("king_busy"))
        message = self._desk.reply(id_, Draft(ThreadUpdate, said), event)
        if self._desk.bus.publish("messages", message)[0]:
            self._desk.log.info("chat.waits", event_id=event.id, type=event.type)

    def _standing(self) -> Standing:
        tasks = self._outstanding.tasks()
        states = {task.id: self._state(task) for task in tasks}
        asked = self._questions.by_task()
        return Standing(
            at_work=[_line(one) for one in tasks if states[one.id] == "in_progress"],
            queued=[_line(one) for one in tasks if states[one.id] == "pending"],
            waiting=self._desk.bus.stats()["events"].pending,
            questions=[f"{task}: {at_a_glance(one.question)}" for task, one in asked.items()],
            trouble=self._trouble(),
        )

    def _state(self, task: Task) -> str:
        found = self._desk.bus.look("tasks", task.id)
        return found[0] if found else ""

    def _trouble(self) -> str:
        gates, words = self._gate.gates, self._desk.words
        if gates.frozen:
            return words("king_frozen")
        if not gates.engine.available:
            return words("king_no_engine", reason=gates.engine.reason)
        if gates.measured.health not in _HEALTHY:
            return words("king_unwell", health=gates.measured.health)
        if gates.measured.tokens in ("warning", "critical"):
            return words("king_short_of_tokens", level=gates.measured.tokens)
        return ""


def _line(task: Task) -> str:
    return f"{task.target_general}, {task.id}: {at_a_glance(title_of(task) or task.type)}"
