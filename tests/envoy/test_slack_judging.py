"""Whose reply it is, and what cannot be judged yet keeps nobody else."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.models.result import NeedsHuman
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.envoy import TASK, Life
from tests.support.kingdom import MovableClock
from tests.support.slack_life import WITH_SOCKET, texts
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import Fault
from tests.support.slack_workspace import BOT, BOT_ID, OWNER
from tests.support.waiting import eventually

OPTIONS: dict[str, Any] = {"options": ["main", "next"]}
LIMIT = {"status": 429, "headers": {"Retry-After": "60"}}
MEMBERS = "usergroups.users.list"


# Who cannot be judged keeps nobody else


def test_a_person_whom_slack_tells_nothing_of_is_heard_by_their_id(heard: Scene) -> None:
    heard.begin(allowed=("C0KINGDOM",))
    thread = heard.ask()
    heard.server.faults.append(Fault("users.info", error="internal_error", left=1_000))
    heard.hears(heard.server.says("C0KINGDOM", "main", user=STRANGER, thread_ts=thread))
    assert heard.answers() == [("main", STRANGER)]


def test_a_group_that_slack_does_not_tell_keeps_no_other_from_being_heard(
    heard: Scene, clock: MovableClock
) -> None:
    server = heard.server
    server.groups["S0TEAM"] = [STRANGER]
    heard.begin(allowed=("S0TEAM",))
    thread = heard.ask()
    server.faults.append(Fault(MEMBERS, **LIMIT))
    waits = server.says("C0DEV", f"<@{BOT}> look", user=STRANGER)
    heard.hears(server.says("C0KINGDOM", "main", thread_ts=thread))
    assert heard.answers() == [("main", "ada")]
    assert waits not in server.lines.acknowledged
    assert len(heard.events()) == 1
    clock.advance(61)
    heard.hears(waits)
    assert len(heard.events()) == 2


def test_also_in_the_same_thread_nobody_waits_for_someone_whom_slack_does_not_tell_of(
    heard: Scene, clock: MovableClock
) -> None:
    server = heard.server
    server.groups["S0TEAM"] = [STRANGER]
    heard.begin(allowed=("S0TEAM",))
    thread = heard.ask()
    server.faults.append(Fault(MEMBERS, **LIMIT))
    first = server.says("C0KINGDOM", "first", user=STRANGER, thread_ts=thread)
    server.pass_time(5)
    heard.hears(server.says("C0KINGDOM", "second", thread_ts=thread))
    assert heard.answers() == [("second", "ada")]
    assert first not in server.lines.acknowledged
    clock.advance(61)
    heard.hears(first)
    assert heard.answers() == [("second", "ada")]
    assert heard.notices() == ["Thank you; this question has been answered already."]


@pytest.mark.parametrize("where", ["thread", "direct"])
def test_what_slack_does_not_tell_for_long_is_refused_politely(
    heard: Scene, clock: MovableClock, where: str
) -> None:
    server = heard.server
    server.groups["S0TEAM"] = [STRANGER]
    heard.begin(allowed=("S0TEAM",))
    asked = heard.ask()
    thread = {"thread_ts": asked} if where == "thread" else {}
    channel = "C0KINGDOM" if where == "thread" else "D0STRANGER"
    trouble = Fault(MEMBERS, error="internal_error", left=1_000_000)
    server.faults.append(trouble)
    envelope = server.says(channel, "main", user=STRANGER, **thread)
    heard.until(lambda: trouble.left < 1_000_000, "it was asked")
    for _ in range(20):
        heard.life.envoy.step()
    assert Path(heard.base.system_log).read_text().count("slack.not_judged") == 1
    for _ in range(9):
        clock.advance(60)
        heard.life.go()
    assert envelope not in server.lines.acknowledged
    assert 1_000_000 - trouble.left <= 11, "it is asked now and then"
    clock.advance(120)
    heard.hears(envelope)
    assert heard.events() == []
    assert len(heard.notices(channel)) == 1
    assert heard.notices(channel)[0].startswith("Thank you, but only those may answer here")


def test_found_by_looking_it_is_not_marked_as_heard_before_it_was_judged(
    polled: Scene, clock: MovableClock
) -> None:
    polled.server.groups["S0TEAM"] = [STRANGER]
    polled.begin(allowed=("S0TEAM",))
    polled.server.faults.append(Fault(MEMBERS, error="internal_error", left=1_000))
    polled.server.said("C0KINGDOM", f"<@{BOT}> look", user=STRANGER)
    polled.server.pass_time(900)
    polled.server.said("C0KINGDOM", "lunch?")
    clock.advance(30)
    polled.life.go()
    polled.server.faults.clear()
    polled.begin()
    for _ in range(2):
        clock.advance(30)
        polled.life.go()
    assert [one["payload"]["text"] for one in polled.events()] == ["look"]


def test_what_waits_is_not_marked_as_heard_by_what_others_say_later(
    heard: Scene, clock: MovableClock
) -> None:
    server = heard.server
    server.groups["S0TEAM"] = [STRANGER]
    heard.begin(allowed=("S0TEAM",))
    server.faults.append(Fault(MEMBERS, error="internal_error", left=1_000_000))
    waits = server.says("C0DEV", f"<@{BOT}> look", user=STRANGER)
    server.pass_time(400)
    heard.hears(server.says("C0DEV", f"<@{BOT}> hello"))
    assert waits not in server.lines.acknowledged
    server.faults.clear()
    heard.begin()
    heard.until(lambda: len(heard.events()) == 2, "it is found again")
    assert [one["payload"]["text"] for one in heard.events()] == ["look", "hello"]


# Whose button, whose answer


def test_a_button_of_another_place_answers_nothing(heard: Scene) -> None:
    """Another kingdom, or a former life of this one, may have counted its messages alike."""
    heard.ask(**OPTIONS)
    other = {"type": "message", "ts": "1770000000.000100", "user": BOT, "bot_id": BOT_ID}
    other |= {"text": "Delete it?", "blocks": heard.question["blocks"]}
    heard.server.channels["C0DEV"].messages.append(other)
    heard.hears(heard.server.presses(other, 2))
    assert heard.events() == []
    told = "This button belongs to a question that nobody asks any more."
    assert (heard.notices("C0DEV"), heard.notices()) == ([told], [])


def test_a_person_may_have_the_name_of_the_default(heard: Scene) -> None:
    heard.server.users[STRANGER]["profile"] = {"display_name": "default"}
    heard.begin(allowed=(STRANGER,))
    thread = heard.ask(**OPTIONS)
    heard.hears(heard.server.says("C0KINGDOM", "main", user=STRANGER, thread_ts=thread))
    (event,) = heard.events()
    assert event["payload"]["user"] == STRANGER
    assert event["payload"]["answered_by"] == f"default ({STRANGER})"
    assert f"default ({STRANGER}) answered: main" in texts(heard.server)[1]


def test_who_answered_with_a_button_is_known_by_id_and_place(heard: Scene) -> None:
    heard.ask(**OPTIONS)
    heard.hears(heard.server.presses(heard.question, 1))
    payload = heard.events()[0]["payload"]
    assert (payload["user"], payload["channel"]) == (OWNER, "C0KINGDOM")
    assert payload["ts"] > heard.question["ts"]


# Nobody is told that nothing is asked whose answer was taken


def takes(base: BaseDir, event_id: str) -> None:
    """As the king takes an answer, before its messages about that."""
    bus = FileBus(base, durable=False)
    try:
        bus.publish("results", NeedsHuman(task_id=TASK, summary="?", question="?"))
        (claim,) = bus.claim("results", "king", ids=[TASK])
        bus.commit([Move(claim, "handled", fields={"answered_by": event_id})])
    finally:
        bus.close()


@pytest.mark.parametrize("way", ["reply", "button"])
def test_killed_after_publishing_it_says_nothing_to_whose_answer_was_taken(
    heard: Scene, clock: MovableClock, way: str
) -> None:
    server, base = heard.server, heard.base
    thread = heard.ask(**OPTIONS)
    server.pass_time(60)
    clock.advance(60)
    server.lines.sends_again = True
    if way == "reply":
        server.says("C0KINGDOM", "main", thread_ts=thread)
    else:
        server.presses(heard.question, 1)

    def dies(name: str, arguments: tuple[Any, ...], call: Any) -> Any:
        done = call()
        if any(Path(base.path("queue/events/pending")).glob("evt-*")):
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def work() -> None:
        with observed(dies):
            life = Life(base, clock, environment=WITH_SOCKET)
            eventually(lambda: life.go() < 0, "it is killed")

    assert in_child(work) == -signal.SIGKILL
    (event,) = heard.events()
    takes(base, event["id"])
    for _ in range(2):
        heard.begin()
        server.lines.replay_what_was_not_acknowledged()
        heard.life.go()
    heard.until(lambda: server.lines.acknowledged, "it came again")
    assert len(heard.events()) == 1
    assert heard.notices() == []
    assert "ada answered: main" in texts(server)[1]


# What is acknowledged


@pytest.mark.parametrize("way", ["reply", "button", "direct"])
def test_slack_is_asked_nothing_between_an_envelope_and_its_acknowledgement(
    heard: Scene, way: str
) -> None:
    server = heard.server
    thread = heard.ask(**OPTIONS)
    asked: list[str] = []
    held: list[str] = []

    def note(stage: str, method: str) -> None:
        """Slack answers nothing before it has its acknowledgement."""
        if stage == "received":
            asked.append(method)
            eventually(lambda: held[0] in server.lines.acknowledged, f"{method} waits for it")

    said = {
        "reply": lambda: server.says("C0KINGDOM", "main", thread_ts=thread),
        "button": lambda: server.presses(heard.question, 1),
        "direct": lambda: server.says("D0OWNER", "hello"),
    }[way]
    held.append(said())
    server.hook = note
    heard.comes()
    heard.hears(held[0])
    assert len(heard.events()) == 1
    assert way != "direct" or asked == []


def test_a_notice_is_said_after_the_acknowledgement(heard: Scene) -> None:
    server = heard.server
    thread = heard.ask(**OPTIONS)
    envelope = server.says("C0KINGDOM", "perhaps", thread_ts=thread)
    server.hook = lambda stage, method: eventually(
        lambda: envelope in server.lines.acknowledged, f"{method} waits for it"
    )
    heard.comes()
    heard.hears(envelope)
    assert len(heard.notices()) == 1
