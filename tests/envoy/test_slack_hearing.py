"""What people say in Slack, over a real WebSocket and real HTTP: an answer, an event, or a
courteous word, and nothing for whoever may not."""

from __future__ import annotations

import errno
import json
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kingdom.errors import TryLater
from tests.support.calls import CHANGE_NOTHING, observed
from tests.support.envoy import TASK, awaiting, internal, publish
from tests.support.kingdom import MovableClock, message
from tests.support.slack_life import texts
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import Fault
from tests.support.slack_workspace import BOT, BOT_ID, OWNER
from tests.support.waiting import eventually

OPTIONS = {"options": ["main", "next"]}


def unix(ts: str) -> str:
    return ts.partition(".")[0]


# Answers


def test_the_first_reply_is_the_answer(heard: Scene) -> None:
    thread = heard.ask()
    envelope = heard.server.says("C0KINGDOM", "use main &amp; go", thread_ts=thread)
    heard.hears(envelope)
    (event,) = heard.events()
    ts = heard.server.in_channel()[2]["ts"]
    assert event["id"] == f"evt-slack-response-{TASK}-{unix(ts)}"
    said = {"task_id": TASK, "text": "use main & go", "answered_by": "ada"}
    assert event["payload"] == said | {"user": OWNER, "channel": "C0KINGDOM", "ts": ts}
    assert (event["type"], event["trust"]) == ("slack.human_response", "member")
    assert awaiting(heard.base)[TASK]["answered_at"]
    assert len(internal(heard.base, "message.human_response")) == 1


def test_a_button_is_the_answer_and_the_question_shows_it(heard: Scene) -> None:
    heard.ask(**OPTIONS)
    heard.hears(heard.server.presses(heard.question, 2))
    (event,) = heard.events()
    assert event["payload"]["text"] == "next"
    assert "ada answered: next" in texts(heard.server)[1]
    assert not [one for one in heard.question["blocks"] if one["type"] == "actions"]
    assert "kingdom answer" not in texts(heard.server)[1]


def test_an_option_is_what_its_button_says_also_if_another_is_its_number(heard: Scene) -> None:
    heard.ask(options=["2", "1"])
    heard.hears(heard.server.presses(heard.question, 1))
    assert heard.events()[0]["payload"]["text"] == "2"


def test_a_second_answer_is_told_that_it_is_late(heard: Scene) -> None:
    thread = heard.ask(**OPTIONS)
    heard.hears(heard.server.presses(heard.question, 1))
    heard.server.pass_time(1)
    for _ in range(3):
        heard.hears(heard.server.says("C0KINGDOM", "next", thread_ts=thread))
    assert len(heard.events()) == 1
    assert heard.notices() == ["Thank you; this question has been answered already."]


def test_what_is_no_option_is_told_which_there_are(heard: Scene) -> None:
    thread = heard.ask(**OPTIONS)
    for _ in range(5):
        heard.hears(heard.server.says("C0KINGDOM", "perhaps", thread_ts=thread))
    assert heard.events() == []
    assert len(heard.notices()) == 3, "a few times, not each time"
    assert heard.notices()[0].endswith("They are: main, next")
    heard.hears(heard.server.says("C0KINGDOM", "NEXT", thread_ts=thread))
    assert heard.events()[0]["payload"]["text"] == "next"


def test_nobody_is_called_by_what_is_said_of_options(heard: Scene) -> None:
    thread = heard.ask(options=["@here", "<!channel>"])
    heard.hears(heard.server.says("C0KINGDOM", "perhaps", thread_ts=thread))
    heard.hears(heard.server.says("C0KINGDOM", "1", thread_ts=thread))
    assert heard.answers()[0][0] == "@here"
    heard.life.go()
    shown = json.dumps(heard.server.in_channel()[1]["blocks"]) + "".join(heard.notices())
    assert "here" in shown
    assert "@here" not in shown
    assert "<!channel>" not in shown


