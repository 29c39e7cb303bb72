"""Two programs with one app token: Slack gives each of them a part, and that is said. And what is
said of a thread that another kingdom began."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.slack import Slack
from kingdom.clients.slack_socket import SlackSocket
from kingdom.store.paths import BaseDir
from tests.support.envoy import Life
from tests.support.kingdom import MovableClock
from tests.support.slack_life import WITH_SOCKET, configure
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import APP_TOKEN
from tests.support.waiting import eventually

OPTIONS = {"options": ["main", "next"]}


@pytest.fixture(autouse=True)
def quickly_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kingdom.clients.slack_socket.RECOUNT", 0.01)
    monkeypatch.setattr("kingdom.clients.slack_socket.RECOUNT_GAP", 0.01)
    for name in ("ping", "first_pause"):
        monkeypatch.setitem(SlackSocket.__init__.__kwdefaults__ or {}, name, 0.02)


@pytest.fixture
def socket(server: FakeSlack) -> Iterator[SlackSocket]:
    made = SlackSocket(Slack(APP_TOKEN, server.url))
    yield made
    made.close()


def test_a_count_that_stays_is_believed(server: FakeSlack, socket: SlackSocket) -> None:
    server.lines.others = 2
    socket.start()
    eventually(lambda: socket.others == 2, "the others are counted")
    assert server.lines.made == 2, "it asked twice, and no more"


def test_a_line_of_our_own_that_slack_still_counts_is_nobody(
    server: FakeSlack, socket: SlackSocket, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "_clock", clock)
    server.lines.others = 1
    socket.start()
    eventually(lambda: socket.is_up, "there is a line")
    server.lines.others = 0
    clock.advance(1)
    eventually(lambda: socket.lines == 2 and socket.is_up, "it is counted again")
    eventually(lambda: server.lines.pings > 5, "a while later")
    assert (socket.others, server.lines.made) == (0, 2)


def test_lines_that_break_prove_nothing(
    server: FakeSlack, socket: SlackSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.clients.slack_socket.RECOUNT", 1000.0)
    server.lines.others = 1
    socket.start()
    for number in range(1, 5):
        eventually(lambda n=number: socket.lines == n and socket.is_up, f"line {number}")
        server.lines.drop()
    assert socket.others == 0


def test_it_is_learnt_when_the_other_one_ends(
    server: FakeSlack, socket: SlackSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.clients.slack_socket.RECOUNT_AGAIN", 0.05)
    server.lines.others = 1
    socket.start()
    eventually(lambda: socket.others == 1, "it is counted")
    server.lines.others = 0
    eventually(lambda: socket.others == 0, "it is counted again")


# What is said of it


def said_in_status(base: BaseDir) -> Any:
    path = Path(base.path("state/envoy/transport.json"))
    return json.loads(path.read_text())["code"] if path.exists() else ""


def test_it_is_said_once_and_stands_in_the_status_until_it_is_over(
    heard: Scene, clock: MovableClock
) -> None:
    heard.server.lines.others = 1
    heard.server.lines.drop()
    heard.until(lambda: said_in_status(heard.base) == "slack_crowded", "it is noticed")
    heard.begin()
    heard.until(lambda: said_in_status(heard.base) == "slack_crowded", "also by the next one")
    (notice,) = heard.notices()
    assert notice.startswith("Another program listens with the same Slack app")
    heard.server.lines.others = 0
    heard.server.lines.drop()
    heard.until(lambda: said_in_status(heard.base) == "", "it is over")


@pytest.fixture
def other(heard: Scene, clock: MovableClock, tmp_path: Path) -> Iterator[Callable[[], Life]]:
    """Another kingdom with the same app; the newest line is the one that hears."""
    lives: list[Life] = []

    def begin() -> Life:
        base = BaseDir(tmp_path / "other")
        Path(base.root).mkdir()
        configure(base, heard.server)
        made = heard.server.lines.made
        lives.append(Life(base, clock, environment=WITH_SOCKET))
        eventually(lambda: lives[0].go() and heard.server.lines.made > made, "it listens")
        return lives[0]

    yield begin
    for life in lives:
        life.end()


@pytest.mark.parametrize("what", ["reply", "button", "stranger"])
def test_nothing_is_said_in_a_thread_that_another_kingdom_began(
    heard: Scene, other: Callable[[], Life], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("kingdom.clients.slack_socket.RECOUNT", 1000.0)
    thread, life = heard.ask(**OPTIONS), other()
    server, user = heard.server, {"user": STRANGER} if what == "stranger" else {}
    if what == "reply":
        sent = server.says("C0KINGDOM", "main", thread_ts=thread)
    else:
        sent = server.presses(heard.question, 1, **user)
    eventually(lambda: life.go() and sent in server.lines.acknowledged, "the other one takes it")
    life.go()
    assert heard.notices() == []


# What Slack has no time for


def test_a_notice_that_slack_limits_is_said_later(heard: Scene, clock: MovableClock) -> None:
    thread = heard.ask(**OPTIONS)
    heard.server.faults.append(Fault(status=429, headers={"Retry-After": "2"}))
    heard.hears(heard.server.says("C0KINGDOM", "hi", user=STRANGER, thread_ts=thread))
    assert heard.notices() == []
    heard.hears(heard.server.says("C0KINGDOM", "hello?", user=STRANGER, thread_ts=thread))
    clock.advance(3)
    heard.life.go()
    (notice,) = heard.notices()
    assert notice.startswith("Thank you, but only those may answer")
    heard.hears(heard.server.says("C0KINGDOM", "?", user=STRANGER, thread_ts=thread))
    assert len(heard.notices()) == 1


def test_one_that_was_not_said_before_the_end_counts_for_nothing(
    heard: Scene, clock: MovableClock
) -> None:
    thread = heard.ask(**OPTIONS)
    heard.server.faults.append(Fault(status=429, headers={"Retry-After": "2"}))
    heard.hears(heard.server.says("C0KINGDOM", "hi", user=STRANGER, thread_ts=thread))
    heard.begin()
    clock.advance(3)
    heard.hears(heard.server.says("C0KINGDOM", "hello?", user=STRANGER, thread_ts=thread))
    assert len(heard.notices()) == 1


def test_a_reaction_that_slack_limits_is_set_later_also_by_the_next_envoy(
    heard: Scene, clock: MovableClock
) -> None:
    kept = Path(heard.base.path("state/envoy/reactions.json"))
    heard.server.faults.append(Fault("reactions.add", status=429, headers={"Retry-After": "30"}))
    heard.ask()
    assert "reactions" not in heard.server.in_channel()[0]
    heard.begin()
    clock.advance(60)
    heard.life.go()
    assert heard.server.in_channel()[0]["reactions"] == ["eyes", "raising_hand"]
    assert not kept.exists()


@pytest.mark.parametrize("content", ["", "{", "{}", '[["C1"], 7, ["C1", "1.1", "eyes", 1]]'])
def test_reactions_kept_in_a_damaged_file_are_none(heard: Scene, content: str) -> None:
    Path(heard.base.path("state/envoy/reactions.json")).write_text(content)
    heard.begin()
    assert heard.server.calls("reactions.add") == []
