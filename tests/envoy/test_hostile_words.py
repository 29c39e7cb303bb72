"""What cannot be shown or understood is kept as a dead letter, and others go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.envoy.transport import Reply, Speech, Thread
from kingdom.store.paths import BaseDir
from tests.support.envoy import TASK, Life, Willing, awaiting, internal, publish, question, start
from tests.support.kingdom import START, MovableClock, counts, files, load, message

pytestmark = pytest.mark.breaks
BAD, GOOD = "msg-20260207-001", "msg-20260207-002"


@pytest.fixture(autouse=True)
def logs(base: BaseDir) -> None:
    Path(base.logs).mkdir()


class Stumbling(Willing):
    """It fails at one message, before or after that was shown."""

    def __init__(self, *, shown_before: bool = False) -> None:
        super().__init__()
        self.at_once = 10
        self._shown_before = shown_before

    def send(self, message: Any, thread: Any, *, perhaps_sent: bool = False) -> Thread:
        if message.id == BAD and not self._shown_before:
            raise RecursionError
        found = super().send(message, thread, perhaps_sent=perhaps_sent)
        return Thread(7, found.thread_ts) if message.id == BAD else found  # type: ignore[arg-type]

    def close_question(self, question: Any, line: str) -> None:
        raise ValueError


@pytest.mark.provokes("message.failed", "queue.buried")
def test_a_message_that_cannot_be_shown_ends_in_dead_and_the_rest_goes_on(
    base: BaseDir, clock: MovableClock, live: Callable[..., Life]
) -> None:
    life = live(transport=lambda setting: Stumbling())
    publish(base, message(1), message(2))
    for _ in range(6):
        life.go()
        clock.advance(100)
    assert counts(base) == {"messages/dead": 1, "messages/sent": 1}
    delivery = load(base, "messages/dead", BAD)["delivery"]
    assert (delivery["last_error_code"], delivery["attempt_count"]) == ("handling_failed", 5)
    assert [one["data"]["id"] for one in internal(base, "queue.buried")] == [BAD]


def test_one_that_was_shown_before_it_failed_is_not_shown_again(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live(transport=lambda setting: Stumbling(shown_before=True))
    publish(base, start(1), message(2))
    life.go()
    assert life.envoy._transport.shown == [BAD, GOOD]
    assert files(base) == {"messages/sent": [BAD, GOOD]}


def test_what_a_person_said_and_nobody_can_take_is_a_dead_letter(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live(transport=lambda setting: Willing())
    said = [
        Speech(True, "hel\ud800lo", "D1", "U1", "no moment"),
        Speech(True, "hello", "D1", "U2", "1700000000.000100"),
    ]
    life.envoy._transport.replies += said
    life.go()
    assert life.envoy._transport.replies == []
    assert files(base)["events/pending"] == ["evt-slack-msg-1700000000-000100"]
    (kept,) = files(base)["events/dead"]
    found = json.loads(Path(base.path("queue/events/dead", f"{kept}.json")).read_text("utf-8"))
    assert (found["user"], found["text"]) == ("U1", "hel\ufffdlo")
    reason = Path(base.path("queue/events/dead", f"{kept}.json.reason.json")).read_text()
    assert json.loads(reason)["code"] == "handling_failed"


def test_a_question_that_cannot_be_closed_stops_neither_a_start_nor_an_answer(
    base: BaseDir, clock: MovableClock, live: Callable[..., Life]
) -> None:
    life = live(transport=lambda setting: Stumbling())
    expires = START + timedelta(minutes=1)
    publish(base, question(2, default="main", expires_at=expires))
    life.go()
    clock.advance(120)
    assert life.go() > 0, "it rests"
    assert len(files(base)["events/pending"]) == 1
    life = live(transport=lambda setting: Stumbling())
    publish(base, message(3))
    reply = Reply(Thread("C1", f"{GOOD}.ts"), "dev", "ada", clock.now())
    life.envoy._transport.replies.append(reply)
    life.go()
    assert life.envoy._transport.shown == ["msg-20260207-003"]
    assert TASK in awaiting(base)
