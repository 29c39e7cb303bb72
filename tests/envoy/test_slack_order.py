"""Which reply counts when a line was lost: the first in Slack's own order, if Slack shows it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kingdom import MovableClock
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import Fault
from tests.support.slack_workspace import BOT, BOT_ID
from tests.support.waiting import eventually

OPTIONS: dict[str, Any] = {"options": ["main", "next"]}
LIMIT = {"status": 429, "headers": {"Retry-After": "60"}}


def drops_the_line(scene: Scene) -> None:
    (line,) = scene.server.lines.open
    scene.server.lines.drop()
    eventually(lambda: line not in scene.server.lines.open, "the line is down")


def loses_its_line(scene: Scene) -> None:
    """And has another, which it has not seen yet."""
    made = scene.server.lines.made
    scene.server.lines.drop()
    eventually(lambda: scene.server.lines.made > made, "there is another line")


def test_after_a_lost_line_the_first_reply_counts(heard: Scene) -> None:
    heard.begin(allowed=(STRANGER,))
    thread = heard.ask()
    drops_the_line(heard)
    heard.server.said("C0KINGDOM", "no!", thread_ts=thread)
    heard.server.pass_time(5)
    eventually(lambda: heard.server.lines.open, "there is another line")
    late = heard.server.says("C0KINGDOM", "yes", user=STRANGER, thread_ts=thread)
    heard.comes()
    heard.hears(late)
    assert heard.answers() == [("no!", "ada")]
    assert heard.notices() == ["Thank you; this question has been answered already."]


@pytest.mark.parametrize("trouble", [LIMIT, {"error": "internal_error"}], ids=["limit", "error"])
@pytest.mark.parametrize("way", ["reply", "button"])
def test_a_reply_by_a_new_line_does_not_wait_for_a_look_that_slack_refuses(
    heard: Scene, clock: MovableClock, way: str, trouble: dict[str, Any]
) -> None:
    server = heard.server
    heard.begin(allowed=(STRANGER,))
    thread = heard.ask(**OPTIONS)
    server.faults.append(Fault("conversations.history", **trouble, left=1_000))
    drops_the_line(heard)
    server.said("C0KINGDOM", "main", thread_ts=thread)
    server.pass_time(5)
    heard.until(lambda: server.lines.open, "there is another line")
    if way == "reply":
        late = server.says("C0KINGDOM", "next", user=STRANGER, thread_ts=thread)
    else:
        late = server.presses(heard.question, 2, user=STRANGER)
    heard.hears(late)
    assert heard.answers() == [("next", "eve")]
    server.faults.clear()
    clock.advance(61)
    heard.until(heard.notices, "who was first is told")
    assert heard.notices() == ["Thank you; this question has been answered already."]
    assert heard.answers() == [("next", "eve")]


def test_an_old_button_waits_for_no_look(heard: Scene) -> None:
    server = heard.server
    heard.ask(**OPTIONS)
    server.faults.append(Fault("conversations.history", **LIMIT, left=1_000))
    loses_its_line(heard)
    heard.life.go()
    old = {"type": "message", "ts": "1770000000.000100", "user": BOT, "bot_id": BOT_ID}
    old |= {"text": "Delete it?", "blocks": heard.question["blocks"]}
    server.channels["C0KINGDOM"].messages.append(old)
    heard.hears(server.presses(old, 2))
    assert heard.events() == []


def test_channels_that_slack_does_not_list_keep_the_others_from_nothing(heard: Scene) -> None:
    server = heard.server
    thread = heard.ask()
    server.faults.append(Fault("users.conversations", error="internal_error", left=1_000_000))
    server.said("C0KINGDOM", "main", thread_ts=thread)
    loses_its_line(heard)
    heard.until(heard.events, "it is caught up with")
    assert heard.answers() == [("main", "ada")]


def test_what_came_by_the_old_line_is_older_than_what_was_said_after_it(heard: Scene) -> None:
    server = heard.server
    heard.begin(allowed=(STRANGER,))
    thread = heard.ask(**OPTIONS)
    server.presses(heard.question, 2, user=STRANGER)
    heard.comes()
    server.pass_time(5)
    server.said("C0KINGDOM", "main", thread_ts=thread)
    loses_its_line(heard)
    heard.until(heard.events, "it is heard")
    heard.life.go()
    assert heard.answers() == [("next", "eve")]
