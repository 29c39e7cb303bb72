"""The sentinel killed anywhere in a round: each update of a ticket becomes exactly one event, and
what it is called does not depend on where it died."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.clients.jira import Credentials, Jira
from kingdom.sentinel.daemon import make
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.jira_server import ANN, EMAIL, ME, TOKEN, FakeJira
from tests.support.jira_watch import KEEP_ALL, lookout_on
from tests.support.kingdom import START, MovableClock
from tests.support.lookout import events, forget, work_off
from tests.support.processes import forked_role
from tests.support.waiting import eventually

KILLED = -signal.SIGKILL
MINUTE = timedelta(minutes=1)
A_FEW = 11  # calls apart; all of them in the long run


@pytest.fixture(scope="module")
def warm() -> None:
    """A forked child has the library then."""
    with FakeJira() as jira:
        client = Jira(jira.url, Credentials(EMAIL, TOKEN, "", ""))
        client.account()
        client.close()


@pytest.fixture
def jira(warm: None) -> Iterator[FakeJira]:
    with FakeJira() as made:
        yield made


class Story:
    """One ticket is new and ours, one has a comment, one was given away and came back. Whoever
    watched them is killed; a king works off what was emitted; it may be that two of them are
    updated before somebody looks again."""

    def __init__(self, root: Path, jira: FakeJira, *, goes_on: bool) -> None:
        self.base, self.jira, self.goes_on = BaseDir(root), jira, goes_on
        root.mkdir()
        jira.issues.clear()
        jira.now = START
        self.clock = MovableClock(START)
        self.got: Counter[str] = Counter()
        self.old = jira.create("SHOP-1", START - 3 * MINUTE)
        self.lent = jira.create("SHOP-2", START - 2 * MINUTE)
        self.look()
        jira.advance(600)
        jira.comment(self.old, "Any news?", at=START + MINUTE)
        jira.change(self.lent, START + 2 * MINUTE, assignee=ANN)
        jira.change(self.lent, START + 3 * MINUTE, assignee=ME)
        self.new = jira.create("SHOP-3", START + 4 * MINUTE)

    def look(self) -> None:
        with lookout_on(self.base, self.jira, clock=self.clock) as lookout:
            lookout.bus.recover()
            lookout.look()

    def killed_at(self, point: int, *, after: bool) -> bool:
        """Whether it lived to see the end of the round."""

        def life() -> None:
            with observed(Killer(point, after=after, passing_over=CHANGE_NOTHING)):
                self.look()

        code = in_child(life)
        assert code in (0, KILLED)
        return code == 0

    def ends_well(self, where: str) -> None:
        self.work_off()
        if self.goes_on:
            self.jira.advance(600)
            self.jira.change(self.old, START + 12 * MINUTE, summary="Worse")
            self.jira.comment(self.new, "Soon?", at=START + 13 * MINUTE)
        for _ in range(2):
            self.look()
            self.work_off()
            forget(self.base)
        assert all(times == 1 for times in self.got.values()), (where, self.got)
        told = self.told()
        assert told["SHOP-1"]["commented"] == 1, (where, told)
        assert told["SHOP-2"]["assigned"] == 2, (where, told)
        assert told["SHOP-3"]["assigned"] == 1, (where, told)
        if not self.goes_on:
            assert sum(self.got.values()) == 5, (where, self.got)
        shutil.rmtree(self.base.root)

    def work_off(self) -> None:
        with lookout_on(self.base, self.jira, clock=self.clock) as lookout:
            lookout.bus.recover()
            found = events(self.base)
            for id_ in work_off(lookout.setting()):
                key, type_ = found[id_]["payload"]["key"], found[id_]["type"]
                self.got[f"{key} {type_.rpartition('.')[2]} {id_}"] += 1

    def told(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for one, times in self.got.items():
            key, word, _ = one.split()
            found.setdefault(key, Counter())[word] += times
        return found


goes_on = pytest.mark.parametrize("goes_on", [False, True], ids=["stands still", "goes on"])


def _killed_at_disk_calls(scratch: Path, jira: FakeJira, step: int, *, goes_on: bool) -> int:
    point = 1
    while True:
        after = point % 2 == 0
        story = Story(scratch / str(point), jira, goes_on=goes_on)
        lived = story.killed_at(point, after=after)
        story.ends_well(f"call {point}")
        if lived:
            return point
        point += step


@goes_on
def test_at_some_changes_of_the_disk(scratch: Path, jira: FakeJira, goes_on: bool) -> None:
    assert _killed_at_disk_calls(scratch, jira, A_FEW, goes_on=goes_on) > 20


@pytest.mark.long
@goes_on
def test_at_every_change_of_the_disk(scratch: Path, jira: FakeJira, goes_on: bool) -> None:
    assert _killed_at_disk_calls(scratch, jira, 1, goes_on=goes_on) > 20


class Assassin:
    """Kills the child when the server is at a stage of its n-th request."""

    def __init__(self, jira: FakeJira, stage: str, number: int) -> None:
        self.jira, self.stage, self.left = jira, stage, number
        self.victim = 0
        self.ready = threading.Event()

    def __call__(self, stage: str, verb: str, path: str) -> None:
        self.ready.wait()
        if stage == self.stage:
            self.left -= 1
            if self.left == 0:
                os.kill(self.victim, signal.SIGKILL)

    def runs(self, work: Callable[[], None]) -> int:
        def fork() -> int:
            child = os.fork()
            if child == 0:
                try:
                    work()
                    os._exit(0)
                finally:
                    os._exit(70)
            return child

        return self.waits_for(fork)

    def waits_for(self, fork: Callable[[], int]) -> int:
        self.jira.hook = self
        try:
            self.victim = fork()
            self.ready.set()
            return os.waitstatus_to_exitcode(os.waitpid(self.victim, 0)[1])
        finally:
            self.ready.set()
            self.jira.hook = lambda stage, verb, path: None


@pytest.mark.parametrize("stage", ["received", pytest.param("answered", marks=pytest.mark.long)])
def test_at_every_request(scratch: Path, jira: FakeJira, stage: str) -> None:
    for number in range(1, 30):
        story = Story(scratch / str(number), jira, goes_on=number % 2 == 0)
        code = Assassin(jira, stage, number).runs(story.look)
        assert code in (0, KILLED)
        story.ends_well(f"request {number}")
        if code == 0:
            break
    assert 6 <= number <= 12  # the last one came to no kill


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_two_hundred_tickets_in_pages_and_killed_again_and_again(
    base: BaseDir, jira: FakeJira, seed: int
) -> None:
    chance = random.Random(seed)
    jira.per_page = 20
    for number in range(200):
        jira.create(f"SHOP-{number}", START - timedelta(minutes=900 - 4 * number))
    deaths = 0

    def life() -> None:
        killer = Killer(
            chance.randrange(1, 300), after=chance.random() < 0.5, passing_over=CHANGE_NOTHING
        )
        with observed(killer), lookout_on(base, jira, jql_base=KEEP_ALL) as lookout:
            lookout.bus.recover()
            lookout.look()

    while (code := in_child(life)) != 0:
        assert code == KILLED
        deaths += 1
        chance.random()  # another place to die
        assert deaths < 300
    assert deaths > 5
    assert len([one for one in jira.asked if "search" in one]) < 3 * deaths + 15  # not begun over
    assert sorted(events(base)) == sorted(_id(issue) for issue in jira.issues.values())
    with lookout_on(base, jira, jql_base=KEEP_ALL) as lookout:
        lookout.bus.recover()
        assert lookout.look().emitted == 0


def _id(issue: dict[str, object]) -> str:
    return f"evt-jira-{issue['key']}-{issue['updated']:%Y%m%d%H%M%S}"


CONFIG = """\
polling:
  jira:
    interval_seconds: 0.05
    url: {url}
"""


def test_as_a_process_that_is_killed_at_any_request(base: BaseDir, jira: FakeJira) -> None:
    """It looks again and again, so that it comes to any number of them."""
    chance = random.Random(5)
    with lookout_on(base, jira) as lookout:  # which makes the directories
        environment = lookout.environment
    Path(base.path("config", "sentinel.yaml")).write_text(CONFIG.format(url=jira.url))
    jira.per_page = 5
    made: list[str] = []

    def role() -> int:
        return forked_role(base, "sentinel", make, environment)

    for number in range(1, 13):
        for _ in range(5):
            jira.advance(30)
            made.append(_id(jira.create(f"SHOP-{len(made)}")))
        jira.advance(10)
        stage = chance.choice(["received", "done", "answered"])
        assert Assassin(jira, stage, number).waits_for(role) == KILLED
    child = role()
    try:
        eventually(lambda: sorted(events(base)) == sorted(made), "every update is an event")
    finally:
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(events(base)) == sorted(made)