def test_whoever_may_not_answer_is_told_so_once_and_written_down(heard: Scene) -> None:
    thread = heard.ask()
    for _ in range(3):
        heard.hears(heard.server.says("C0KINGDOM", "rm -rf", user=STRANGER, thread_ts=thread))
    heard.hears(heard.server.presses(heard.question, 1, user=STRANGER))
    assert heard.events() == []
    assert len(heard.notices()) == 1
    ignored = json.loads(Path(heard.base.path("state/envoy/ignored.json")).read_text())
    assert {one["user"] for one in ignored} == {STRANGER}
    assert len(ignored) == 4
    assert "rm -rf" not in json.dumps(ignored)


@pytest.mark.parametrize("entry", [STRANGER, f"@{STRANGER}", "S0TEAM", "@S0TEAM", "C0KINGDOM"])
def test_whom_the_settings_allow(heard: Scene, entry: str) -> None:
    heard.server.groups["S0TEAM"] = [STRANGER]
    heard.begin(allowed=(entry,))
    thread = heard.ask()
    heard.hears(heard.server.says("C0KINGDOM", "main", user=STRANGER, thread_ts=thread))
    assert heard.events()[0]["payload"]["answered_by"] == "eve"


GRID = {"enterprise_user": {"enterprise_id": "E0ACME"}}


@pytest.mark.parametrize(
    ("told", "may"),
    [
        ({"is_restricted": True}, True),  # a guest of this workspace
        ({"team_id": "T0OTHER"}, False),
        ({"team_id": "T0OTHER"} | GRID, True),
        ({"team_id": "T0OTHER", "enterprise_user": {"enterprise_id": "E0OTHER"}}, False),
        ({"team_id": None}, False),
        ({"team_id": "T0OTHER", "is_stranger": True} | GRID, False),
        (None, False),  # Slack shows nothing of them
    ],
)
def test_people_of_other_companies_are_allowed_by_their_own_id_alone(
    heard: Scene, told: dict[str, Any] | None, may: bool
) -> None:
    heard.server.enterprise = "E0ACME"
    heard.server.groups["S0TEAM"] = [STRANGER]
    if told is None:
        del heard.server.users[STRANGER]
    else:
        heard.server.users[STRANGER] |= told
    heard.begin(allowed=("C0KINGDOM", "S0TEAM"))
    thread = heard.ask()
    heard.hears(heard.server.says("C0KINGDOM", "main", user=STRANGER, thread_ts=thread))
    assert bool(heard.events()) == may
    heard.hears(heard.server.says("C0KINGDOM", f"<@{BOT}> deploy", user=STRANGER))
    assert len(heard.events()) == 2 * may


def test_a_group_that_slack_does_not_know_allows_nobody(heard: Scene) -> None:
    heard.begin(allowed=("S0NONE",))
    thread = heard.ask()
    heard.hears(heard.server.says("C0KINGDOM", "main", user=STRANGER, thread_ts=thread))
    assert heard.events() == []


def test_an_answer_given_elsewhere_shows_too(heard: Scene) -> None:
    heard.ask(**OPTIONS)
    publish(heard.base, message(3, task_id="task-20260207-002", context={"answers": TASK}))
    heard.life.go()
    assert "Nobody needs to answer this any more." in texts(heard.server)[1]
    assert not [one for one in heard.question["blocks"] if one["type"] == "actions"]


def test_a_default_that_was_taken_shows(heard: Scene, clock: MovableClock) -> None:
    heard.ask(**OPTIONS, default="next", expires_at=clock.now())
    heard.life.go()
    assert heard.events()[0]["payload"]["answered_by"] == "default"
    assert "Nobody answered in time, so it is: next" in texts(heard.server)[1]


