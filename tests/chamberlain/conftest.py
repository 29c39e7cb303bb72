"""Fixtures of the chamberlain's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kingdom.chamberlain.duty import Office
from kingdom.store.paths import BaseDir
from tests.support.household import office_in
from tests.support.kingdom import MovableClock


@pytest.fixture
def office(base: BaseDir, clock: MovableClock) -> Iterator[Office]:
    with office_in(base, clock) as made:
        yield made
