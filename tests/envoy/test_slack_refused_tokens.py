"""Tokens that Slack refuses: nothing dies, nothing is lost, and `kingdom status` says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from kingdom.runtime.processes import Seat
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom
from tests.support.envoy import TASK, Life, publish
from tests.support.kingdom import MovableClock, message
from tests.support.slack_life import ENVIRONMENT, WITH_SOCKET, configure
from tests.support.slack_scene import Scene
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import TOKEN
from tests.support.waiting import eventually

OPTIONS: dict[str, Any] = {"options": ["main", "next"]}


@pytest.fixture
def seated(base: BaseDir) -> Iterator[BaseDir]:
    """As `kingdom status` sees an envoy that runs."""
    write_format(base)
    seat = Seat(base, "envoy").take()
    yield base
    seat.close()


def told(base: BaseDir) -> str:
    kinds = ("messages ", "replies ")
    return "\n".join(line for line in kingdom("status", base=base).lines if line.startswith(kinds))


def buttons(scene: Scene) -> list[object]:
    return [one for one in scene.question["blocks"] if one["type"] == "actions"]


def test_what_someone_writes_waits_for_a_token_that_is_accepted(
    seated: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> None:
    configure(seated, server)
    server.token = "xoxb-another"
    scene = Scene(seated, server, lambda: live(environment=WITH_SOCKET), listens=True)
    scene.begin()
    envelope = server.says("D0OWNER", "hello")
    for _ in range(3):
        clock.advance(60)
        scene.life.go()
    assert "does not accept the token in SLACK_BOT_TOKEN" in told(seated), "before any sending"
    server.token = TOKEN
    clock.advance(60)
    scene.hears(envelope)
    assert [one["payload"]["text"] for one in scene.events()] == ["hello"]
    assert told(seated) == ""


def test_while_it_is_refused_it_is_not_asked_all_the_time(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> None:
    configure(base, server, channel="C0KINGDOM")
    server.token = "xoxb-another"
    life = live(environment=ENVIRONMENT)
    for _ in range(100):
        clock.advance(1)
        life.go()
    assert len(server.asked) <= 3


def test_a_default_waits_for_a_token_that_is_accepted_and_that_is_told(
    seated: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> None:
    configure(seated, server)
    scene = Scene(seated, server, lambda: live(environment=WITH_SOCKET), listens=True)
    scene.begin()
    scene.ask(**OPTIONS, default="main", expires_at=clock.now() + timedelta(hours=1))
    server.token = "xoxb-another"
    for _ in range(3):
        clock.advance(3600)
        scene.life.go()
    assert scene.events() == []
    assert "does not accept the token in SLACK_BOT_TOKEN" in told(seated)
    assert buttons(scene)
    server.token = TOKEN
    clock.advance(120)
    scene.life.go()
    assert [one["payload"]["answered_by"] for one in scene.events()] == ["default"]
    assert not buttons(scene)
    assert told(seated) == ""


def test_a_question_answered_meanwhile_loses_its_buttons_later(
    heard: Scene, clock: MovableClock
) -> None:
    heard.ask(**OPTIONS)
    assert buttons(heard)
    heard.server.token = "xoxb-another"
    publish(heard.base, message(3, task_id="task-20260207-002", context={"answers": TASK}))
    for _ in range(3):
        clock.advance(3600)
        heard.life.go()
    assert buttons(heard)
    heard.server.token = TOKEN
    clock.advance(120)
    heard.life.go()
    assert not buttons(heard)


def test_a_refused_app_token_is_told_and_leaves_out_buttons(
    seated: BaseDir, server: FakeSlack, live: Callable[..., Life]
) -> None:
    configure(seated, server)
    wrong = ENVIRONMENT | {"SLACK_APP_TOKEN": "xapp-revoked"}
    scene = Scene(seated, server, lambda: live(environment=wrong), listens=False)
    scene.begin()

    def is_told() -> bool:
        scene.life.go()
        return "does not accept the token in SLACK_APP_TOKEN" in told(seated)

    eventually(is_told, "status says so")
    assert told(seated).startswith("replies ")
    scene.ask(**OPTIONS)
    assert not buttons(scene)
    assert told(seated), "what was sent does not hide it"
