"""The envoy: shows people what the kingdom says, and brings their answers.

Reads `queue/messages/pending/`. Writes `queue/messages/{held,sent,dead}/`, what its transport
writes (`logs/console.log`), and answers in `queue/events/pending/`. Keeps `state/envoy/`: the
thread of each task, the questions that await an answer, the last reports, and what keeps its
transport.

A crash leaves at most one handful of messages that were shown and are not in `sent/` yet. They
come back as taken over, and the transport finds them where they were shown instead of showing them
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.port import Accept, Claim, Move, Problem
from kingdom.clock import still_waits
from kingdom.envoy.answers import answer_event, answers_by_task, is_known, is_settled
from kingdom.envoy.hearing import (
    NOBODY,
    Answer,
    SaidBy,
    known_answer,
    meant_by,
    said_by,
    speech_event,
)
from kingdom.envoy.internal_events import InternalEvents
from kingdom.envoy.notebook import Notebook
from kingdom.envoy.outbound import HELD_BACK, OutboundGate
from kingdom.envoy.parcels import STREAM, Parcel, facts
from kingdom.envoy.questions import Question, Questions, next_default, with_default_due
from kingdom.envoy.reports import shown_before
from kingdom.envoy.standing import Standing
from kingdom.envoy.threads import named, thread_of
from kingdom.envoy.transport import Heard, Reply, Speech, Thread, Transport
from kingdom.envoy.transports.choosing import chosen_transport
from kingdom.errors import InvalidFile, KingdomError, LeaseLost, NeverWorks, TryLater
from kingdom.models.event import Event
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.runtime.role import Setting
from kingdom.topology import DEAD, PENDING
from kingdom.words import Words

SOURCE = "envoy"
_DEFAULTS_AT_ONCE = 20
_LONGEST_REST = timedelta(hours=1)  # no transport asks for more


class Envoy:
    streams = (STREAM,)

    def __init__(self, setting: Setting, transport: Transport) -> None:
        self.name = setting.name
        self._setting = setting
        self._bus = setting.bus
        self._clock = setting.clock
        self._log = setting.log
        self._faults = setting.faults
        self._transport = transport
        sync = setting.config.current.settings.system.durability == "full"
        self._notebook = Notebook(setting.base, sync=sync)
        self._standing = Standing(setting.base)
        self._events = InternalEvents(setting)
        self._outbound = OutboundGate(setting, leaves=transport.leaves)
        self._in_hand: list[Parcel] = []
        self._defaults: tuple[Questions, datetime | None] | None = None
        self._resting_until: datetime | None = None  # as the transport wants it

    def start(self) -> None:
        """Remember the threads and questions of a former life."""
        self._notebook.load()
        self._standing.works()
        for path in self._notebook.damaged:
            self._log.warning("state.made_anew", path=path)
        passed_on = answers_by_task(self._setting.base)
        for task_id, question in list(self._notebook.questions.items()):
            with self._faults.contained(f"question of {task_id}"):
                settled = is_settled(self._bus, task_id)
                if settled or question.answered_at:
                    self._close(task_id, question, passed_on.get(task_id, ""))
                if settled:
                    self._notebook.revise(task_id, None)
        self._notebook.save()

    def step(self) -> float:
        self._setting.config.refresh()
        self._notebook.mend_dates(self._clock.now())
        taken = handled = 0
        with self._faults.contained("hearing people"):
            taken = self._take_replies() + self._take_defaults()
        with self._faults.contained("speaking to people"):
            handled = self._deliver()
        is_busy = handled >= self._transport.at_once or (taken and self._is_default_due())
        return 0.0 if is_busy else self._seconds_of_rest()

    def accepts(self) -> Mapping[str, Accept]:
        return {STREAM: lambda type_, priority: False} if self._rests() else {}

    def descriptors(self) -> Sequence[int]:
        return self._transport.descriptors()

    def stop(self) -> None:
        self._transport.close()

    def _seconds_of_rest(self) -> float:
        interval: float = self._setting.config.current.settings.envoy.polling.interval_seconds
        default_at = None if self._is_default_due() else self._next_default()
        moments = (default_at, self._resting_until)
        now = self._clock.now()
        waits = ((moment - now).total_seconds() for moment in moments if moment is not None)
        return max(min(interval, *waits), 0.0) if any(moments) else interval

    def _next_default(self) -> datetime | None:
        """Looked for again only when the questions are others."""
        questions = self._notebook.questions
        if self._defaults is None or self._defaults[0] is not questions:
            self._defaults = questions, next_default(questions)
        return self._defaults[1]

    def _is_default_due(self) -> bool:
        due = self._next_default()
        return due is not None and due <= self._clock.now()

    def _rests(self) -> bool:
        until = self._resting_until
        if until is not None and not still_waits(until, self._clock.now(), _LONGEST_REST):
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
                what = f"{STREAM}/{parcel.message.id}"
                with self._faults.contained(what, partial(self._set_aside, parcel)):
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
        held = self._outbound.reason_to_hold(message)
        if held:
            self._hold(parcel, held)
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

    def _hold(self, parcel: Parcel, reason: str) -> None:
        """It waits for a person, who is told by the king; those behind it go on."""
        self._in_hand.remove(parcel)
        try:
            self._bus.hold(parcel.claim, Problem(HELD_BACK, reason))
        except LeaseLost:
            return
        self._log.warning("message.held", reason=reason, **facts(parcel.message))
        self._events.about("message.held", parcel.message, reason=reason)

    def _set_aside(self, parcel: Parcel, problem: Problem) -> None:
        if parcel.thread is None:  # else it was shown, and is recorded as sent
            error = NeverWorks(problem.message, code=problem.code)
            self._give_back(parcel, partial(self._bus.retry, parcel.claim), error)

    def _later(self, claim: Claim, error: TryLater, problem: Problem) -> str:
        """No attempt is counted when the trouble is with the transport as a whole: all wait."""
        if error.not_before is None:
            return self._bus.retry(claim, problem)
        self._bus.defer(claim, error.not_before, problem.message)
        if not error.only_this:
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
        known = facts(message)
        if state != DEAD:
            self._log.warning("message.delayed", error=str(error), **known)
            return
        self._note(message, thread_of(message, self._notebook.mappings))
        self._notebook.save()
        self._log.error("message.failed", error=str(error), **known)
        self._events.about("message.failed", message, error=error.sentence)
        buried = {"id": message.id, "code": error.code, "reason": error.sentence}
        self._events.emit("queue.buried", {"stream": STREAM, **buried}, message.trace_id)

    def _note(self, message: MessageBase, thread: Thread | None) -> None:
        answered = named(message, "answers")
        question = self._notebook.questions.get(answered)
        before = self._notebook.questions
        self._notebook.note(message, thread, self._clock.now())
        if question and question.answered_at is None:
            self._events.answered(answered, question)
        for task_id in before.keys() - self._notebook.questions.keys():
            self._close(task_id, before[task_id])
        # An answer can overtake its question: `kingdom ask` shows one that waits to be sent.
        asking = message.task_id if isinstance(message, HumanInputRequest) else None
        if asking and is_settled(self._bus, asking):
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
            self._log.warning("message.lease_lost", **facts(parcel.message))
        self._in_hand = [one for one in self._in_hand if one is not parcel]

    def _commit(self, parcels: Iterable[Parcel]) -> None:
        done = [parcel for parcel in parcels if parcel.thread or parcel.duplicate_of]
        if not done:
            return
        self._bus.commit(Move(parcel.claim, "sent", fields=parcel.outcome) for parcel in done)
        for parcel in done:
            name = "message.sent" if parcel.thread else "report.repeated"
            self._log.info(name, **facts(parcel.message), **parcel.outcome)
            if parcel.thread:
                self._events.about("message.sent", parcel.message, channel=parcel.thread.channel)

    # From people to the kingdom

    def _take_replies(self) -> int:
        """What waits for others, Slack too, comes after it was said that it is safe."""
        replies = self._transport.poll(self._notebook.questions)
        for heard in replies:
            with self._faults.contained(f"what {heard.user} said", partial(self._pass_over, heard)):
                then = self._take(heard)
                self._transport.taken(heard)
                then()
        self._standing.hears(self._transport.trouble(), self._transport.failing())
        return len(replies)

    def _pass_over(self, heard: Heard, problem: Problem) -> None:
        caretaker = Caretaker(self._setting.base, self._clock)
        caretaker.bury("events", asdict(heard), InvalidFile(problem.message, code=problem.code))
        self._transport.taken(heard)

    def _take(self, heard: Heard) -> Callable[[], None]:
        match heard:
            case Reply():
                return self._take_reply(heard)
            case Speech():
                self._publish(speech_event(heard, self._clock.now()))
                return lambda: None
            case other:
                assert_never(other)

    def _take_reply(self, reply: Reply) -> Callable[[], None]:
        """One that is no answer changes nothing: the question stays open."""
        meant = meant_by(reply, self._notebook.questions, self._words)
        if isinstance(meant, Answer):
            return self._answer(meant, said_by(reply), reply.at)
        if is_known(self._bus, self._setting.base, meant.task_id, reply):
            return lambda: None
        self._log.info("reply.ignored", task_id=meant.task_id, reason=meant.what)
        return partial(self._transport.tell, reply, meant.what, meant.text)

    def _take_defaults(self) -> int:
        """A few of those that are due, once all is heard that was said in time."""
        if not self._is_default_due():
            return 0
        now, taken = self._clock.now(), 0
        for task_id, question in with_default_due(self._notebook.questions, now).items():
            if taken == _DEFAULTS_AT_ONCE:
                break
            if not self._transport.has_heard(question):
                continue
            taken += 1
            with self._faults.contained(
                f"question of {task_id}", partial(self._take_no_default, task_id, question)
            ):
                if is_settled(self._bus, task_id):
                    self._notebook.revise(task_id, None)
                    self._notebook.save()
                else:
                    answer = Answer(task_id, question, question.default or "")
                    self._answer(answer, NOBODY, question.expires_at or now)()
        return taken

    def _take_no_default(self, task_id: str, question: Question, problem: Problem) -> None:
        """It can still be answered."""
        self._notebook.revise(task_id, question.revised(expires_at=None))

    def _answer(self, answer: Answer, by: SaidBy, at: datetime) -> Callable[[], None]:
        """Published before it is noted: after a crash the same event is published again, which
        the bus knows by its id. Answers what is left to do, and may wait."""
        task_id, question, now = answer.task_id, answer.question, self._clock.now()
        event = answer_event(
            task_id,
            question,
            answer.text,
            answered_by=by.name,
            source=SOURCE,
            at=at,
            now=now,
            until=at if by is NOBODY else None,
            where=by.where,
        )
        self._publish(event)
        self._notebook.revise(task_id, question.revised(answered_at=now))
        self._notebook.save()
        self._log.info("question.answered", task_id=task_id, answered_by=by.name, id=event.id)
        if by is not NOBODY:
            self._events.answered(task_id, question)
        line = self._outbound.closing_line(self._words, answer.text, by)
        return partial(self._transport.close_question, question, line)

    def _publish(self, event: Event) -> None:
        if self._bus.publish("events", event)[0]:
            self._log.info("event.heard", id=event.id, type=event.type)
            data = {"event_id": event.id, "source": event.source, "event_type": event.type}
            self._events.emit("event.detected", data, event.trace_id)

    def _close(self, task_id: str, question: Question, passed_on: str = "") -> None:
        """Answered by whatever way, or of no use any more."""
        known = known_answer(self._bus, task_id, passed_on)
        line = self._outbound.closing_line(self._words, *known)
        self._transport.close_question(question, line)

    @property
    def _words(self) -> Words:
        return Words(self._setting.config.current.settings.system.language)


def make(setting: Setting) -> Envoy:
    return Envoy(setting, chosen_transport(setting))
