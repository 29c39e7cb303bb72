"""The envoy is killed while it speaks in Slack: each message appears once, threads keep order."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kingdom.envoy.daemon import make
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.envoy import TASK, Life, awaiting, mappings, publish, question, start
from tests.support.kingdom import MovableClock, counts, message
from tests.support.processes import forked_role
from tests.support.slack_life import ENVIRONMENT, configure, ids, one_life
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_sniper import Sniper, is_shot
from tests.support.slack_workspace import OWNER
from tests.support.waiting import eventually

LONG = "a long line of a long text\n" * 600
EXPECTED = [("msg-20260207-001", 1), ("msg-20260207-001", 2), ("msg-20260207-002", 1)]


def fill(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server, channel="C0KINGDOM")
    publish(base, start(1, content=LONG), question(2, options=["a", "b"]))


def judge(base: BaseDir, server: FakeSlack) -> None:
    assert ids(server) == EXPECTED
    parent, *rest = server.in_channel()
    assert {one["thread_ts"] for one in rest} == {parent["ts"]}
    assert parent["reactions"] == ["eyes", "raising_hand"]
    assert counts(base) == {"messages/sent": 2}
    assert set(mappings(base)) == set(awaiting(base)) == {TASK}


def test_killed_at_every_stage_of_every_request(
    scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    point, killed = 0, True
    while killed:
        point += 1
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            fill(base, server)
            killed = is_shot(base, server, Sniper(point), one_life)
            one_life(base)
            judge(base, server)
        shutil.rmtree(base.root)
    assert point > 15
    assert "Error" not in capfd.readouterr().err


def test_killed_after_every_call_that_changes_the_disk(
    scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    passed_over = CHANGE_NOTHING | {"fsync", "fdatasync", "syncfs"}
    point, code = 0, -signal.SIGKILL
    while code:
        point += 1
        base = BaseDir(scratch / str(point))
        with FakeSlack() as server:
            fill(base, server)

            def work(base: BaseDir = base, point: int = point) -> None:
                life = Life(base, MovableClock(), environment=ENVIRONMENT)
                with observed(Killer(point, after=True, passing_over=passed_over)):
                    life.go()
                    life.end()

            code = in_child(work)
            assert code in (0, -signal.SIGKILL)
            one_life(base)
            judge(base, server)
        shutil.rmtree(base.root)
    assert point > 20
    assert "Error" not in capfd.readouterr().err


# The real process


def outlived(
    base: BaseDir,
    server: FakeSlack,
    threads: int,
    each: int,
    seed: int,
    prepared: Callable[[], None],
) -> int:
    """The envoy is killed again and again at stages that a seed chooses, until all is sent;
    answers how often."""
    chance = random.Random(seed)
    total, kills = threads * each, 0
    while counts(base) != {"messages/sent": total}:
        prepared()
        sniper = server.hook = Sniper(chance.randrange(1, 60))
        child = sniper.target = forked_role(base, "envoy", make, ENVIRONMENT)
        ended: list[int] = []

        def is_over(child: int = child, ended: list[int] = ended) -> bool:
            ended += [status for pid, status in [os.waitpid(child, os.WNOHANG)] if pid]
            return bool(ended) or counts(base) == {"messages/sent": total}

        eventually(is_over, "it is killed, or all is sent")
        sniper.target = 0
        kills += 1
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return kills


def judge_threads(server: FakeSlack, threads: int, each: int) -> None:
    said = [id_ for channel in ("C0KINGDOM", "D0OWNER") for id_, _ in ids(server, channel)]
    assert len(said) == len(set(said)) == threads * each
    for thread in range(threads):
        numbers = [int(id_[-3:]) for id_ in said if int(id_[-3:]) % threads == thread]
        assert numbers == sorted(numbers), thread
    for channel in ("C0KINGDOM", "D0OWNER"):
        parents = [one for one in server.in_channel(channel) if "thread_ts" not in one]
        assert len(parents) == threads // 2


def publish_threads(base: BaseDir, threads: int, each: int) -> None:
    """Every second one is a direct message."""
    for number in range(threads * each):
        thread = number % threads
        place = {"channel": OWNER} if thread % 2 else {}
        publish(base, message(number, task_id=f"task-20260207-{thread:03d}", **place))


def test_killed_again_and_again_a_few_threads(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    publish_threads(base, 4, 5)
    assert outlived(base, server, 4, 5, seed=7, prepared=lambda: None) > 1
    judge_threads(server, 4, 5)


@pytest.mark.long
def test_killed_again_and_again_with_limits_and_outages(base: BaseDir, server: FakeSlack) -> None:
    """300 messages in 30 threads."""
    configure(base, server)
    publish_threads(base, 30, 10)
    chance = random.Random(11)
    troubles = [
        Fault(status=429, headers={"Retry-After": "1"}),
        Fault(lost="after"),
        Fault(lost="inside"),
        Fault("conversations.(history|replies|list)", lost="before"),
        Fault("conversations.(history|replies|list)", status=429, headers={"Retry-After": "1"}),
    ]

    def prepared() -> None:
        trouble = chance.choice(troubles)
        server.faults[:] = [Fault(**(vars(trouble) | {"left": 1}))]

    assert outlived(base, server, 30, 10, seed=3, prepared=prepared) > 10
    judge_threads(server, 30, 10)
