"""Socket Mode over a real WebSocket: lines that break, fall silent or are to be renewed, and
envelopes that come twice. Whatever was said meanwhile is heard, once."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kingdom.clients.slack import Slack
from kingdom.clients.slack_socket import Envelope, SlackSocket
from tests.support.envoy import TASK, publish, question, start
from tests.support.kingdom import MovableClock, message
from tests.support.slack_scene import Scene
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import APP_TOKEN, BOT
from tests.support.waiting import eventually

OPEN = "apps.connections.open"


@pytest.fixture
def listening(server: FakeSlack) -> Iterator[Callable[..., SlackSocket]]:
    made: list[SlackSocket] = []

    def begin(**options: Any) -> SlackSocket:
        slack = Slack(APP_TOKEN, server.url, variable="SLACK_APP_TOKEN")
        made.append(SlackSocket(slack, **({"ping": 0.05, "first_pause": 0.01} | options)))
        made[-1].start()
        return made[-1]

    yield begin
    for one in made:
        one.close()


def is_up(socket: SlackSocket, lines: int = 1) -> None:
    eventually(lambda: socket.is_up and socket.lines >= lines, f"line {lines} stands")


def comes(socket: SlackSocket) -> list[Envelope]:
    """What comes next, told by the descriptor."""
    found: list[Envelope] = []

    def came() -> bool:
        if select.select([socket], [], [], 0)[0]:
            found.extend(socket.take())
        return bool(found)

    eventually(came, "something comes")
    return found


def test_an_envelope_is_handed_over_and_acknowledged_when_that_is_said(
    server: FakeSlack, listening: Callable[..., SlackSocket]
) -> None:
    socket = listening()
    is_up(socket)
    id_ = server.says("C0DEV", "x" * 70_000)
    (envelope,) = comes(socket)
    assert (envelope.id, envelope.type) == (id_, "events_api")
    assert len(envelope.payload["event"]["text"]) == 70_000
    assert server.lines.acknowledged == []
    socket.acknowledge(envelope.id)
    eventually(lambda: server.lines.acknowledged == [id_], "it is acknowledged")


def test_many_pings_are_answered_and_the_line_stays(
    server: FakeSlack, listening: Callable[..., SlackSocket]
) -> None:
    socket = listening(ping=0.01, silence=5)
    is_up(socket)
    eventually(lambda: server.lines.pings >= 20, "it is pinged")
    assert (server.lines.made, socket.lines) == (1, 1)


LOSSES: dict[str, Callable[[FakeSlack], None]] = {
    "dropped": lambda server: server.lines.drop(),
    "closed": lambda server: server.lines.open[0].say_goodbye(),
    "silent": lambda server: setattr(server.lines.open[0], "silent", True),
    "renewed": lambda server: server.lines.open[0].send(
        {"type": "disconnect", "reason": "refresh_requested"}
    ),
    "garbled": lambda server: server.lines.open[0].send_text(b"{half"),
    "no message": lambda server: server.lines.open[0].send_text(b"[1]"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_line_that_is_lost_is_followed_by_another(
    server: FakeSlack, listening: Callable[..., SlackSocket], loss: str
) -> None:
    socket = listening(silence=0.3)
    is_up(socket)
    LOSSES[loss](server)
    is_up(socket, 2)
    eventually(lambda: len(server.lines.open) == 1, "the old line is gone")
    id_ = server.says("C0DEV", "hello")
    assert [one.id for one in comes(socket)] == [id_]


def test_a_warning_is_no_reason_to_go_yet(
    server: FakeSlack, listening: Callable[..., SlackSocket]
) -> None:
    socket = listening()
    is_up(socket)
    server.lines.open[0].send({"type": "disconnect", "reason": "warning"})
    server.says("C0DEV", "hello")
    comes(socket)
    assert server.lines.made == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(OPEN, status=503),
        Fault(OPEN, lost="before"),
        Fault(OPEN, body='{"ok": true, "url": "http://x.test"}', status=200),
        Fault(OPEN, body='{"ok": true, "url": "wss://x.test:99999"}', status=200),
        Fault(OPEN, status=429, headers={"Retry-After": "1"}),
        Fault("socket", lost="before", left=3),
    ],
    ids=["503", "lost", "no address", "no port", "limit", "no handshake"],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_line_that_cannot_be_made_is_tried_again(
    server: FakeSlack, listening: Callable[..., SlackSocket], fault: Fault
) -> None:
    """The library leaves a socket to the garbage if there is no handshake."""
    server.faults.append(Fault(**vars(fault)))
    socket = listening()
    is_up(socket)
    troubles = socket.troubles()
    assert troubles
    assert all(APP_TOKEN not in str(one) for one in troubles)


def test_a_refusal_is_told_and_not_asked_for_again_soon(
    server: FakeSlack, listening: Callable[..., SlackSocket]
) -> None:
    refusal = Fault(OPEN, error="invalid_auth", left=100)
    server.faults.append(refusal)
    socket = listening()
    eventually(lambda: select.select([socket], [], [], 0)[0], "it is told")
    (trouble,) = socket.troubles()
    assert (trouble.code, "connections:write" in str(trouble)) == ("slack_login", True)
    assert refusal.left == 99


def test_an_address_without_encryption_is_for_tests_alone() -> None:
    with FakeSlack() as server:
        slack = Slack(APP_TOKEN, server.url)
        slack.is_plain = False
        socket = SlackSocket(slack)
        socket.start()
        try:
            eventually(socket.troubles, "it refuses")
            assert server.lines.made == 0
        finally:
            socket.close()


# With the envoy


def texts_of(scene: Scene) -> list[str]:
    return [one["payload"]["text"] for one in scene.events()]


def test_what_was_said_while_the_line_was_down_for_ten_minutes_is_heard(
    heard: Scene, clock: MovableClock
) -> None:
    server = heard.server
    thread = heard.ask()
    publish(heard.base, start(3, task_id="task-20260207-002"))
    publish(heard.base, question(4, task_id="task-20260207-002", options=["main", "next"]))
    heard.life.go()
    other = server.in_channel()[2]["ts"]
    heard.hears(server.says("D0OWNER", "before"))
    down = Fault("apps.connections.open|conversations.*", status=503, left=1_000_000)
    server.faults.append(down)
    server.lines.drop()
    eventually(lambda: not server.lines.open, "the line is down")
    for number in range(10):
        server.pass_time(60)
        clock.advance(60)
        server.said("D0OWNER", f"minute {number}")
        heard.life.go()
    server.said("C0KINGDOM", "use main", thread_ts=thread)
    server.said("C0KINGDOM", "2", thread_ts=other)
    root = server.said("C0KINGDOM", "who knows?")
    server.said("C0KINGDOM", f"<@{BOT}> do you?", thread_ts=root["ts"])
    assert texts_of(heard) == ["before"]
    down.left = 0
    clock.advance(300)
    expected = {"before", "use main", "next", "do you?", *(f"minute {n}" for n in range(10))}
    heard.until(lambda: set(texts_of(heard)) == expected, "all is heard")
    assert len(heard.events()) == len(expected)


def test_a_message_after_the_gap_does_not_hide_what_was_said_in_it(
    heard: Scene, clock: MovableClock
) -> None:
    server = heard.server
    server.lines.drop()
    eventually(lambda: not server.lines.open, "the line is down")
    looks = Fault("conversations.history", status=429, headers={"Retry-After": "60"}, left=1)
    server.faults.append(looks)
    server.said("D0OWNER", "in the gap")
    server.pass_time(600)
    made = server.lines.made
    clock.advance(600)
    heard.until(lambda: server.lines.made > made, "there is a new line")
    heard.hears(server.says("D0OWNER", "after the gap"))
    clock.advance(61)
    heard.until(lambda: len(heard.events()) == 2, "both are heard")
    heard.begin()
    assert texts_of(heard) == ["in the gap", "after the gap"]


def test_an_envelope_that_comes_again_changes_nothing(heard: Scene) -> None:
    thread = heard.ask()
    server = heard.server
    said = [
        server.says("C0KINGDOM", "main", thread_ts=thread),
        server.says("D0OWNER", "hello"),
        server.says("C0DEV", f"<@{BOT}> look"),
    ]
    for envelope in said:
        heard.hears(envelope)
    before = heard.events()
    for _ in range(2):
        for envelope in server.lines.sent:
            server.lines.acknowledged.clear()
            server.lines.replay(envelope)
            heard.hears(envelope)
        heard.begin()
    assert heard.events() == before
    assert len(before) == 3
    assert heard.notices() == []


def test_an_acknowledgement_that_is_lost_doubles_nothing(heard: Scene) -> None:
    thread = heard.ask()
    server = heard.server
    server.lines.loses_acknowledgements = True
    server.says("C0KINGDOM", "main", thread_ts=thread)
    server.says("D0OWNER", "hello")
    heard.until(lambda: len(heard.events()) == 2, "both are heard")
    server.lines.loses_acknowledgements = False
    heard.begin()
    server.lines.replay_what_was_not_acknowledged()
    for envelope in ("envelope-0001", "envelope-0002"):
        heard.hears(envelope)
    assert len(heard.events()) == 2
    assert heard.notices() == heard.notices("D0OWNER") == []


def test_without_a_line_it_looks_as_if_it_had_no_app_token(
    heard: Scene, clock: MovableClock
) -> None:
    thread = heard.ask()
    down = Fault(OPEN, error="invalid_auth", left=1_000)
    heard.server.faults.append(down)
    heard.server.lines.drop()
    heard.server.said("C0KINGDOM", "main", thread_ts=thread)

    def found() -> bool:
        clock.advance(30)
        return bool(heard.events())

    heard.until(found, "it is found by looking")


def test_an_answer_that_comes_again_when_nothing_is_asked_any_more_is_told_nothing(
    heard: Scene,
) -> None:
    thread = heard.ask()
    answer = heard.server.says("C0KINGDOM", "main", thread_ts=thread)
    heard.hears(answer)
    publish(heard.base, message(3, task_id="task-20260207-002", context={"answers": TASK}))
    heard.life.go()
    heard.begin()
    heard.server.lines.acknowledged.clear()
    heard.server.lines.replay(answer)
    heard.hears(answer)
    assert heard.notices() == []


def test_a_call_in_any_channel_is_heard_though_there_was_no_line(
    heard: Scene, clock: MovableClock
) -> None:
    made, server = heard.server.lines.made, heard.server
    server.lines.drop()
    heard.until(lambda: not server.lines.open, "the line is gone")
    server.said("C0DEV", f"<@{BOT}> please look")
    heard.until(lambda: server.lines.made > made, "there is another")
    heard.until(heard.events, "it is heard")
    assert [one["payload"]["text"] for one in heard.events()] == ["please look"]
    asked = len(server.calls("users.conversations"))
    for _ in range(10):
        clock.advance(60)
        heard.life.go()
    assert len(server.calls("users.conversations")) == asked, "once for each line"
