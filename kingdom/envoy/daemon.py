"""The envoy: shows people what the kingdom says, and brings their answers.

Reads `queue/messages/pending/`. Writes `queue/messages/{sent,dead}/`, what its transport writes
(`logs/console.log`), and answers in `queue/events/pending/`. Keeps `state/envoy/`: the thread of
each task, the questions that await an answer, the last reports, and what keeps its transport.

A crash leaves at most one handful of messages that were shown and are not in `sent/` yet. They
come back as taken over, and the transport finds them where they were shown instead of showing them
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from kingdom.bus.port import Accept, Claim, Move, Problem
from kingdom.envoy.answers import BY_DEFAULT, answer_event
from kingdom.envoy.notebook import Notebook
from kingdom.envoy.questions import Question, chosen, next_default, with_default_due
from kingdom.envoy.reports import shown_before
from kingdom.envoy.standing import Standing
from kingdom.envoy.threads import named, thread_of
from kingdom.envoy.transport import Reply, Thread, Transport
from kingdom.envoy.transports.choosing import chosen_transport
from kingdom.errors import KingdomError, LeaseLost, NeverWorks, TryLater
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.runtime.role import Setting
from kingdom.topology import DEAD, PENDING

STREAM = "messages"
SOURCE = "envoy"
FIRST_CLAIM = 2  # the revision of a message that was published, and is claimed for the first time


@dataclass
class Parcel:
    """A claimed message; `thread` is known once it has been shown."""

    claim: Claim
    thread: Thread | None = None
    tried: bool = False
    duplicate_of: str = ""  # a report that was shown already, as this message

    @property
    def message(self) -> MessageBase:
        return cast(MessageBase, self.claim.message)

    @property
    def outcome(self) -> dict[str, str]:
        """What its file says once it is done."""
        return self.thread._asdict() if self.thread else {"duplicate_of": self.duplicate_of}

    @property
    def perhaps_sent(self) -> bool:
        """Whether someone may have shown it before, or a part of it, and not come to record it."""
        delivery = self.claim.message.delivery
        counted = delivery.attempt_count or delivery.crash_count
        came_back = delivery.revision > FIRST_CLAIM  # whatever a person made of its counts
        return bool(self.tried or self.claim.taken_over or counted or came_back)


class Envoy:
    streams = (STREAM,)

    def __init__(self, setting: Setting, transport: Transport) -> None:
        self.name = setting.name
        self._setting = setting
        self._bus = setting.bus
        self._clock = setting.clock
        self._log = setting.log
        self._transport = transport
        sync = setting.config.current.settings.system.durability == "full"
        self._notebook = Notebook(setting.base, sync=sync)
        self._standing = Standing(setting.base)
        self._in_hand: list[Parcel] = []
        self._resting_until: datetime | None = None  # as the transport wants it

    def start(self) -> None:
        """Remember the threads and questions of a former life."""
        self._notebook.load()
        self._standing.works()
        for path in self._notebook.damaged:
            self._log.warning("state.made_anew", path=path)
        for task_id in list(self._notebook.questions):
            if self._is_answered(task_id):
                self._notebook.revise(task_id, None)
        self._notebook.save()

    def step(self) -> float:
        self._setting.config.refresh()
        self._take_replies()
        self._take_defaults()
        handled = self._deliver()
        return 0.0 if handled >= self._transport.at_once else self._seconds_of_rest()

    def accepts(self) -> Mapping[str, Accept]:
        return {STREAM: lambda type_, priority: False} if self._rests() else {}

    def descriptors(self) -> Sequence[int]:
        return self._transport.descriptors()

    def stop(self) -> None:
        self._transport.close()

    def _seconds_of_rest(self) -> float:
        interval: float = self._setting.config.current.settings.envoy.polling.interval_seconds
        moments = (next_default(self._notebook.questions), self._resting_until)
        now = self._clock.now()
        waits = ((moment - now).total_seconds() for moment in moments if moment is not None)
        return max(min(interval, *waits), 0.0) if any(moments) else interval

    def _rests(self) -> bool:
        if self._resting_until is not None and self._resting_until <= self._clock.now():
            self._resting_until = None
        return self._resting_until is not None

    # From the kingdom to people

    def _deliver(self) -> int:
        """A handful of messages, each in its thread's order; answers how many there were.

        What stays in hand because the disk refused is gone on with in the next step, and what was
        shown is not shown again.
        """
        if not self._in_hand and not self._rests():
            claims = self._bus.claim(STREAM, self.name, self._transport.at_once)
            self._in_hand = [Parcel(claim) for claim in claims]
        count = len(self._in_hand)
        for parcel in list(self._in_hand):
            if parcel.thread is None:
                self._show(parcel)
        if count:
            self._transport.settle()
            self._notebook.save()
            self._record()
        return count

    def _show(self, parcel: Parcel) -> None:
        message = parcel.message
        parcel.duplicate_of = shown_before(message, self._notebook.reports)
        if parcel.duplicate_of:
            return
        thread = thread_of(message, self._notebook.mappings)
        doubtful, parcel.tried = parcel.perhaps_sent, True
        try:
            parcel.thread = self._transport.send(message, thread, perhaps_sent=doubtful)
        except TryLater as error:
            later = partial(self._later, parcel.claim, error)
            self._give_back(parcel, later, error)
        except NeverWorks as error:
            self._give_back(parcel, partial(self._buried, parcel.claim), error)
        else:
            self._note(message, parcel.thread)
            self._standing.works()

    def _later(self, claim: Claim, error: TryLater, problem: Problem) -> str:
        """No attempt is counted when the trouble is with the transport as a whole: all wait."""
        if error.not_before is None:
            return self._bus.retry(claim, problem)
        self._bus.defer(claim, error.not_before, problem.message)
        self._resting_until = error.not_before
        self._standing.rests(error, error.not_before)
        return PENDING

    def _buried(self, claim: Claim, problem: Problem) -> str:
        self._bus.bury(claim, problem)
        return DEAD

    def _give_back(
        self, parcel: Parcel, back: Callable[[Problem], str], error: KingdomError
    ) -> None:
        """Another time, or never: then what it was to open or to close is noted all the same."""
        message = parcel.message
        try:
            state = back(Problem(error.code, error.sentence))
        except LeaseLost:
            self._in_hand.remove(parcel)
            return
        self._in_hand.remove(parcel)
        facts = _facts(message)
        if state != DEAD:
            self._log.warning("message.delayed", error=str(error), **facts)
            return
        self._note(message, thread_of(message, self._notebook.mappings))
        self._notebook.save()
        self._log.error("message.failed", error=str(error), **facts)
        self._tell("message.failed", message, error=error.sentence)
        buried = {"id": message.id, "code": error.code, "reason": error.sentence}
        self._emit("queue.buried", {"stream": STREAM, **buried}, message.trace_id)

    def _note(self, message: MessageBase, thread: Thread | None) -> None:
        answered = named(message, "answers")
        question = self._notebook.questions.get(answered)
        self._notebook.note(message, thread, self._clock.now())
        if question and question.answered_at is None:
            self._tell_of_answer(answered, question)
        # An answer can overtake its question: `kingdom ask` shows one that waits to be sent.
        asking = message.task_id if isinstance(message, HumanInputRequest) else None
        if asking and self._is_answered(asking):
            self._notebook.revise(asking, None)

    def _record(self) -> None:
        """What was shown is sent, at the cost of one commit."""
        parcels = self._in_hand
        try:
            self._commit(parcels)
        except LeaseLost:
            for parcel in parcels:
                self._record_alone(parcel)
        else:
            self._in_hand = []

    def _record_alone(self, parcel: Parcel) -> None:
        try:
            self._commit([parcel])
        except LeaseLost:
            self._log.warning("message.lease_lost", **_facts(parcel.message))
        self._in_hand = [one for one in self._in_hand if one is not parcel]

    def _commit(self, parcels: Iterable[Parcel]) -> None:
        done = [parcel for parcel in parcels if parcel.thread or parcel.duplicate_of]
        if not done:
            return
        self._bus.commit(Move(parcel.claim, "sent", fields=parcel.outcome) for parcel in done)
        for parcel in done:
            name = "message.sent" if parcel.thread else "report.repeated"
            self._log.info(name, **_facts(parcel.message), **parcel.outcome)
            if parcel.thread:
                self._tell("message.sent", parcel.message, channel=parcel.thread.channel)

    # From people to the kingdom

    def _take_replies(self) -> None:
        for reply in self._transport.poll():
            asked = self._notebook.questions.items()
            found = [(task, one) for task, one in asked if one.thread == reply.thread]
            for task_id, question in found:
                self._take_reply(task_id, question, reply)

    def _take_reply(self, task_id: str, question: Question, reply: Reply) -> None:
        """The first counts. One that is no answer changes nothing: the question stays open."""
        if question.answered_at is not None:
            return
        try:
            text = chosen(question, reply.text)
        except NeverWorks as fault:
            self._log.info("reply.ignored", task_id=task_id, error=str(fault))
            return
        self._answer(task_id, question, text, reply.answered_by, reply.at)
        self._tell_of_answer(task_id, question)

    def _take_defaults(self) -> None:
        now = self._clock.now()
        for task_id, question in with_default_due(self._notebook.questions, now).items():
            if self._is_answered(task_id):
                self._notebook.revise(task_id, None)
                self._notebook.save()
            else:
                at = question.expires_at or now
                self._answer(task_id, question, question.default or "", BY_DEFAULT, at)

    def _answer(
        self, task_id: str, question: Question, text: str, answered_by: str, at: datetime
    ) -> None:
        """Published before it is noted: after a crash the same event is published again, which
        the bus knows by its id."""
        now = self._clock.now()
        until = at if answered_by == BY_DEFAULT else None
        event = answer_event(
            task_id,
            question,
            text,
            answered_by=answered_by,
            source=SOURCE,
            at=at,
            now=now,
            until=until,
        )
        fresh = self._bus.publish("events", event)[0]
        self._notebook.revise(task_id, question.revised(answered_at=now))
        self._notebook.save()
        self._log.info("question.answered", task_id=task_id, answered_by=answered_by, id=event.id)
        if fresh:
            data = {"event_id": event.id, "source": event.source, "event_type": event.type}
            self._emit("event.detected", data, event.trace_id)

    def _is_answered(self, task_id: str) -> bool:
        """Whether the king has taken an answer already; its note about that may be on its way."""
        found = self._bus.look("results", task_id)
        return found is not None and getattr(found[1], "answered_by", None) is not None

    # What others may know

    def _tell(self, type_: str, message: MessageBase, **more: str) -> None:
        data = {"msg_id": message.id, "task_id": message.task_id, **more}
        self._emit(type_, data, message.trace_id)

    def _tell_of_answer(self, task_id: str, question: Question) -> None:
        data = {"task_id": task_id, "thread_ts": question.thread_ts}
        self._emit("message.human_response", data, question.trace_id)

    def _emit(self, type_: str, data: dict[str, Any], trace_id: str | None) -> None:
        """A log that cannot be written is no reason to stop: what it tells of has happened."""
        try:
            self._setting.internal.emit(type_, data, trace_id)
        except TryLater as error:
            self._log.warning("internal_event.lost", type=type_, error=str(error))


def _facts(message: MessageBase) -> dict[str, Any]:
    """What every log line about a message carries."""
    return {
        "message_id": message.id,
        "stream": STREAM,
        "type": message.type,
        "task_id": message.task_id,
        "trace_id": message.trace_id,
    }


def make(setting: Setting) -> Envoy:
    return Envoy(setting, chosen_transport(setting))