def test_a_question_is_shown_as_answered_after_an_outage(heard: Scene, clock: MovableClock) -> None:
    heard.ask(**OPTIONS)
    heard.server.faults.append(Fault("chat.update", status=429, headers={"Retry-After": "60"}))
    heard.hears(heard.server.presses(heard.question, 1))
    assert "ada answered" not in texts(heard.server)[1]
    heard.begin()
    clock.advance(61)
    heard.life.go()
    assert "ada answered: main" in texts(heard.server)[1]


@pytest.mark.parametrize(
    "fields", [{"action_id": "boom"}, {"value": "msg-20260207-999 1"}, {"value": "x" * 5000}, {}]
)
def test_a_button_that_is_none_of_ours_or_old_changes_nothing(
    heard: Scene, fields: dict[str, str]
) -> None:
    heard.ask(**OPTIONS)
    pressed = heard.question if fields else heard.server.in_channel()[0]
    heard.hears(heard.server.presses(pressed, 1, **fields))
    assert heard.events() == []
    assert heard.notices() == ["This button belongs to a question that nobody asks any more."]


def test_a_reply_in_a_thread_long_closed_is_told_so(heard: Scene) -> None:
    thread = heard.ask()
    publish(heard.base, message(3, task_id=TASK, context={"final": True}))
    heard.life.go()
    for _ in range(2):
        heard.hears(heard.server.says("C0KINGDOM", "one more thing", thread_ts=thread))
    heard.hears(heard.server.says("C0KINGDOM", "and I", user=STRANGER, thread_ts=thread))
    assert heard.events() == []
    assert len(heard.notices()) == 1
    assert heard.notices()[0].startswith("Nothing is asked in this thread now")


# Work


def test_a_direct_message_is_an_event(heard: Scene) -> None:
    heard.hears(heard.server.says("D0OWNER", "gen-pr: see <https://x.test/a?b=1&amp;c|x>"))
    (event,) = heard.events()
    ts = heard.server.in_channel("D0OWNER")[0]["ts"]
    assert event["id"] == f"evt-slack-msg-{ts.replace('.', '-')}"
    assert (event["type"], event["source"]) == ("slack.channel.message", "slack")
    assert (event["trust"], event["priority"]) == ("member", "normal")
    assert event["payload"] == {
        "text": "gen-pr: see https://x.test/a?b=1&c",
        "channel": "D0OWNER",
        "user": OWNER,
        "ts": ts,
    }


def test_a_mention_is_one_event_though_slack_tells_it_twice(heard: Scene) -> None:
    asked = heard.server.said("C0DEV", "who can help?", user=STRANGER)
    text = f"<@{BOT}> gen-pr: look, <!everyone>"
    heard.hears(heard.server.says("C0DEV", text, thread_ts=asked["ts"]))
    heard.until(lambda: len(heard.server.lines.acknowledged) == 2, "both are acknowledged")
    (event,) = heard.events()
    said = heard.server.in_channel("C0DEV")[1]
    assert event["id"] == f"evt-slack-mention-{said['ts'].replace('.', '-')}"
    assert event["type"] == "slack.app_mention"
    assert event["payload"]["text"] == "gen-pr: look, @everyone"
    assert event["payload"]["thread_ts"] == asked["ts"]


def test_what_is_not_said_to_the_kingdom_is_not_heard(heard: Scene) -> None:
    for channel in ("C0DEV", "C0KINGDOM"):
        heard.hears(heard.server.says(channel, "lunch?"))
    assert heard.events() == []
    assert not Path(heard.base.path("state/envoy/ignored.json")).exists()


def test_work_of_someone_who_may_not_is_written_down_and_ignored(heard: Scene) -> None:
    heard.hears(heard.server.says("D0STRANGER", "deploy!", user=STRANGER))
    heard.hears(heard.server.says("C0DEV", f"<@{BOT}> deploy!", user=STRANGER))
    assert heard.events() == []
    assert heard.notices("D0STRANGER") == heard.notices("C0DEV") == []
    ignored = json.loads(Path(heard.base.path("state/envoy/ignored.json")).read_text())
    assert [one["channel"] for one in ignored] == ["D0STRANGER", "C0DEV"]


