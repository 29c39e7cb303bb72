"""What it costs to hear people in Slack with many threads open, to what it costs with few: a look
that finds nothing, and a reply that is an answer. The channels have seen as much."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from kingdom.clock import isoformat
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_most, compared
from tests.bench.place import own_place
from tests.bench.polling import interleaved
from tests.bench.report import Rate
from tests.support.envoy import Life, publish, question
from tests.support.kingdom import START, MovableClock
from tests.support.slack_life import ENVIRONMENT, configure
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import BOT, BOT_ID, Entry

_FEW, _SOME, _MANY = 20, 200, 2_000  # beyond the newest 100 messages a look takes a page more
_SECONDS = 30  # between two looks
_CHANNEL = "C0KINGDOM"


class Listening:
    """An envoy without an app token, in a channel with many threads, so many of which are open,
    and so many of these await an answer."""

    def __init__(self, directory: str, server: FakeSlack, threads: int, awaiting: int) -> None:
        self.server, self.base, self.clock = server, BaseDir(own_place(directory)), MovableClock()
        self._asked = 0
        configure(self.base, server, channel=_CHANNEL)
        self._threads = [self._thread(number) for number in range(_MANY)][-threads:]
        self._remember(awaiting)
        self.life = Life(self.base, self.clock, environment=ENVIRONMENT)
        for _ in range(3):
            self.look()  # from here on nothing is new

    def _thread(self, number: int) -> str:
        parent: Entry = self.server.said(_CHANNEL, f"task {number}", user=BOT, bot_id=BOT_ID)
        said = {"user": BOT, "bot_id": BOT_ID, "thread_ts": parent["ts"]}
        self.server.said(_CHANNEL, "Which branch?", **said)
        return str(parent["ts"])

    def _remember(self, awaiting: int) -> None:
        state = Path(self.base.path("state", "envoy"))
        state.mkdir(parents=True)
        known = {
            _task(number): {"channel": _CHANNEL, "thread_ts": ts, "created_at": isoformat(START)}
            for number, ts in enumerate(self._threads)
        }
        asked = {
            task: {
                "msg_id": f"msg-20260206-{number:04d}",
                "question": "Which branch?",
                "asked_at": isoformat(START),
                "channel": _CHANNEL,
                "thread_ts": one["thread_ts"],
            }
            for number, (task, one) in enumerate(known.items())
            if number >= len(known) - awaiting
        }
        (state / "thread-mappings.json").write_text(json.dumps(known))
        (state / "awaiting-responses.json").write_text(json.dumps(asked))

    def look(self) -> None:
        self.clock.advance(_SECONDS)
        self.server.pass_time(_SECONDS)
        self.life.envoy.step()

    def prepare_reply(self) -> None:
        """The newest task asks anew, and someone answers."""
        self._asked += 1
        task = _task(len(self._threads) - 1)
        publish(self.base, question(self._asked, task_id=task))
        self.life.go()
        self.server.said(_CHANNEL, "main", thread_ts=self._threads[-1])

    def take_reply(self) -> None:
        self.look()
        events = Path(self.base.path("queue/events/pending"))
        assert len(list(events.iterdir())) == self._asked, "each reply is an event"


def _task(number: int) -> str:
    return f"task-20260206-{number:04d}"


def hearing(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    with FakeSlack() as short, FakeSlack() as long, FakeSlack() as half, FakeSlack() as full:
        few = Listening(directory, short, _FEW, _FEW)
        many = Listening(directory, long, _MANY, _FEW)
        some_ask = Listening(directory, half, _MANY, _SOME)
        all_ask = Listening(directory, full, _MANY, _MANY)
        arms = (few, many, some_ask, all_ask)
        looks = interleaved(rounds, [one.look for one in arms])
        replies = interleaved(
            rounds,
            [one.take_reply for one in arms],
            [one.prepare_reply for one in arms],
        )
        for one in arms:
            one.life.end()
    named, asking = f"{_MANY:,} threads open to {_FEW}", f"{_MANY:,} questions open"
    return [
        compared(f"a look for replies, {named}", looks[1], looks[0], at_most(1.5)),
        compared(f"a reply in Slack, {named}", replies[1], replies[0], at_most(1.5)),
        compared(f"a look for replies, {asking} to {_SOME}", looks[3], looks[2], at_most(1.5)),
        compared(f"a reply in Slack, {asking} to {_FEW}", replies[3], replies[0], at_most(1.5)),
    ], [
        Rate("look for replies in Slack", statistics.median(looks[0]) * 1e6, "µs"),
        Rate("reply in Slack", statistics.median(replies[0]) * 1e6, "µs"),
    ]
