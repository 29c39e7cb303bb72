"""What may hold a secret does not leave for Slack: it is held until a person decides."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.envoy.hearing import SaidBy
from kingdom.models.fields import read_timestamp
from kingdom.models.task import Task
from kingdom.ops.releasing import held_message, release_message
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from kingdom.words import Words
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.cli import kingdom
from tests.support.envoy import TASK, Life, awaiting, console, internal, publish, question, start
from tests.support.kingdom import MovableClock, counts, load, message, task
from tests.support.slack_life import ENVIRONMENT, configure, one_life, texts
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import TOKEN

FIRST, SECOND = "msg-20260207-001", "msg-20260207-002"
ENCODED = base64.b64encode(f"see: {TOKEN}".encode()).decode()
RANDOM = "kR8vTq2ZxWm5NcJ7LpYb3HsDfGa9Ue4i"


@pytest.fixture
def slack_life(base: BaseDir, server: FakeSlack, live: Callable[..., Life]) -> Callable[[], Life]:
    configure(base, server)
    write_format(base)
    return lambda: live(environment=ENVIRONMENT)


def update(number: int, **fields: Any) -> Any:
    return message(number, **({"task_id": TASK} | fields))


def work(trust: str, **payload: Any) -> Task:
    return task(trust=trust, payload=payload)


@pytest.mark.provokes("message.held", "message.released")
def test_a_message_with_a_secret_is_held_and_those_behind_it_go_on(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1), update(2, content=f"First.\nAnd {ENCODED}"), update(3, content="on"))
    life = slack_life()
    life.go()
    assert counts(base) == {"messages/held": 1, "messages/sent": 2}
    assert texts(server) == ["taken up", "on"]
    held = load(base, "messages/held", SECOND)
    delivery = held["delivery"]
    assert (held["status"], delivery["last_error_code"]) == ("held", "outbound_held")
    reason = "The value of SLACK_BOT_TOKEN, in base64 in content, line 2."
    assert delivery["last_error_message"] == reason
    assert os.stat(base.path("queue/messages/held")).st_mode & 0o077 == 0
    (told,) = internal(base, "message.held")
    assert told["data"] == {"msg_id": SECOND, "task_id": TASK, "reason": reason}
    logs = "".join(path.read_text() for path in Path(base.logs).rglob("*") if path.is_file())
    assert TOKEN not in logs
    assert ENCODED not in logs
    listed = kingdom("queue", "ls", "messages", base=base).out
    assert f"{SECOND}" in listed
    assert "held" in listed
    assert f"kingdom release {SECOND}" in kingdom("why", SECOND, base=base).out
    said = kingdom("release", SECOND, base=base)
    assert said.out == f"{SECOND} is pending again, and is sent as it is.\n"
    life.go()
    assert counts(base) == {"messages/sent": 3}
    assert ENCODED in texts(server)[-1], "as it is, in its thread"
    (released,) = internal(base, "message.released")
    assert (released["actor"], released["data"]["msg_id"]) == ("operator", SECOND)
    again = kingdom("release", SECOND, base=base)
    assert (again.code, f"{SECOND} is not held" in again.err) == (1, True)


def test_a_held_message_that_is_dropped_never_leaves(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1, content=TOKEN))
    slack_life().go()
    assert kingdom("queue", "drop", FIRST, base=base).code == 0
    slack_life().go()
    assert counts(base) == {"messages/dead": 1}
    assert texts(server) == []


def test_what_was_changed_after_it_was_let_pass_is_scanned_again(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1, content=TOKEN))
    slack_life().go()
    assert kingdom("release", FIRST, base=base).code == 0
    path = Path(base.path("queue/messages/pending", f"{FIRST}.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"content": f"{TOKEN} and more"}))
    slack_life().go()
    assert counts(base) == {"messages/held": 1}
    assert texts(server) == []


def test_a_question_is_scanned_with_its_options(
    base: BaseDir, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    until = clock.now() + timedelta(hours=1)
    publish(base, question(1, options=["a", TOKEN], default="a", expires_at=until))
    slack_life().go()
    assert counts(base) == {"messages/held": 1}
    assert awaiting(base) == {}, "nobody was asked, so nobody can be late"
    asked = load(base, "messages/held", FIRST)
    clock.advance(7200)
    let_pass(base, FIRST)
    later = load(base, "messages/pending", FIRST)
    waited = read_timestamp(later["expires_at"]) - read_timestamp(asked["expires_at"])
    assert waited.total_seconds() > 0, "the time it was held does not count"


@pytest.mark.parametrize(
    ("trust", "payload", "state"),
    [
        ("outside", {}, "held"),
        ("fork", {"title": "other"}, "held"),
        ("outside", {"body": f"about {RANDOM}"}, "sent"),
        ("member", {}, "sent"),
    ],
)
def test_random_strings_of_less_trusted_work_are_held_unless_they_were_given(
    base: BaseDir, slack_life: Callable[[], Life], trust: str, payload: dict[str, Any], state: str
) -> None:
    publish(base, work(trust, **payload), stream="tasks")
    publish(base, update(1, content=f"see {RANDOM}"))
    slack_life().go()
    assert counts(base)[f"messages/{state}"] == 1


def test_what_people_are_told_of_it_is_not_held_itself(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, work("outside"), stream="tasks")
    publish(base, update(1, content=f"see {RANDOM}"))
    life = slack_life()
    life.go()
    reason = load(base, "messages/held", FIRST)["delivery"]["last_error_message"]
    said = Words("en")("king_held_message", id=FIRST, reason=reason)
    publish(base, update(2, content=said))
    life.go()
    assert counts(base)["messages/sent"] == 1
    assert "that looks random in content" in texts(server)[0]


def test_nobody_is_called_by_what_came_from_outside(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    said = "<!channel> <!here> <!everyone> <@U0ADA123> <!subteam^S1> @here @channel @everyone"
    publish(base, question(1, content=said, options=[said], default=said))
    slack_life().go()
    raw = json.dumps(server.in_channel(), ensure_ascii=False)
    for call in ("<!channel", "<!here", "<!everyone", "<@U0ADA", "<!subteam", "@here", "@channel"):
        assert call not in raw


def test_the_console_shows_it_without_the_secret_and_holds_nothing(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, start(1, content=f"the token is {TOKEN}"))
    live(environment=ENVIRONMENT).go()
    assert counts(base) == {"messages/sent": 1}
    assert "the token is ***" in console(base)
    assert TOKEN not in console(base)


def test_an_answer_with_a_secret_does_not_show_where_it_was_asked(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, question(1))
    life = slack_life()
    life.go()
    line = life.envoy._outbound.closing_line(Words("en"), f"use {TOKEN}", SaidBy("ada", {}))
    assert line == "ada answered: (not shown, it has a secret in it)"


# Killed at every step


def hold(base: BaseDir) -> None:
    one_life(base)


def let_pass(base: BaseDir, id_: str = SECOND) -> None:
    bus = FileBus(base)
    release_message(bus, held_message(base, id_))
    bus.close()


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("step", [hold, let_pass])
def test_killed_after_every_call_it_is_held_until_it_was_let_pass_and_sent_once(
    scratch: Path,
    capfd: pytest.CaptureFixture[str],
    step: Callable[[BaseDir], None],
    stride: int,
) -> None:
    passed_over = CHANGE_NOTHING | {"fsync", "fdatasync", "syncfs", "stat"}
    point, code = 1 - stride, -signal.SIGKILL
    while code:
        point += stride
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            configure(base, server, channel="C0KINGDOM")
            publish(base, start(1), update(2, content=f"see {TOKEN}"))
            if step is let_pass:
                one_life(base)

            def work(base: BaseDir = base, point: int = point) -> None:
                with observed(Killer(point, after=True, passing_over=passed_over)):
                    step(base)

            code = in_child(work)
            assert code in (0, -signal.SIGKILL)
            one_life(base)
            assert texts(server)[0] == "taken up"
            if counts(base).get("messages/held"):
                assert not any(TOKEN in one for one in texts(server)), "nobody let it pass"
                let_pass(base)
                one_life(base)
            assert counts(base) == {"messages/sent": 2}
            assert sum(TOKEN in one for one in texts(server)) == 1
        shutil.rmtree(base.root)
    assert point > 5
    assert "Error" not in capfd.readouterr().err