@pytest.mark.parametrize(
    "fields",
    [
        {"bot_id": "B0OTHER"},
        {"user": BOT, "bot_id": BOT_ID},
        {"user": BOT},
        {"user": "U0ROBOT"},
        {"user": "USLACKBOT"},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "bot_message"},
    ],
    ids=str,
)
def test_bots_edits_and_itself_are_not_answered(heard: Scene, fields: dict[str, str]) -> None:
    heard.server.users["U0ROBOT"] = {"id": "U0ROBOT", "name": "robot", "is_bot": True}
    heard.begin(allowed=("U0ROBOT", "C0KINGDOM"))
    thread = heard.ask()
    given = {"user": OWNER} | fields
    heard.hears(heard.server.says("C0KINGDOM", "main", thread_ts=thread, **given))
    heard.hears(heard.server.says("D0OWNER", "hello", **given))
    heard.hears(heard.server.says("C0KINGDOM", f"<@{BOT}> hello", **given))
    assert heard.events() == []
    assert heard.notices() == heard.notices("D0OWNER") == []


# Bad input


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * 100_000, "x" * 100_000),
        ("x" * 100_001, "x" * 100_000),
        ("a\x00\x1b[31mb\u202e", "a\x00\x1b[31mb\u202e"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("$(reboot); kingdom stop", "$(reboot); kingdom stop"),
        ("/quit", "/quit"),
        ("<!channel> <!everyone>", "@channel @everyone"),
        ("<", "<"),
    ],
    ids=["100000", "100001", "control", "surrogate", "command", "slash", "everyone", "bracket"],
)
def test_whatever_is_said_is_data(heard: Scene, text: str, kept: str) -> None:
    thread = heard.ask()
    heard.hears(heard.server.says("C0KINGDOM", text, thread_ts=thread))
    heard.hears(heard.server.says("D0OWNER", text))
    assert [one["payload"]["text"] for one in heard.events()] == [kept, kept]
    assert heard.server.mentions == []


def test_a_reply_without_words_is_told_that_it_needs_some(heard: Scene) -> None:
    thread = heard.ask()
    heard.hears(heard.server.says("C0KINGDOM", " \n", thread_ts=thread, subtype="file_share"))
    assert heard.events() == []
    assert heard.notices() == ["An answer needs some words; please write it in this thread."]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"event": None},
        {"event": []},
        {"event": {"type": "message"}},
        {"event": {"type": "message", "channel": 1, "user": [], "ts": {}, "text": 5}},
        {"event": {"type": "message", "channel": "D1", "user": OWNER, "ts": "soon", "text": "x"}},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [{"action_id": 1, "value": None}]},
        {"type": "view_submission"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["events_api", "interactive", "slash_commands", "of_tomorrow"])
def test_an_envelope_of_any_form_is_acknowledged(
    heard: Scene, kind: str, payload: dict[str, Any]
) -> None:
    heard.hears(heard.server.lines.deliver(kind, payload))
    assert heard.events() == []


# When the disk is full


def test_what_cannot_be_written_is_not_acknowledged_and_comes_again(heard: Scene) -> None:
    thread = heard.ask()

    def refuses(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in CHANGE_NOTHING:
            return call()
        raise OSError(errno.ENOSPC, "No space left on device")

    said = [
        heard.server.says("C0KINGDOM", "main", thread_ts=thread),
        heard.server.says("D0OWNER", "hello"),
    ]
    with observed(refuses):
        eventually(lambda: select.select(heard.life.envoy.descriptors(), [], [], 0)[0], "it came")
        for _ in range(3):
            with suppress(TryLater, OSError):
                heard.life.envoy.step()
    assert heard.server.lines.acknowledged == []
    for envelope in said:
        heard.hears(envelope)
    assert [one["payload"]["text"] for one in heard.events()] == ["hello", "main"]
