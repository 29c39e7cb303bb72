"""Fixtures of the sentinel's tests: a GitHub, a Jira in the cloud and on a server, and who watches
them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from kingdom.store.paths import BaseDir
from tests.support.github_scene import Scene
from tests.support.jira_server import ANN, FakeJira
from tests.support.jira_watch import KEEP_ALL, JiraLookout, lookout_on
from tests.support.kingdom import MovableClock
from tests.support.notifications import BEGAN, Notifying


@pytest.fixture
def hub() -> Iterator[Notifying]:
    with Notifying() as made:
        yield made


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(BEGAN + timedelta(hours=3))


@pytest.fixture
def scene(base: BaseDir, hub: Notifying, clock: MovableClock) -> Iterator[Scene]:
    made = Scene(base, hub, clock)
    yield made
    made.close()


@pytest.fixture(params=[True, False], ids=["cloud", "server"])
def jira(request: pytest.FixtureRequest) -> Iterator[FakeJira]:
    with FakeJira(cloud=request.param) as made:
        yield made


@pytest.fixture
def cloud() -> Iterator[FakeJira]:
    with FakeJira() as made:
        yield made


@pytest.fixture
def lookout(base: BaseDir, jira: FakeJira) -> Iterator[JiraLookout]:
    with lookout_on(base, jira) as made:
        yield made


@pytest.fixture
def wide(base: BaseDir, cloud: FakeJira) -> Iterator[JiraLookout]:
    """It watches everybody's tickets, and Ann is a member."""
    listed = {"repos": {"SHOP": "acme/shop"}, "members": [ANN]}
    with lookout_on(base, cloud, jql_base=KEEP_ALL, **listed) as made:
        yield made
