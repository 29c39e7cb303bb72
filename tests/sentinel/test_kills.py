"""The sentinel killed anywhere in a round: each notification becomes exactly one event."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.clients.github import GitHub
from kingdom.runtime.role import Setting
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.settings.sentinel import GithubWatcher
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.github_scene import trust_in
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout, events, forget, setting, work_off
from tests.support.notifications import BEGAN, Notifying

KILLED = -signal.SIGKILL
A_FEW = 7  # calls apart; all of them in the long run


@pytest.fixture
def hub() -> Iterator[Notifying]:
    with Notifying() as made:
        warm = GitHub(made.token, made.url)  # a forked child has the library then
        warm.look("/notifications")
        warm.close()
        yield made


class Kingdom:
    """A sentinel that dies, and a king who works off whatever it emitted before."""

    def __init__(self, base: BaseDir, hub: Notifying) -> None:
        self.base, self.hub = base, hub
        trust_in(base, organisations=["acme"])
        self.clock = MovableClock(BEGAN + timedelta(hours=3))
        self.got: Counter[str] = Counter()
        self.told: dict[str, tuple[str, str]] = {}  # of each, type and trust
        self.setting = setting(base, self.clock)

    def look(self) -> None:
        lookout = Lookout(self.base, self.clock, self._watcher)
        lookout.setting.bus.recover()
        lookout.look()
        lookout.close()

    def _watcher(self, given: Setting) -> GitHubWatcher:
        options = GithubWatcher(api_url=self.hub.url, mark_read=True)
        client = GitHub(self.hub.token, self.hub.url, clock=self.clock, pace=(0, 0), timeout=5)
        return GitHubWatcher(options, given, client)

    def killed_at(self, point: int, *, after: bool) -> bool:
        """Whether it lived to see the end of the round."""

        def life() -> None:
            with observed(Killer(point, after=after, passing_over=CHANGE_NOTHING)):
                self.look()

        code = in_child(life)
        assert code in (0, KILLED)
        return code == 0

    def work_off(self) -> None:
        self.setting.bus.recover()
        for id_, event in events(self.base).items():
            self.told[id_] = (event["type"], event["trust"])
        self.got.update(work_off(self.setting))


@pytest.fixture
def kingdom(base: BaseDir, hub: Notifying) -> Iterator[Kingdom]:
    made = Kingdom(base, hub)
    yield made
    made.setting.bus.close()


def expected(hub: Notifying) -> dict[str, int]:
    return {f"evt-github-{thread}": 1 for thread in hub.threads}


def no_leftovers(base: BaseDir) -> list[str]:
    return [str(path) for path in Path(base.root).rglob(".tmp-*") if "/bus/" not in str(path)]


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.long)])
def test_at_every_change_of_the_disk(kingdom: Kingdom, hub: Notifying, after: bool) -> None:
    """Two of them, and the same scene again for each point at which it can be killed."""
    wanted: dict[str, int] = {}
    for point in range(1, 1000):
        hub.threads.clear()
        for number in range(2):
            hub.notify(number, thread=f"{point}{number}")
        wanted |= expected(hub)
        lived = kingdom.killed_at(point, after=after)
        kingdom.work_off()
        kingdom.look()
        forget(kingdom.base)
        kingdom.look()
        kingdom.work_off()
        assert kingdom.got == wanted, point
        if lived:
            break
    else:
        raise AssertionError("the round never came to its end")


@pytest.mark.parametrize(
    ("after", "step"),
    [
        (False, A_FEW),
        pytest.param(False, 1, marks=pytest.mark.long),
        pytest.param(True, 1, marks=pytest.mark.long),
    ],
)
def test_with_details_and_with_later_updates_of_the_thread(
    kingdom: Kingdom, hub: Notifying, after: bool, step: int
) -> None:
    """A review is requested; then somebody comments, after the next look or before it."""
    hub.pull(1)
    for point in range(1, 1000, step):
        hub.threads.clear()
        plain = f"evt-github-{point:05}"
        hub.notify(1, thread=f"{point:05}")
        lived = kingdom.killed_at(point, after=after)
        if is_looked_at := point % 2 == 1:
            kingdom.look()
        link = hub.comment(1, point, by="eve")
        hub.notify(1, thread=f"{point:05}", subject={"latest_comment_url": link})
        lived &= kingdom.killed_at(point, after=after)
        kingdom.work_off()
        kingdom.look()
        forget(kingdom.base)
        kingdom.look()
        kingdom.work_off()
        assert all(times == 1 for times in kingdom.got.values()), point
        first, *later = sorted(one for one in kingdom.got if one.startswith(plain))
        assert first == plain
        assert [kingdom.told[one] for one in later] == len(later) * [
            ("github.pr.comment", "outside")
        ]
        if is_looked_at or later:
            assert len(later) == 1, point
            assert kingdom.told[plain] == ("github.pr.review_requested", "member"), point
        else:  # the update came before the first was an event, and is the first then
            assert kingdom.told[plain] == ("github.pr.review_requested", "outside"), point
        if lived:
            break
    else:
        raise AssertionError("the round never came to its end")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_two_hundred_and_killed_again_and_again(
    kingdom: Kingdom, hub: Notifying, seed: int
) -> None:
    chance = random.Random(seed)
    for number in range(200):
        hub.notify(number)
    deaths = 0
    for _ in range(500):
        if kingdom.killed_at(chance.randrange(1, 300), after=chance.random() < 0.5):
            break
        deaths += 1
        if chance.random() < 0.5:
            kingdom.work_off()
        if chance.random() < 0.2:
            hub.notify(chance.randrange(10**6), thread=f"9{deaths:04}")
    kingdom.look()
    forget(kingdom.base)
    kingdom.look()
    kingdom.work_off()
    assert deaths > 10
    assert kingdom.got == expected(hub)
    assert set(hub.marked) == set(hub.threads)
    assert no_leftovers(kingdom.base) == []
