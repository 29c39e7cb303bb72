"""Hears what people say in Slack: by a socket if there is an app token, and by looking.

What is heard waits here until the daemon has taken it; only then it is acknowledged, and marked as
heard. What bots say, what is said twice, and what is not meant for the kingdom ends here; so does
what someone says who may not, and that is written down.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.clients.slack_socket import Envelope, SlackSocket
from kingdom.clock import Clock, isoformat
from kingdom.envoy.questions import Questions
from kingdom.envoy.transport import Heard, Reply, Speech, Thread
from kingdom.envoy.transports.slack.memory import Memory
from kingdom.envoy.transports.slack.permits import Permits
from kingdom.envoy.transports.slack.rounds import Rounds
from kingdom.envoy.transports.slack.speaking import (
    Pressed,
    Said,
    moment_of,
    part_of,
    pressed_in,
    said_in,
)

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_MOST_RECENT = 5_000
_SLACKBOT = "USLACKBOT"

Came = Said | Pressed


@dataclass(eq=False)
class Item:
    """Something that came, on its way: an envelope not opened yet, what a person did, or the end
    of a look (`until`)."""

    envelope: Envelope | None = None
    came: Came | None = None
    until: tuple[str, str] | None = None
    heard: Heard | None = None


class Ear:
    """`nothing_asked` is called for a reply in a thread of ours that awaits none."""

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
        nothing_asked: Callable[[Reply], None],
    ) -> None:
        self._slack = slack
        self._memory = memory
        self._permits = permits
        self._rounds = rounds
        self._socket = socket
        self._clock = clock
        self._log = log
        self._seconds = seconds
        self._nothing_asked = nothing_asked
        self._came: deque[Item] = deque()
        self._understood: list[Item] = []
        self._recent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lines = 0  # of the socket, so far
        self._behind = True  # something may have been said that no socket told
        self._catches_up = False
        self._thorough = True
        self._next_round: datetime | None = None
        self.trouble: SlackRefused | None = None  # why there will be no socket for long

    @property
    def hears_buttons(self) -> bool:
        return self._socket is not None and self.trouble is None

    def poll(self, questions: Questions) -> list[Heard]:
        self._listen()
        self._look(questions)
        try:
            while self._came:
                self._understand(self._came[0], questions)
                self._came.popleft()
        except SlackLater as error:  # it is asked who that is; the others wait meanwhile
            self._log.warning("slack.not_heard", error=str(error))
        self._mark()
        self._memory.save()
        return [item.heard for item in self._understood if item.heard is not None]

    def taken(self, heard: Heard) -> None:
        for item in [one for one in self._understood if one.heard is heard]:
            self._done(item)
        self._mark()

    def descriptors(self) -> Sequence[int]:
        return () if self._socket is None else (self._socket.fileno(),)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _listen(self) -> None:
        if self._socket is None:
            return
        self._came += [Item(envelope) for envelope in self._socket.take()]
        for trouble in self._socket.troubles():
            self._log.warning("slack.no_socket", error=str(trouble), code=trouble.code)
            self.trouble = trouble if isinstance(trouble, SlackRefused) else self.trouble
        if self._socket.is_up:
            self.trouble = None
        if self._socket.lines != self._lines:
            self._lines, self._next_round = self._socket.lines, None
            self._behind, self._thorough, self._catches_up = True, True, False
            self._log.info("slack.connected", lines=self._lines)

    def _look(self, questions: Questions) -> None:
        """A round now and then while there is no line; with one, until it was caught up with."""
        is_up = self._socket is not None and self._socket.is_up
        now = self._clock.now()
        is_due = self._next_round is None or self._next_round <= now
        if self._rounds.is_over and is_due and (self._behind or not is_up):
            self._next_round = now + timedelta(seconds=self._seconds())
            self._begin(questions)
        for look in self._rounds.go_on(questions):
            self._came += [Item(came=said) for said in look.said]
            self._came.append(Item(until=(look.channel, look.newest)))
        if self._catches_up and self._rounds.is_over:
            self._behind, self._catches_up = not is_up, False

    def _begin(self, questions: Questions) -> None:
        try:
            self._rounds.begin(questions, thorough=self._thorough)
        except SlackLater as error:
            self._log.warning("slack.not_heard", error=str(error))
            self._next_round = max(filter(None, (self._next_round, error.not_before)))
        else:
            self._thorough, self._catches_up = False, True

    # What it means

    def _understand(self, item: Item, questions: Questions) -> None:
        if item.envelope is not None:
            item.came = self._opened(item.envelope)
        came = item.came
        if came is not None:
            known = (came.channel, came.ts) in self._recent or came.user == _SLACKBOT
            item.heard = None if known else self._heard(came, questions)
            self._recent[came.channel, came.ts] = None
            while len(self._recent) > _MOST_RECENT:
                self._recent.popitem(last=False)
        self._understood.append(item)
        if item.heard is None and item.until is None:
            self._done(item)

    def _opened(self, envelope: Envelope) -> Came | None:
        if envelope.type == "events_api":
            return said_in(part_of(envelope.payload, "event"), self._slack.me())
        return pressed_in(envelope.payload) if envelope.type == "interactive" else None

    def _heard(self, came: Came, questions: Questions) -> Heard | None:
        if isinstance(came, Pressed):
            return self._reply(came, "")
        if came.thread_ts and any(
            one.thread_ts == came.thread_ts and one.channel == came.channel
            for one in questions.values()
        ):
            return self._reply(came, came.text)
        if came.calls_us or (came.is_direct and not came.to_us):
            return self._speech(came)
        if came.to_us and not self._memory.is_heard(came.channel, came.ts):
            reply = self._reply(came, came.text)
            if reply is not None and reply.may_answer:
                self._nothing_asked(reply)
        return None

    def _reply(self, came: Came, text: str) -> Reply | None:
        if self._permits.is_bot(came.user):
            return None
        allowed = self._permits.allows(came.user, came.channel)
        if not allowed:
            self._ignore(came)
        pressed = (came.message_id, came.number) if isinstance(came, Pressed) else ("", 0)
        return Reply(
            Thread(came.channel, came.thread_ts),
            text,
            self._permits.name_of(came.user),
            moment_of(came.ts),
            may_answer=allowed,
            user=came.user,
            asked_in=pressed[0] or ("?" if isinstance(came, Pressed) else ""),
            number=pressed[1],
        )

    def _speech(self, said: Said) -> Speech | None:
        if self._permits.is_bot(said.user):
            return None
        if not self._permits.allows(said.user, said.channel):
            self._ignore(said)
            return None
        direct = said.is_direct
        return Speech(direct, said.text, said.channel, said.user, said.ts, said.thread_ts)

    def _ignore(self, came: Came) -> None:
        if self._memory.is_heard(came.channel, came.ts):
            return
        self._log.info("slack.ignored", user=came.user, channel=came.channel, ts=came.ts)
        at = isoformat(self._clock.now())
        self._memory.ignore({"at": at, "user": came.user, "channel": came.channel, "ts": came.ts})

    # What becomes of it

    def _done(self, item: Item) -> None:
        self._understood.remove(item)
        if item.envelope is None or self._socket is None:
            return
        self._socket.acknowledge(item.envelope.id)
        if item.heard is not None and isinstance(item.came, Said) and not self._behind:
            self._memory.hear(item.came.channel, item.came.ts)

    def _mark(self) -> None:
        """A look is over when all that came before its end was taken."""
        while self._understood and (until := self._understood[0].until) is not None:
            self._memory.hear(*until)
            self._understood.pop(0)
