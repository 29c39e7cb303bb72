"""Thousands of notifications in one round: every one is emitted, and memory stays flat."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.clients.github import GitHub
from kingdom.models.fields import MOMENTS_REMEMBERED, read_timestamp, spell_timestamp
from kingdom.runtime.role import Setting
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.settings.sentinel import GithubWatcher
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child
from tests.support.github_scene import trust_in
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout, events
from tests.support.notifications import BEGAN, Notifying

FEW, MANY = 500, 5000
NOISE = 250_000  # bytes: less than 4,500 ids would take


@pytest.fixture
def hub() -> Iterator[Notifying]:
    with Notifying() as made:
        yield made


def fill_caches() -> None:
    """Moments are remembered, up to a number: until that costs no more, however few come then."""
    for one in range(3 * MOMENTS_REMEMBERED):
        moment = BEGAN - timedelta(days=1, seconds=one)
        spell_timestamp(moment)
        read_timestamp(f"{moment:%Y-%m-%dT%H:%M:%SZ}")


def peak_of(base: BaseDir, hub: Notifying) -> int:
    """The most memory that a round took, in a process without the server."""
    told = Path(base.root, "peak")

    def watcher(setting: Setting) -> GitHubWatcher:
        client = GitHub(hub.token, hub.url, pace=(0, 0))
        return GitHubWatcher(GithubWatcher(api_url=hub.url), setting, client)

    def life() -> None:
        lookout = Lookout(base, MovableClock(BEGAN + timedelta(hours=9)), watcher)
        tracemalloc.start()
        fill_caches()
        tracemalloc.reset_peak()
        assert lookout.look() == len(hub.threads)
        told.write_text(str(tracemalloc.get_traced_memory()[1]))
        lookout.close()

    assert in_child(life) == 0
    return int(told.read_text())


@pytest.mark.long
@pytest.mark.parametrize("has_details", [False, True])
def test_five_thousand(scratch: Path, hub: Notifying, has_details: bool) -> None:
    hub.limit, hub.left = (
        (10**6, 10**6) if has_details else (5000, 400)
    )  # which is too few for them
    peaks = []
    for number in (FEW, MANY):
        for one in range(number):
            hub.pull(one)
            hub.notify(one)
        base = BaseDir(scratch / str(number))
        Path(base.root).mkdir()
        trust_in(base, organisations=["acme"])
        peaks.append(peak_of(base, hub))
        found = events(base)
        assert len(found) == number
        trust = "member" if has_details else "outside"
        assert {one["trust"] for one in found.values()} == {trust}
    assert peaks[1] - peaks[0] < NOISE, peaks
