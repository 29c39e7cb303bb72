"""The envoy is killed while it hears: each thing that was said becomes one event, at last."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.envoy import TASK, Life, publish, question, start
from tests.support.kingdom import MovableClock
from tests.support.slack_life import ENVIRONMENT, WITH_SOCKET, configure, one_life, texts
from tests.support.slack_server import FakeSlack
from tests.support.slack_sniper import Sniper, is_shot
from tests.support.slack_workspace import BOT, OWNER
from tests.support.waiting import eventually

PASSED_OVER = CHANGE_NOTHING | {"fsync", "fdatasync", "syncfs"}
SAID = 3
STEPS = pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])


def fill(base: BaseDir, server: FakeSlack) -> str:
    """A question is asked; answers its thread."""
    configure(base, server, channel="C0KINGDOM")
    server.open({"users": OWNER})
    publish(base, start(1), question(2, options=["main", "next"]))
    one_life(base)
    return str(server.in_channel()[0]["ts"])


def say(server: FakeSlack, thread: str) -> None:
    """An answer, one that comes too late, work, and work once more."""
    server.says("C0KINGDOM", "next", thread_ts=thread)
    server.pass_time(2)
    server.says("C0KINGDOM", "main", thread_ts=thread)
    server.says("D0OWNER", "hello")
    server.says("C0KINGDOM", f"<@{BOT}> look")


def events(base: BaseDir) -> list[str]:
    directory = Path(base.path("queue/events"))
    found = [json.loads(path.read_text()) for path in directory.glob("*/evt-*.json")]
    return sorted(f"{one['type']} {one['payload']['text']}" for one in found)


def judge(base: BaseDir, server: FakeSlack) -> None:
    assert events(base) == [
        "slack.app_mention look",
        "slack.channel.message hello",
        "slack.human_response next",
    ]
    assert "ada answered: next" in texts(server)[1]
    notices = [one for one in server.in_channel() if "metadata" in one]
    told = [one["text"] for one in notices if one["metadata"]["event_type"] == "kingdom_notice"]
    assert len(told) <= 1, "a courtesy may be lost, and is not repeated"
    state = json.loads(Path(base.path("state/envoy/awaiting-responses.json")).read_text())
    assert state[TASK]["answered_at"]


def looks(base: BaseDir) -> None:
    """A life without an app token, until all is heard and shown."""
    life = Life(base, MovableClock(), environment=ENVIRONMENT)
    life.go()
    life.go()
    life.end()


def test_killed_at_every_stage_of_every_request(
    scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    point, killed = 0, True
    while killed:
        point += 1
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            say(server, fill(base, server))
            killed = is_shot(base, server, Sniper(point), looks)
            looks(base)
            judge(base, server)
        shutil.rmtree(base.root)
    assert point > 20
    assert "Error" not in capfd.readouterr().err


@STEPS
def test_killed_after_every_call_that_changes_the_disk(
    scratch: Path, capfd: pytest.CaptureFixture[str], step: int
) -> None:
    point, code = 0, -signal.SIGKILL
    while code:
        point += step
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            say(server, fill(base, server))

            def work(base: BaseDir = base, point: int = point) -> None:
                with observed(Killer(point, after=True, passing_over=PASSED_OVER)):
                    looks(base)

            code = in_child(work)
            assert code in (0, -signal.SIGKILL)
            looks(base)
            judge(base, server)
        shutil.rmtree(base.root)
    assert point > 10
    assert "Error" not in capfd.readouterr().err


def listens(base: BaseDir) -> None:
    """A life with a socket, until all has come by it or by looking."""
    life = Life(base, MovableClock(), environment=WITH_SOCKET)

    def is_all_heard() -> bool:
        life.go()
        return len(events(base)) == SAID

    eventually(is_all_heard, "all is heard")
    life.go()
    life.end()


@STEPS
def test_killed_after_every_call_that_changes_the_disk_while_it_listens(
    scratch: Path, capfd: pytest.CaptureFixture[str], step: int
) -> None:
    """Slack sends again what was not acknowledged."""
    point, code = 0, -signal.SIGKILL
    while code:
        point += step
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            thread = fill(base, server)
            server.lines.sends_again = True
            say(server, thread)

            def work(base: BaseDir = base, point: int = point) -> None:
                with observed(Killer(point, after=True, passing_over=PASSED_OVER)):
                    listens(base)

            code = in_child(work)
            assert code in (0, -signal.SIGKILL)
            listens(base)
            looks(base)
            judge(base, server)
        shutil.rmtree(base.root)
    assert point > 10
    assert "Error" not in capfd.readouterr().err
