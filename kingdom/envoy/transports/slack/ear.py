"""Hears what people say in Slack: by a socket if there is an app token, and by looking.

What is heard waits here until the daemon has taken it; only then it is acknowledged, and marked as
heard. What bots say, what is said twice, and what is not meant for the kingdom ends here; so does
what someone says who may not, and that is written down.

What can be judged by the envelope and by what is known here is taken at once, whatever Slack
refuses. The first reply counts, so what comes by a new line about a question waits for the look at
what was said while there was none; but not if Slack does not allow that look. Only someone whom
Slack must tell of waits until it does, for some minutes at most; nobody else waits for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clients.slack_socket import Envelope, SlackSocket
from kingdom.clock import Clock, isoformat, still_waits
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.transport import Heard, Reply, Speech, Thread
from kingdom.envoy.transports.slack.arrivals import Arrivals, Came, Item
from kingdom.envoy.transports.slack.memory import Memory
from kingdom.envoy.transports.slack.overdue import Overdue
from kingdom.envoy.transports.slack.permits import Permits
from kingdom.envoy.transports.slack.rounds import Rounds
from kingdom.envoy.transports.slack.speaking import (
    TS,
    Pressed,
    Said,
    me_in,
    moment_of,
    part_of,
    pressed_in,
    said_in,
)
from kingdom.errors import KingdomError

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_MOST_RECENT = 5_000
_SLACKBOT = "USLACKBOT"
_PATIENCE = timedelta(minutes=10)  # with a Slack that does not say who it was
_LONG_WITHOUT_LINE = timedelta(minutes=1)


class Ear:
    def __init__(
        self,
        slack: Slack,
        memory: Memory,
        permits: Permits,
        rounds: Rounds,
        *,
        socket: SlackSocket | None,
        clock: Clock,
        log: FilteringBoundLogger,
        seconds: Callable[[], float],
    ) -> None:
        self._slack = slack
        self._memory = memory
        self._permits = permits
        self._rounds = rounds
        self._socket = socket
        self._clock = clock
        self._log = log
        self._seconds = seconds
        self._overdue = Overdue(rounds.read, clock, log)
        self._arrivals = Arrivals()
        self._recent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lines = 0  # of the socket, so far
        self._behind = True  # something may have been said that no socket told
        self._catches_up = False
        self._next_round: datetime | None = None
        self._unjudged: SlackLater | None = None
        self._no_line: KingdomError | None = None  # why there is none
        self._without_line_since: datetime | None = None

    @property
    def trouble(self) -> KingdomError | None:
        return self._overdue.trouble or self._lasting_silence()

    @property
    def hears_buttons(self) -> bool:
        return self._socket is not None and self._lasting_silence() is None

    def _lasting_silence(self) -> KingdomError | None:
        """Why there is no socket, and will be none for long."""
        since, now = self._without_line_since, self._clock.now()
        is_lasting = isinstance(self._no_line, SlackRefused) or (
            since is not None and now - since > _LONG_WITHOUT_LINE
        )
        return self._no_line if is_lasting else None

    def poll(self, questions: Questions) -> list[Heard]:
        """Slack is asked nothing before all that can be judged without is acknowledged."""
        self._listen()
        self._begin_round(questions)
        self._understand_all(questions)
        if not self._arrivals.heard():
            if not self._arrivals.waiting():
                self._permits.learn()
            self._look(questions)
            self._understand_all(questions)
        self._mark()
        self._memory.save()
        return self._arrivals.heard()

    def taken(self, heard: Heard) -> None:
        for item in self._arrivals.of(heard):
            self._done(item)
        self._mark()

    def has_heard(self, question: Question) -> bool:
        """Whether all was taken that was replied to it before its time was over."""
        if not TS.fullmatch(question.thread_ts):
            return True  # it was asked elsewhere
        return self._overdue.is_read(question) and question.thread not in self._arrivals

    def descriptors(self) -> Sequence[int]:
        return () if self._socket is None else (self._socket.fileno(),)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _listen(self) -> None:
        if self._socket is None:
            return
        self._arrivals.add(self._socket.take(), self._clock.now())
        for trouble in self._socket.troubles():
            self._log.warning("slack.no_socket", error=str(trouble), code=trouble.code)
            self._no_line = trouble
        if self._socket.is_up:
            self._no_line = self._without_line_since = None
        elif self._without_line_since is None:
            self._without_line_since = self._clock.now()
        if self._socket.lines != self._lines:
            self._lines, self._next_round = self._socket.lines, None
            self._behind, self._catches_up = True, False
            self._log.info("slack.connected", lines=self._lines)
        self._open()

    def _open(self) -> None:
        try:
            for item in self._arrivals.waiting():
                if item.envelope is not None and not item.is_opened:
                    item.came, item.is_opened = self._opened(item.envelope), True
        except (SlackLater, SlackRefused) as error:  # it is not even known who we are
            self._log.warning("slack.not_heard", error=str(error))

    def _begin_round(self, questions: Questions) -> None:
        """Now and then while there is no line; with one, until it was caught up with."""
        now, is_first = self._clock.now(), self._next_round is None
        until = self._next_round
        is_over = until is None or not still_waits(until, now, LONGEST_LIMIT)
        is_due = until is None or (is_over and self._rounds.is_over)
        if is_due and (self._behind or not self._is_up):
            self._next_round = now + timedelta(seconds=self._seconds())
            self._rounds.begin(questions, thorough=is_first)
            self._catches_up = True

    def _look(self, questions: Questions) -> None:
        now = self._clock.now()
        for look in self._rounds.go_on(questions):
            self._overdue.note(look)
            self._arrivals.add_look(look, now)
        for look in self._overdue.look(questions):
            self._arrivals.add_look(look, now)
        if self._catches_up and self._rounds.is_over:
            self._behind, self._catches_up = not self._is_up or self._rounds.owes, False

    @property
    def _is_up(self) -> bool:
        return self._socket is not None and self._socket.is_up

    # What it means

    def _understand_all(self, questions: Questions) -> None:
        for item in self._arrivals.waiting():
            if not item.is_opened or self._is_early(item, questions):
                continue
            try:
                self._understand(item, questions)
            except SlackLater as error:
                if error is not self._unjudged:  # the same is raised until Slack is asked again
                    self._log.warning("slack.not_judged", error=str(error))
                self._unjudged = error

    def _is_early(self, item: Item, questions: Questions) -> bool:
        """Whether something may have been said before it in the same thread."""
        came = item.came
        if item.envelope is None or came is None or item.is_covered or not self._behind:
            return False
        return self._rounds.is_about_to_look(came.channel) and _is_asked(came, questions)

    def _is_patient(self, item: Item) -> bool:
        return abs(self._clock.now() - item.at) <= _PATIENCE

    def _understand(self, item: Item, questions: Questions) -> None:
        came = item.came
        if came is not None:
            known = (came.channel, came.ts) in self._recent or came.user == _SLACKBOT
            item.heard = None if known else self._heard(came, questions, self._is_patient(item))
            self._recent[came.channel, came.ts] = None
            while len(self._recent) > _MOST_RECENT:
                self._recent.popitem(last=False)
        item.is_understood = True
        if item.heard is None:
            self._done(item)

    def _opened(self, envelope: Envelope) -> Came | None:
        if envelope.type == "events_api":
            me = self._slack.known_me or me_in(envelope.payload) or self._slack.me()
            is_shared = envelope.payload.get("is_ext_shared_channel")
            return said_in(part_of(envelope.payload, "event"), me, is_shared=is_shared)
        if envelope.type == "interactive":
            return pressed_in(envelope.payload, self._slack.known_me)
        return None

    def _heard(self, came: Came, questions: Questions, patient: bool) -> Heard | None:
        if isinstance(came, Pressed):
            return self._reply(came, "", patient)
        if _is_asked(came, questions):
            return self._reply(came, came.text, patient)
        if came.calls_us or (came.is_direct and not came.to_us):
            return self._speech(came, patient)
        if came.to_us and not self._memory.is_heard(came.channel, came.ts):
            reply = self._reply(came, came.text, patient)
            return reply if reply is not None and reply.may_answer else None
        return None

    def _reply(self, came: Came, text: str, patient: bool) -> Reply | None:
        if self._permits.is_bot(came.user):
            return None
        allowed = self._allows(came, patient)
        if not allowed:
            self._ignore(came)
        pressed = (came.message_id, came.number) if isinstance(came, Pressed) else ("", 0)
        return Reply(
            Thread(came.channel, came.thread_ts or came.ts),
            text,
            self._permits.name_of(came.user),
            moment_of(came.ts),
            may_answer=allowed,
            user=came.user,
            ts=came.ts,
            asked_in=pressed[0] or ("?" if isinstance(came, Pressed) else ""),
            number=pressed[1],
        )

    def _speech(self, said: Said, patient: bool) -> Heard | None:
        if self._permits.is_bot(said.user):
            return None
        if self._allows(said, patient):
            direct = said.is_direct
            return Speech(direct, said.text, said.channel, said.user, said.ts, said.thread_ts)
        if patient:
            self._ignore(said)
            return None
        return self._reply(said, said.text, patient)  # nobody knows, so that is told

    def _allows(self, came: Came, patient: bool) -> bool:
        permits = self._permits
        return permits.allows(came.user, came.channel, is_ours=came.is_ours, patient=patient)

    def _ignore(self, came: Came) -> None:
        if self._memory.is_heard(came.channel, came.ts):
            return
        self._log.info("slack.ignored", user=came.user, channel=came.channel, ts=came.ts)
        at = isoformat(self._clock.now())
        self._memory.ignore({"at": at, "user": came.user, "channel": came.channel, "ts": came.ts})

    # What becomes of it

    def _done(self, item: Item) -> None:
        self._arrivals.remove(item)
        if item.envelope is None or self._socket is None:
            return
        self._socket.acknowledge(item.envelope.id)
        came = item.came
        if item.heard is None or not isinstance(came, Said) or self._behind:
            return
        if not self._arrivals.has_waiting_in(came.channel):
            self._memory.hear(came.channel, came.ts)

    def _mark(self) -> None:
        """A look is over when all that came before its end was taken."""
        for look in self._arrivals.looks_over():
            if look.newest:
                self._memory.hear(look.channel, look.newest)


def _is_asked(came: Came, questions: Questions) -> bool:
    return bool(came.thread_ts) and any(
        one.thread_ts == came.thread_ts and one.channel == came.channel
        for one in questions.values()
    )
