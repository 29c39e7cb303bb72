"""Without an app token: what people say in Slack is found by looking, at a bounded price."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from kingdom.envoy.transports.slack.memory import MOST_CHANNELS, Memory
from kingdom.store.paths import BaseDir
from tests.support.envoy import Life, publish, question, start
from tests.support.kingdom import MovableClock, counts
from tests.support.slack_life import ENVIRONMENT, configure, texts
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import BOT, OWNER

OPTIONS = {"options": ["main", "next"]}


def test_replies_are_found_by_looking(polled: Scene, clock: MovableClock) -> None:
    thread = polled.ask(**OPTIONS)
    assert not [one for one in polled.question["blocks"] if one["type"] == "actions"]
    assert "2. next" in texts(polled.server)[1]
    polled.server.said("C0KINGDOM", "2", thread_ts=thread)
    polled.life.go()
    assert polled.events() == [], "it looks every 30 s"
    clock.advance(30)
    polled.life.go()
    assert polled.events()[0]["payload"]["text"] == "next"
    assert "ada answered: next" in texts(polled.server)[1]


def test_what_was_said_before_the_question_is_no_answer_to_it(
    polled: Scene, clock: MovableClock
) -> None:
    publish(polled.base, start(1))
    polled.life.go()
    thread = polled.server.in_channel()[0]["ts"]
    polled.server.said("C0KINGDOM", "good luck", thread_ts=thread)
    publish(polled.base, question(2))
    polled.life.go()
    clock.advance(30)
    polled.life.go()
    assert polled.events() == []
    polled.server.said("C0KINGDOM", "main", thread_ts=thread)
    clock.advance(30)
    polled.life.go()
    assert polled.events()[0]["payload"]["text"] == "main"


def test_direct_messages_and_mentions_are_found_by_looking(
    polled: Scene, clock: MovableClock
) -> None:
    polled.server.said("D0OWNER", "hello")
    asked = polled.server.said("C0KINGDOM", f"<@{BOT}> look")
    polled.server.said("C0KINGDOM", f"<@{BOT}> and here", thread_ts=asked["ts"])
    for _ in range(3):
        clock.advance(30)
        polled.life.go()
    assert [one["payload"]["text"] for one in polled.events()] == ["look", "and here", "hello"]


def test_what_was_said_before_the_kingdom_came_is_not_dug_up(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> None:
    configure(base, server)
    server.open({"users": OWNER})
    server.said("D0OWNER", "long ago")
    server.pass_time(3600)
    clock.advance(3600)
    live(environment=ENVIRONMENT).go()
    assert counts(base) == {}


def test_a_channel_that_cannot_be_read_keeps_no_other(polled: Scene, clock: MovableClock) -> None:
    configure(polled.base, polled.server, channel="C0CLOSED", allowed=("C0KINGDOM", "U0GONE"))
    polled.begin()
    polled.server.said("C0KINGDOM", f"<@{BOT}> look")
    clock.advance(30)
    polled.life.go()
    assert [one["payload"]["text"] for one in polled.events()] == ["look"]


def test_a_clock_that_was_ahead_hides_nothing_that_people_say(
    polled: Scene, clock: MovableClock
) -> None:
    """It was when the envoy began to look, and when it met a limit."""
    right = clock.now()
    clock.set_wall(right + timedelta(days=365))
    limit = Fault("conversations.history", status=429, headers={"Retry-After": "90"})
    polled.server.faults.append(limit)
    polled.begin()
    clock.set_wall(right)
    polled.life.go()
    polled.server.said("C0KINGDOM", f"<@{BOT}> look")
    clock.advance(30)
    polled.life.go()
    assert [one["payload"]["text"] for one in polled.events()] == ["look"]


def test_a_limit_puts_the_look_off(polled: Scene, clock: MovableClock) -> None:
    thread = polled.ask()
    limit = Fault("conversations.history", status=429, headers={"Retry-After": "90"})
    polled.server.faults.append(limit)
    polled.server.said("C0KINGDOM", "main", thread_ts=thread)
    for _ in range(3):
        clock.advance(30)
        polled.life.go()
    assert polled.events() == []
    clock.advance(31)
    polled.life.go()
    assert len(polled.events()) == 1


def test_an_old_thread_among_hundreds_is_found(polled: Scene, clock: MovableClock) -> None:
    thread = polled.ask()
    for number in range(450):
        polled.server.said("C0KINGDOM", f"chatter {number}")
    clock.advance(30)
    polled.life.go()
    polled.server.said("C0KINGDOM", "main", thread_ts=thread)
    before = len(polled.server.calls("conversations.history"))
    for _ in range(3):
        clock.advance(30)
        polled.life.go()
    assert len(polled.events()) == 1
    assert len(polled.server.calls("conversations.history")) - before <= 9


def test_many_threads_with_news_are_read_a_few_at_a_time_and_all(
    polled: Scene, clock: MovableClock
) -> None:
    server = polled.server
    for number in range(45):
        asked = server.said("C0KINGDOM", "who knows?", user=STRANGER)
        server.said("C0KINGDOM", f"<@{BOT}> {number}", thread_ts=asked["ts"])
    server.pass_time(900)
    server.said("C0KINGDOM", "lunch")
    limit = Fault("conversations.replies", status=429, headers={"Retry-After": "20"})
    server.faults.append(limit)
    for _ in range(6):
        clock.advance(30)
        polled.life.go()
    assert sorted(int(one["payload"]["text"]) for one in polled.events()) == [*range(45)]
    assert len(server.calls("conversations.replies")) == 45


def test_what_was_said_during_an_outage_is_found_though_it_is_much(
    polled: Scene, clock: MovableClock
) -> None:
    outage = Fault("conversations.history", status=503, left=3)
    polled.server.faults.append(outage)
    polled.server.said("C0KINGDOM", f"<@{BOT}> look")
    for number in range(250):
        polled.server.said("C0KINGDOM", f"chatter {number}")
    for _ in range(8):
        clock.advance(60)
        polled.life.go()
    assert [one["payload"]["text"] for one in polled.events()] == ["look"]


def test_a_few_old_questions_far_apart_are_heard_within_a_few_rounds(
    polled: Scene, clock: MovableClock
) -> None:
    """A round looks where a question is open, not through all that was said between."""
    threads = []
    for number in range(1, 4):
        publish(polled.base, question(number, task_id=f"task-20260207-00{number}"))
        polled.life.go()
        threads.append(polled.server.in_channel()[-1]["ts"])
        for line in range(700):
            polled.server.said("C0KINGDOM", f"chatter {line}")
    for _ in range(4):
        clock.advance(30)
        polled.life.go()
    before = len(polled.server.calls("conversations.history"))
    for ts in threads:
        polled.server.said("C0KINGDOM", "main", thread_ts=ts)
    for _ in range(3):
        clock.advance(30)
        polled.life.go()
    assert len(polled.events()) == 3
    looks = polled.server.calls("conversations.history")[before:]
    assert len([one for one in looks if one["channel"] == "C0KINGDOM"]) == 6, "two a round"


def test_a_channel_too_many_to_be_remembered_is_looked_at_all_the_same(base: BaseDir) -> None:
    memory = Memory(base)
    for number in range(MOST_CHANNELS):
        memory.hear(f"C{number}", f"{1_000 + number}.0")
    assert memory.since("CNEW", "7.0") == "7.0"
    assert len(memory.heard) == MOST_CHANNELS
