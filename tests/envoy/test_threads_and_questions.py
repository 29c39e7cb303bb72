"""What the envoy remembers: threads, open questions, defaults; and what it does when it forgot."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.envoy.transport import Reply, Thread
from kingdom.models.message import Notification
from kingdom.models.result import NeedsHuman
from kingdom.store.paths import BaseDir
from tests.support.envoy import (
    TASK,
    Life,
    Willing,
    awaiting,
    console,
    internal,
    mappings,
    publish,
    question,
    shown,
    start,
)
from tests.support.kingdom import START, MovableClock, counts, files, load, message

RESUMED = "task-20260207-002"
FILES = ["thread-mappings.json", "awaiting-responses.json"]


def update(number: int, task_id: str = TASK, **context: Any) -> Any:
    return message(number, task_id=task_id, context=context)


def resumed(number: int) -> Any:
    """What the king says when an answer came."""
    return update(number, RESUMED, inherits=TASK, answers=TASK)


def answered(base: BaseDir, task_id: str = TASK, by: str = "evt-slack-response-1") -> None:
    """As the king leaves the result when it takes an answer."""
    bus = FileBus(base, durable=False)
    bus.publish("results", NeedsHuman(task_id=task_id, summary="?", question="?"))
    (claim,) = bus.claim("results", "king", ids=[task_id])
    bus.commit([Move(claim, "handled", fields={"answered_by": by})])
    bus.close()


# Threads


def test_a_thread_is_mapped_from_the_first_word_to_the_last(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live()
    publish(base, start(1))
    life.go()
    entry = {"channel": "console", "thread_ts": TASK, "created_at": "2026-02-07T10:00:00.000Z"}
    assert mappings(base) == {TASK: entry}
    publish(base, update(2))
    life.go()
    assert mappings(base) == {TASK: entry}
    publish(base, update(3, final=True))
    life.go()
    assert mappings(base) == {}


def test_a_thread_keeps_the_channel_it_began_in(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, start(1, channel="#dev"), update(2))
    live().go()
    assert load(base, "messages/sent", "msg-20260207-002")["channel"] == "#dev"


def notice(number: int, **fields: Any) -> Notification:
    values = {"id": f"msg-20260207-{number:03d}", "content": "hear", "created_at": START}
    return Notification(**(values | {"task_id": TASK} | fields))


@pytest.mark.parametrize("channel", ["#all", "#dev"])
def test_a_notification_goes_to_the_channel_it_names_and_never_into_its_task_s_thread(
    base: BaseDir, live: Callable[..., Life], channel: str
) -> None:
    publish(base, start(1, channel="#dev"), notice(2, channel=channel), update(3))
    live().go()
    sent = [load(base, "messages/sent", f"msg-20260207-00{number}") for number in (1, 2, 3)]
    assert [(one["channel"], one["thread_ts"]) for one in sent] == [
        ("#dev", TASK),
        (channel, "msg-20260207-002"),
        ("#dev", TASK),
    ]
    assert f"  {channel}  ({TASK})  msg-20260207-002\n" in console(base)


def test_a_notification_that_names_a_channel_begins_no_thread_of_its_task(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, notice(1, channel="#all"), update(2))
    live().go()
    assert load(base, "messages/sent", "msg-20260207-001")["channel"] == "#all"
    assert mappings(base)[TASK]["channel"] == "console"


def test_a_notification_without_a_channel_stays_in_its_task_s_thread(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, start(1, channel="#dev"), notice(2))
    live().go()
    sent = load(base, "messages/sent", "msg-20260207-002")
    assert (sent["channel"], sent["thread_ts"]) == ("#dev", TASK)


def test_a_resumed_task_goes_on_in_the_thread_of_the_one_that_asked(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live()
    publish(base, start(1, channel="#dev"), question(2))
    life.go()
    assert set(mappings(base)) == set(awaiting(base)) == {TASK}
    publish(base, resumed(3), update(4, RESUMED, final=True))
    life.go()
    for number in (3, 4):
        sent = load(base, "messages/sent", f"msg-20260207-00{number}")
        assert (sent["channel"], sent["thread_ts"]) == ("#dev", TASK)
    assert "  #dev  task-20260207-001 (task-20260207-002)  msg-20260207-003\n" in console(base)
    assert (mappings(base), awaiting(base)) == ({}, {})


def test_a_thread_nobody_remembers_begins_anew(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, update(1), update(2, RESUMED, inherits="task-20260101-001"))
    live().go()
    assert {task: one["thread_ts"] for task, one in mappings(base).items()} == {
        TASK: TASK,
        RESUMED: RESUMED,
    }


@pytest.mark.parametrize("context", [{"inherits": 7}, {"answers": ["x"]}, {"final": "yes"}])
def test_a_context_of_another_form_is_no_context(
    base: BaseDir, live: Callable[..., Life], context: dict[str, Any]
) -> None:
    publish(base, start(1), update(2, **context))
    live().go()
    assert counts(base) == {"messages/sent": 2}
    assert set(mappings(base)) == {TASK}


# Questions


@pytest.mark.provokes("message.human_response")
def test_a_question_awaits_its_answer(base: BaseDir, live: Callable[..., Life]) -> None:
    life = live()
    publish(base, start(1), question(2, options=["a", "b"], default="a", trace_id="t1"))
    life.go()
    assert awaiting(base) == {
        TASK: {
            "msg_id": "msg-20260207-002",
            "question": "Which branch?",
            "options": ["a", "b"],
            "default": "a",
            "asked_at": "2026-02-07T10:00:00.000Z",
            "channel": "console",
            "thread_ts": TASK,
            "trace_id": "t1",
        }
    }
    publish(base, resumed(3))
    life.go()
    assert awaiting(base) == {}
    (told,) = internal(base, "message.human_response")
    assert told["data"] == {"task_id": TASK, "thread_ts": TASK}
    assert told["trace_id"] == "t1"


def test_a_question_answered_before_it_was_shown_does_not_stay_open(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    """`kingdom ask` lists it while it waits to be shown."""
    answered(base)
    publish(base, question(1))
    live().go()
    assert (shown(base), awaiting(base)) == (["msg-20260207-001"], {})


def test_a_question_answered_while_the_envoy_was_away_does_not_stay_open(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, question(1))
    live().go()
    answered(base)
    live()
    assert awaiting(base) == {}


def test_the_last_word_of_a_task_closes_its_question(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, question(1), update(2, final=True))
    live().go()
    assert (mappings(base), awaiting(base)) == ({}, {})


# Defaults


def asked_for_an_hour(number: int = 1, **fields: Any) -> Any:
    until = START + timedelta(hours=1)
    return question(number, **({"default": "main", "expires_at": until} | fields))


def answers(base: BaseDir) -> list[str]:
    return files(base).get("events/pending", [])


@pytest.mark.provokes("event.detected")
def test_the_default_is_taken_once_when_time_is_up(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    publish(base, asked_for_an_hour(trace_id="t1"))
    life = live()
    assert life.go() == 5.0
    clock.advance(3598)
    assert life.go() == 2.0, "it wakes up for that"
    assert answers(base) == []
    clock.advance(2)
    life.go()
    moment = int((START + timedelta(hours=1)).timestamp())
    assert answers(base) == [f"evt-slack-response-{TASK}-{moment}"]
    event = load(base, "events/pending", answers(base)[0])
    assert event["type"] == "slack.human_response"
    assert (event["source"], event["priority"], event["trace_id"]) == ("envoy", "high", "t1")
    said = {"task_id": TASK, "text": "main", "answered_by": "default"}
    assert event["payload"] == said | {"until": "2026-02-07T11:00:00.000Z"}
    (told,) = internal(base, "event.detected")
    assert told["data"]["event_id"] == event["id"]

    for _ in range(3):
        clock.advance(3600)
        life.go()
    life = live()
    life.go()
    assert len(answers(base)) == len(internal(base, "event.detected")) == 1
    publish(base, resumed(2))
    life.go()
    assert awaiting(base) == {}
    assert internal(base, "message.human_response") == [], "no human has responded"


def test_the_default_is_taken_once_also_when_that_was_not_noted(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    publish(base, asked_for_an_hour())
    live().go()
    path = Path(base.path("state/envoy/awaiting-responses.json"))
    before = path.read_text()
    clock.advance(3600)
    live().go()
    path.write_text(before)
    live().go()
    assert len(answers(base)) == len(internal(base, "event.detected")) == 1


def test_a_question_that_was_answered_in_time_takes_no_default(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    publish(base, asked_for_an_hour())
    life = live()
    life.go()
    answered(base)
    clock.advance(3600)
    life.go()
    assert (answers(base), awaiting(base)) == ([], {})


def test_a_question_without_a_default_stays_open_for_ever(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    publish(base, asked_for_an_hour(default=None))
    life = live()
    life.go()
    clock.advance(86_400)
    assert life.go() == 5.0
    assert (answers(base), set(awaiting(base))) == ([], {TASK})


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("asked", [timedelta(days=365), timedelta(0)])
def test_a_question_made_while_the_clock_was_ahead_has_as_much_time(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock, asked: timedelta, anew: bool
) -> None:
    ahead = START + timedelta(days=365)
    until = ahead + timedelta(hours=1)
    publish(base, question(1, default="main", created_at=ahead, expires_at=until))
    clock.set_wall(START + asked)  # shown before or after it was put back
    life = live()
    life.go()
    clock.set_wall(START)
    life = live() if anew else life
    life.go()
    assert awaiting(base)[TASK]["asked_at"] == "2026-02-07T10:00:00.000Z"
    clock.advance(3599)
    life.go()
    assert answers(base) == []
    clock.advance(1)
    life.go()
    assert len(answers(base)) == 1


# Replies that a transport brings


def test_the_first_reply_that_answers_counts(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    transport = Willing()
    life = live(transport=lambda setting: transport)
    publish(base, question(1, options=["Main", "next"]))
    life.go()
    thread = Thread("C1", "msg-20260207-001.ts")
    moments = [START + timedelta(seconds=n) for n in range(4)]
    transport.replies = [
        Reply(Thread("C1", "another"), "main", "U0", moments[0]),
        Reply(thread, "what do you mean?", "U1", moments[1]),
        Reply(thread, " main ", "U2", moments[2]),
        Reply(thread, "next", "U3", moments[3]),
    ]
    life.go()
    (id_,) = answers(base)
    assert id_ == f"evt-slack-response-{TASK}-{int(moments[2].timestamp())}"
    payload = load(base, "events/pending", id_)["payload"]
    assert payload == {"task_id": TASK, "text": "Main", "answered_by": "U2"}
    assert len(internal(base, "message.human_response")) == 1
    publish(base, resumed(2))
    life.go()
    assert len(internal(base, "message.human_response")) == 1


# Forgetting


DAMAGE = {
    "missing": None,
    "empty": b"",
    "torn": b'{"task-20260207-001": {"chan',
    "not json": b"\xff\xfe",
    "an array": b"[]",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_made_anew_from_what_was_sent(
    base: BaseDir, live: Callable[..., Life], damage: bytes | None, name: str
) -> None:
    publish(
        base,
        start(1, channel="#dev"),
        asked_for_an_hour(2),
        start(3, task_id="task-20260207-003"),
        update(4, "task-20260207-003", final=True),
        question(5, task_id="task-20260207-004"),
        update(6, "task-20260207-005", inherits="task-20260207-004", answers="task-20260207-004"),
    )
    live().go()
    assert set(mappings(base)) == {TASK, "task-20260207-005"}
    assert set(awaiting(base)) == {TASK}
    remembered = {file: state(base, file).read_bytes() for file in FILES}
    if damage is None:
        state(base, name).unlink()
    else:
        state(base, name).write_bytes(damage)
    live()
    assert {file: state(base, file).read_bytes() for file in FILES} == remembered


def state(base: BaseDir, name: str) -> Path:
    return Path(base.path("state/envoy", name))


@pytest.mark.parametrize("name", FILES)
def test_one_damaged_entry_costs_that_entry(
    base: BaseDir, live: Callable[..., Life], name: str
) -> None:
    publish(base, start(1), question(2))
    live().go()
    content = json.loads(state(base, name).read_text())
    content |= {"task-20260207-009": {"channel": 7}, "../x": content[TASK], "task-8": None}
    content[TASK]["of_a_later_version"] = True
    state(base, name).write_text(json.dumps(content))
    publish(base, update(3, "task-20260207-005"))
    life = live()
    life.go()
    assert json.loads(state(base, name).read_text())[TASK]["of_a_later_version"] is True
    assert set(awaiting(base)) == {TASK}
    assert set(mappings(base)) == {TASK, "task-20260207-005"}


def test_a_damaged_sent_message_costs_that_message(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, start(1), question(2))
    live().go()
    Path(base.path("queue/messages/sent/msg-20260207-001.json")).write_text("{")
    for name in FILES:
        state(base, name).unlink()
    live()
    assert set(awaiting(base)) == set(mappings(base)) == {TASK}


def test_news_of_work_under_way_that_comes_late_keeps_no_thread(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live()
    publish(base, start(1), update(2, progress=True))
    life.go()
    assert load(base, "messages/sent", "msg-20260207-002")["thread_ts"] == TASK
    assert mappings(base).keys() == {TASK}
    publish(base, update(3, final=True), update(4, progress=True))
    life.go()
    assert mappings(base) == {}
