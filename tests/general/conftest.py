"""A kingdom with soldiers, ended with all that is in it after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kingdom.store.paths import BaseDir
from tests.support.barracks import Barracks


@pytest.fixture
def barracks(base: BaseDir) -> Iterator[Barracks]:
    made = Barracks(base)
    try:
        yield made
    finally:
        made.close()
