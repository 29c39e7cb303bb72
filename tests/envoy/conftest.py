"""Fixtures of the envoy's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kingdom.store.paths import BaseDir
from tests.support.envoy import Life
from tests.support.kingdom import MovableClock
from tests.support.slack_life import ENVIRONMENT, WITH_SOCKET, configure
from tests.support.slack_scene import Scene
from tests.support.slack_server import FakeSlack


@pytest.fixture
def live(base: BaseDir, clock: MovableClock) -> Iterator[Callable[..., Life]]:
    """One life of the envoy after the other; the one before has ended."""
    lives: list[Life] = []

    def begin(**options: Any) -> Life:
        for life in lives:
            life.end()
        lives[:] = [Life(base, clock, **options)]
        return lives[0]

    yield begin
    for life in lives:
        life.end()


@pytest.fixture
def server() -> Iterator[FakeSlack]:
    with FakeSlack() as slack:
        yield slack


@pytest.fixture
def heard(base: BaseDir, server: FakeSlack, live: Callable[..., Life]) -> Scene:
    """With a socket."""
    configure(base, server)
    scene = Scene(base, server, lambda: live(environment=WITH_SOCKET), listens=True)
    scene.begin()
    return scene


@pytest.fixture
def polled(base: BaseDir, server: FakeSlack, live: Callable[..., Life]) -> Scene:
    """Without an app token."""
    configure(base, server)
    scene = Scene(base, server, lambda: live(environment=ENVIRONMENT), listens=False)
    scene.begin()
    return scene
