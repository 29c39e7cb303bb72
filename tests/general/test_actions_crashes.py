"""A general killed anywhere while it posts: the next life finishes, and nothing stands twice."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.github import GitHub
from kingdom.clock import SystemClock
from kingdom.general.actions.jobs import Job, Lineage
from kingdom.general.actions.performing import Means, Outcome, Timing, perform
from kingdom.models.action import KINDS
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.loopback import Fault
from tests.support.waiting import eventually, let_pass

REVIEW = {
    "do": "review",
    "body": "Two things.",
    "comments": [{"path": "app.py", "line": 2, "body": "Why?"}],
}
COMMENT = {"do": "comment", "body": "Done."}
PULL = {"do": "pull_request", "title": "Fix it"}
ALL = [REVIEW, COMMENT, PULL]
ONCE = {"reviews": 1, "comments": 1, "pulls": 1}
BOTH = ("GET", "POST")
KILLED = -signal.SIGKILL
CLOCK = SystemClock()
QUICK = Timing(settle=timedelta(seconds=0.1), first_pause=timedelta(seconds=0.01))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeGitHub]:
    with FakeGitHub() as made:
        warm = GitHub(TOKEN, made.url)  # a forked child has the library then
        warm.repository("acme/service")
        warm.close()
        yield made


class Life:
    """One process of a general's that works until everything is done."""

    def __init__(
        self, base: BaseDir, server: FakeGitHub, number: int, raw: list[Any], timing: Timing = QUICK
    ) -> None:
        id_ = f"task-20260207-{number:03}"
        self.job = Job(
            task_id=id_,
            attempt="soldier-1",
            lineage=Lineage(id_, CLOCK.now()),
            trust="member",
            allowed=frozenset(KINDS),
            repo=f"acme/service-{number}",
            number=number,
            branch=f"kingdom/{id_}",
        )
        self.server, self.raw, self.base, self.timing = server, raw, base, timing

    def tries(self) -> Outcome:
        hub = GitHub(TOKEN, self.server.url, pace=(0, 0), timeout=5)
        means = Means(
            self.base, CLOCK, connect=lambda: hub, push=lambda: "c0ffee", timing=self.timing
        )
        try:
            return perform(self.job, self.raw, means)
        finally:
            hub.close()

    def __call__(self) -> None:
        outcome = self.tries()
        while outcome.later is not None:
            let_pass(max((outcome.later.not_before - CLOCK.now()).total_seconds(), 0.001))
            outcome = self.tries()
        assert not outcome.refused
        assert [one.kind for one in outcome.done] == [one["do"] for one in self.raw]
        assert all(one.url for one in outcome.done)

    def posted(self) -> dict[str, int]:
        kept = {name: getattr(self.server, name) for name in ONCE}
        repo = self.job.repo
        return {name: sum(one["repo"] == repo for one in them) for name, them in kept.items()}

    def ends_well(self) -> None:
        assert in_child(self) == 0
        assert self.posted() == {
            name: int(any(one["do"] == kind for one in self.raw))
            for name, kind in zip(ONCE, ("review", "comment", "pull_request"), strict=True)
        }


class Assassin:
    """Kills the child when the server is at a stage of its n-th request of these verbs."""

    def __init__(
        self, server: FakeGitHub, stage: str, number: int = 1, verbs: tuple[str, ...] = BOTH
    ) -> None:
        self.server, self.stage, self.left, self.verbs = server, stage, number, verbs
        self.victim = 0
        self.ready = threading.Event()

    def __call__(self, stage: str, verb: str, path: str) -> None:
        self.ready.wait()
        if stage == self.stage and verb in self.verbs:
            self.left -= 1
            if self.left == 0:
                os.kill(self.victim, signal.SIGKILL)

    def runs(self, work: Callable[[], None]) -> int:
        """How the process ended in which the work was done."""
        self.server.hook = self
        try:
            self.victim = _forked(work)
            self.ready.set()
            code = os.waitstatus_to_exitcode(os.waitpid(self.victim, 0)[1])
            eventually(self._arrived, "what was under way arrives, though nobody waits for it")
            return code
        finally:
            self.ready.set()
            self.server.hook = lambda stage, verb, path: None

    def _arrived(self) -> bool:
        held = [one for one in self.server.faults if one.held and not one.left]
        return self.server.under_way == len(held)


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the parent learns of it from the exit code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


