"""Fixtures of the sentinel's tests: a Jira, in the cloud and on a server, and who watches it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kingdom.store.paths import BaseDir
from tests.support.jira_server import FakeJira
from tests.support.jira_watch import KEEP_ALL, JiraLookout, lookout_on


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
    """It watches everybody's tickets."""
    with lookout_on(base, cloud, jql_base=KEEP_ALL, repos={"SHOP": "acme/shop"}) as made:
        yield made
