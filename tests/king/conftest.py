"""Fixtures of the king's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kingdom.store.paths import BaseDir
from tests.support.court import Court, court_in
from tests.support.kingdom import MovableClock


@pytest.fixture
def court(base: BaseDir, clock: MovableClock) -> Iterator[Court]:
    with court_in(base, clock) as made:
        yield made
