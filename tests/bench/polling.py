"""A look at GitHub that finds nothing new, to the same request made bare with the same library; and
one that finds something, with many things seen before, to one with none."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from kingdom.clients.github import GitHub
from kingdom.clock import SystemClock
from kingdom.runtime.role import Setting
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.settings.sentinel import GithubWatcher
from kingdom.store.paths import BaseDir
from tests.bench.children import started
from tests.bench.figures import Figure, at_most, compared
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.support.github_server import TOKEN
from tests.support.lookout import Lookout
from tests.support.notifications import Notifying
from tests.support.waiting import let_pass

_LOOKS = 20  # of each round
_PATH = "/notifications"
Look = Callable[[], object]


def polling(directory: str, rounds: int, marks: int) -> tuple[list[Figure], list[Rate]]:
    with _elsewhere() as url:
        lookout = _lookout(directory, url)
        lookout.look()
        lookout.look()  # from here on nothing is new
        ours, floors = _compared(rounds, lookout.look, _bare(lookout, url))
        lookout.close()
    with Notifying() as hub:
        short, long = (_lookout(directory, hub.url, marks=number) for number in (0, marks))
        few, many = _compared(rounds, _finds_one(hub, short), _finds_one(hub, long))
        short.close()
        long.close()
    return [
        compared("a look without news, to the bare request", ours, floors, at_most(2.0)),
        compared(f"a look with news, {marks:,} marks to none", many, few, at_most(1.5)),
    ], [
        Rate("look without news: kingdom", statistics.median(ours) * 1e6, "µs"),
        Rate("look without news: the bare request", statistics.median(floors) * 1e6, "µs"),
        Rate("look with news: kingdom", statistics.median(few) * 1e6, "µs"),
    ]


@contextmanager
def _elsewhere() -> Iterator[str]:
    """A server in a process of its own, so that it takes no time from whoever asks."""
    read, write = os.pipe()

    def serve() -> None:
        with Notifying() as hub:
            hub.notify(1)
            os.write(write, hub.url.encode())
            let_pass(3600)

    with started(serve):
        yield os.read(read, 200).decode()
    os.close(read)
    os.close(write)


def _lookout(directory: str, url: str, *, marks: int = 0) -> Lookout:
    base = BaseDir(own_place(directory))
    Path(base.config).mkdir(parents=True)
    seen = Path(base.path("state", "sentinel", "seen"))
    seen.mkdir(parents=True)
    for number in range(marks):
        (seen / f"evt-github-9{number:09}").touch()

    def watcher(setting: Setting) -> GitHubWatcher:
        client = GitHub(TOKEN, url, pace=(0, 0))
        return GitHubWatcher(GithubWatcher(api_url=url), setting, client)

    return Lookout(base, SystemClock(), watcher)


def _bare(lookout: Lookout, url: str) -> Look:
    """With what the kingdom would send."""
    from github import Auth, Github

    watcher = lookout.watcher
    assert isinstance(watcher, GitHubWatcher)
    asked = watcher.asked() | {"per_page": "50", "page": "1"}
    headers = {"Accept": "application/vnd.github+json", **watcher.conditions(watcher.asked())}
    requester = Github(
        auth=Auth.Token(TOKEN),
        base_url=url,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    ).requester

    def ask() -> None:
        status, _, _ = requester.requestJson("GET", _PATH, parameters=asked, headers=headers)
        assert status == 304

    return ask


def _finds_one(hub: Notifying, lookout: Lookout) -> Look:
    lookout.look()

    def look() -> None:
        hub.threads.clear()
        hub.notify(len(hub.asked), kind="Release")  # of which there are no details
        assert lookout.look() == 1

    return look


def _compared(rounds: int, one: Look, other: Look) -> tuple[list[float], list[float]]:
    first, second = interleaved(rounds, [one, other])
    return first, second


def interleaved(
    rounds: int, acts: Sequence[Look], before: Sequence[Look] | None = None
) -> list[list[float]]:
    """Seconds for each, a median for every round; the first round is not kept. What comes before
    an act takes no part."""
    found: list[list[float]] = [[] for _ in acts]
    for number in range(rounds + 1):
        taken: list[list[float]] = [[] for _ in acts]
        for _ in range(_LOOKS):
            for at, act in enumerate(acts):
                if before:
                    before[at]()
                began = perf_counter()
                act()
                taken[at].append(perf_counter() - began)
        if number > 0:
            for kept, seconds in zip(found, taken, strict=True):
                kept.append(statistics.median(seconds))
    return found
