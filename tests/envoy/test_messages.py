"""What is said reaches people: each message once, each thread in its order, or a reason why not."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingdom.envoy.transport import Thread
from kingdom.errors import ConfigurationError, NeverWorks, TryLater
from kingdom.models.message import Notification, Report
from kingdom.pids import started
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child
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
from tests.support.kingdom import START, MovableClock, counts, load, message

OTHER = "task-20260207-002"


def update(number: int, **fields: Any) -> Any:
    return message(number, **({"task_id": TASK} | fields))


@pytest.mark.provokes("message.sent")
def test_a_message_is_shown_and_lies_in_sent(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, start(1, content="gen-pr reviews acme/web#7\nIt may take a while."))
    live().go()
    assert console(base) == (
        "2026-02-07 10:00:00  console  task-20260207-001  msg-20260207-001\n"
        "  gen-pr reviews acme/web#7\n"
        "  It may take a while.\n"
        "\n"
    )
    assert counts(base) == {"messages/sent": 1}
    sent = load(base, "messages/sent", "msg-20260207-001")
    assert (sent["status"], sent["channel"], sent["thread_ts"]) == ("sent", "console", TASK)
    (told,) = internal(base, "message.sent")
    assert told["actor"] == "envoy"
    assert told["data"] == {"msg_id": "msg-20260207-001", "task_id": TASK, "channel": "console"}


def test_every_type_of_message_can_be_shown(base: BaseDir, live: Callable[..., Life]) -> None:
    values: dict[str, Any] = {"content": "hello", "created_at": START}
    publish(
        base,
        start(1),
        update(2),
        question(3),
        Notification(id="msg-20260207-004", channel="#dev", **values),
        Report(id="msg-20260207-005", **values),
    )
    live().go()
    assert counts(base) == {"messages/sent": 5}
    assert "2026-02-07 10:00:00  #dev  msg-20260207-004\n" in console(base)
    assert load(base, "messages/sent", "msg-20260207-004")["channel"] == "#dev"


def test_the_default_channel_is_the_configured_one(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    configure(base, "slack:\n  default_channel: '#kingdom'\n")
    publish(base, start(1))
    live().go()
    assert "  #kingdom  " in console(base)


def configure(base: BaseDir, text: str, name: str = "envoy") -> None:
    path = Path(base.config, f"{name}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


# Order


def test_a_thread_keeps_its_order_whatever_its_messages_urgency(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, update(3, urgency="urgent"), update(2, urgency="high"), start(1))
    live().go()
    assert shown(base) == ["msg-20260207-001", "msg-20260207-002", "msg-20260207-003"]


def test_a_message_that_is_tried_again_keeps_its_successors_waiting_and_nobody_else(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    life = live(transport=lambda setting: Stubborn("msg-20260207-001", times=2))
    publish(base, start(1), update(2), update(3), message(4, task_id=OTHER))
    life.go()
    assert life.envoy._transport.shown == ["msg-20260207-004"]
    for _ in range(2):
        clock.advance(10)
        life.go()
    assert life.envoy._transport.shown == [f"msg-20260207-00{n}" for n in (4, 1, 2, 3)]
    assert load(base, "messages/sent", "msg-20260207-001")["delivery"]["attempt_count"] == 2


def test_order_is_kept_across_a_restart_between_two_attempts(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    first = live(transport=lambda setting: Stubborn("msg-20260207-001", times=9))
    publish(base, start(1), update(2))
    first.go()
    second = live()
    second.go()
    assert shown(base) == [], "the first waits for its turn, the second behind it"
    clock.advance(10)
    second.go()
    assert shown(base) == ["msg-20260207-001", "msg-20260207-002"]


class Stubborn(Willing):
    """Refuses one message so many times, or for ever."""

    leaves = False
    at_once = 8

    def __init__(self, id_: str, times: int, error: type[Exception] = TryLater) -> None:
        super().__init__()
        self.id, self.left, self.error = id_, times, error

    def send(self, message: Any, thread: Any, *, perhaps_sent: bool = False) -> Thread:
        if message.id == self.id and self.left:
            self.left -= 1
            raise self.error("It would not.")
        return super().send(message, thread, perhaps_sent=perhaps_sent)


# Failure


@pytest.mark.provokes("message.failed")
def test_an_unwritable_log_means_another_time_and_after_some_attempts_never(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    log = Path(base.logs, "console.log")
    log.mkdir(parents=True)
    publish(base, start(1), update(2))
    life = live()
    life.go()
    waiting = load(base, "messages/pending", "msg-20260207-001")["delivery"]
    assert waiting["last_error_code"] == "console_unwritable"
    assert "Is a directory" in waiting["last_error_message"]
    for _ in range(4):
        clock.advance(301)
        life.go()
    assert load(base, "messages/dead", "msg-20260207-001")["status"] == "dead"
    (told,) = internal(base, "message.failed")
    assert told["data"]["msg_id"] == "msg-20260207-001"
    assert told["data"]["task_id"] == TASK
    assert "console.log cannot be written: Is a directory" in told["data"]["error"]

    log.rmdir()
    clock.advance(301)
    life.go()
    assert shown(base) == ["msg-20260207-002"], "the thread goes on without the dead one"
    assert mappings(base)[TASK]["thread_ts"] == TASK


def test_a_question_that_could_not_be_shown_is_open_all_the_same(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, question(1))
    life = live(transport=lambda setting: Stubborn("msg-20260207-001", 1, error=NeverWorks))
    life.go()
    assert counts(base) == {"messages/dead": 1}
    assert awaiting(base)[TASK]["question"] == "Which branch?"


def keep_from_writing(base: BaseDir, name: str) -> Path:
    """Where this process would write it first lies a directory."""
    me = os.getpid()
    in_the_way = Path(base.path("state", "envoy", f".tmp-{me}-{started(me)}-{name}"))
    in_the_way.mkdir()
    return in_the_way


def test_state_that_cannot_be_written_holds_back_the_record_and_shows_nothing_twice(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    life = live()
    publish(base, start(1))
    in_the_way = keep_from_writing(base, "thread-mappings.json")
    for _ in range(2):
        with pytest.raises(TryLater, match="cannot be written"):
            life.go()
    assert (shown(base), counts(base)) == (["msg-20260207-001"], {"messages/pending": 1})
    in_the_way.rmdir()
    life.go()
    assert (shown(base), counts(base)) == (["msg-20260207-001"], {"messages/sent": 1})


def test_a_lease_that_ran_out_meanwhile_shows_nothing_twice(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock
) -> None:
    life = live()
    publish(base, start(1), message(2, task_id=OTHER))
    in_the_way = keep_from_writing(base, "thread-mappings.json")
    with pytest.raises(TryLater):
        life.go()
    in_the_way.rmdir()
    clock.advance(61)
    other = Life(base, clock)
    other.go()
    life.go()
    other.end()
    assert sorted(shown(base)) == ["msg-20260207-001", "msg-20260207-002"]
    assert counts(base) == {"messages/sent": 2}


def test_a_log_of_events_that_cannot_be_written_stops_nobody(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    Path(base.events_log).mkdir(parents=True)
    publish(base, start(1), update(2))
    live().go()
    assert counts(base) == {"messages/sent": 2}


# What comes from outside


HOSTILE = "x\x1b]0;owned\x07\x1b[2J\r\u202e\x9b31m\nmsg\n\n2026-02-07 10:00:00  a  b  {id}\n\n"


def test_nothing_in_a_message_can_steer_a_terminal(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(
        base,
        start(1, content=HOSTILE, channel="#\x1b[1m\nx", task_id=None, thread_ts="a\nb\x9b"),
        question(2, content=HOSTILE, options=["\x1b[31myes\nno"], default=None),
    )
    live().go()
    text = console(base)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\\u001b[2J" in text
    assert shown(base) == ["msg-20260207-001", "msg-20260207-002"]


def test_a_message_cannot_pretend_that_another_was_shown(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    from kingdom.envoy.transports.console import console_log, shows

    for number, channel in enumerate(("#a", "x  msg-20260207-009\n\n"), 1):
        text = HOSTILE.format(id="msg-20260207-009")
        publish(base, start(number, content=text, channel=channel, task_id=None))
    live().go()
    assert shows(console_log(base), "msg-20260207-001")
    assert not shows(console_log(base), "msg-20260207-009")


def test_a_secret_of_the_environment_is_not_shown(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, start(1, content="it said: hunter2hunter2"))
    live(environment={"GH_TOKEN": "hunter2hunter2"}).go()
    assert "hunter2" not in console(base)


@pytest.mark.parametrize("content", ["", " \n ", "x" * 500_000, "가나다\u00a0라\r\n마"])
def test_any_content_can_be_shown(base: BaseDir, live: Callable[..., Life], content: str) -> None:
    publish(base, start(1, content=content))
    live().go()
    assert counts(base) == {"messages/sent": 1}
    shown_text = console(base)
    assert "(no text)" in shown_text if not content.strip() else content[:3] in shown_text
    assert "\\u" not in shown_text


# Languages


def test_both_languages(base: BaseDir, live: Callable[..., Life], clock: MovableClock) -> None:
    asked = {"options": ["main", "next release"], "default": "main"}
    publish(base, question(1, urgency="high", expires_at="2026-02-08T10:00:00Z", **asked))
    configure(base, "language: ko\ntimezone: Asia/Seoul\n", "system")
    life = live()
    life.go()
    assert console(base).split("\n")[:7] == [
        "2026-02-07 19:00:00  console  task-20260207-001  msg-20260207-001",
        "  [중요]",
        "  질문: Which branch?",
        "    1. main",
        "    2. next release",
        "  2026-02-08 19:00:00까지 답이 없으면 다음으로 합니다: main",
        "  답하려면: kingdom answer task-20260207-001 main",
    ]
    configure(base, "language: en\n", "system")
    clock.advance(2)
    publish(base, question(2, task_id=OTHER, urgency="urgent", default="yes"))
    life.go()
    assert console(base).split("\n")[8:] == [
        "2026-02-07 10:00:02  console  task-20260207-002  msg-20260207-002",
        "  [URGENT]",
        "  Question: Which branch?",
        "  Unless someone answers, it will be: yes",
        '  Answer with: kingdom answer task-20260207-002 "your answer"',
        "",
        "",
    ]


def test_a_terminal_shows_what_the_log_has(base: BaseDir, clock: MovableClock) -> None:
    import io

    from kingdom.envoy.rendering import Rendering
    from kingdom.envoy.transports.console import Console
    from kingdom.words import Words

    terminal = io.StringIO()
    rendering = Rendering(Words("en"), START.tzinfo)  # type: ignore[arg-type]
    transport = Console(base, clock, lambda: rendering, terminal=terminal)
    transport.send(start(1), None)
    transport.send(start(1), None, perhaps_sent=True)
    assert terminal.getvalue() == console(base)
    assert shown(base) == ["msg-20260207-001"]
    terminal.close()
    transport.send(start(2), None)
    assert shown(base) == ["msg-20260207-001", "msg-20260207-002"]


def test_the_envoy_s_own_terminal_is_spoken_to(base: BaseDir) -> None:
    """A real one: what it writes to standard error when that is a terminal."""
    publish(base, start(1, content="hello"))
    master, slave = pty.openpty()

    def work() -> None:
        os.dup2(slave, 2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        Life(base, MovableClock()).go()

    assert in_child(work) == 0
    said = os.read(master, 65536).decode()
    os.close(master)
    os.close(slave)
    assert said.replace("\r\n", "\n") == console(base)


def test_slack_without_a_token_is_said_with_the_remedy(base: BaseDir, clock: MovableClock) -> None:
    configure(base, "transport: slack\n")
    with pytest.raises(ConfigurationError, match="Set SLACK_BOT_TOKEN to the app's bot token"):
        Life(base, clock)


def test_slack_without_any_channel_is_said_with_the_remedy(
    base: BaseDir, clock: MovableClock
) -> None:
    configure(base, "transport: slack\n")
    with pytest.raises(ConfigurationError, match=r"Set slack\.default_channel or slack\.owner"):
        Life(base, clock, environment={"SLACK_BOT_TOKEN": "xoxb-planted"})