ANSWERED = pytest.param("answered", 3000, marks=pytest.mark.long)


@pytest.mark.parametrize(("stage", "first"), [("received", 1000), ("done", 2000), ANSWERED])
def test_killed_at_any_request(base: BaseDir, server: FakeGitHub, stage: str, first: int) -> None:
    for request in count(1):
        life = Life(base, server, first + request, ALL)
        code = Assassin(server, stage, request).runs(life)
        assert code in (0, KILLED)
        life.ends_well()
        if code == 0 or request > 50:
            break
    assert 7 <= request <= 12  # the last one came to no kill


def _killed_at_disk_calls(
    base: BaseDir, server: FakeGitHub, first: int, step: int, *, after: bool
) -> int:
    """How many calls there are."""
    for number, point in enumerate(count(1, step)):
        life = Life(base, server, first + number, ALL)

        def work(life: Life = life, point: int = point) -> None:
            with observed(Killer(point, after=after, passing_over=CHANGE_NOTHING)):
                life()

        code = in_child(work)
        assert code in (0, KILLED)
        life.ends_well()
        if code == 0:
            return point
    raise AssertionError


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_some_writes_to_the_disk(base: BaseDir, server: FakeGitHub, after: bool) -> None:
    assert _killed_at_disk_calls(base, server, 4000 + 500 * after, 11, after=after) > 30


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_write_to_the_disk(base: BaseDir, server: FakeGitHub, after: bool) -> None:
    assert _killed_at_disk_calls(base, server, 5000 + 500 * after, 1, after=after) > 30


def _killed_while_under_way(base: BaseDir, server: FakeGitHub, number: int, raw: Any) -> None:
    arrives = threading.Event()
    server.faults = [Fault(held=arrives)]
    life = Life(base, server, number, [raw])
    posts = len(server.posts())
    try:
        assert Assassin(server, "received", verbs=("POST",)).runs(life) == KILLED
        assert life.tries().later is not None
        assert sum(life.posted().values()) == 0
    finally:
        arrives.set()
    eventually(lambda: sum(life.posted().values()), "it arrives while the next life waits")
    server.faults = []
    life.ends_well()
    assert len(server.posts()) == posts + 1


def test_killed_while_its_request_is_on_the_way(base: BaseDir, server: FakeGitHub) -> None:
    _killed_while_under_way(base, server, 6001, COMMENT)


@pytest.mark.long
@pytest.mark.parametrize(("number", "raw"), [(6002, REVIEW), (6003, PULL)])
def test_killed_while_another_request_is_on_the_way(
    base: BaseDir, server: FakeGitHub, number: int, raw: Any
) -> None:
    _killed_while_under_way(base, server, number, raw)


@pytest.mark.long
def test_killed_again_and_again_at_random_with_faults(base: BaseDir, server: FakeGitHub) -> None:
    chance = random.Random(4)
    for number in range(7000, 7120):
        server.faults = [
            Fault(chance.choice(["GET", "POST"]), lost=chance.choice(["before", "after", "inside"]))
            for _ in range(chance.randrange(3))
        ]
        life = Life(base, server, number, chance.sample(ALL, 3))
        for _ in range(chance.randrange(1, 4)):
            child = _forked(life)
            let_pass(chance.random() * 0.06)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        life.ends_well()


def test_no_half_written_file_is_left_under_a_name_that_is_read(
    base: BaseDir, server: FakeGitHub
) -> None:
    life = Life(base, server, 8001, ALL)
    life.ends_well()
    [name] = [p.name for p in Path(base.results).iterdir()]
    assert name == "task-20260207-8001-actions.json"
