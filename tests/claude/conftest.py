"""A camp with the program in two versions; the older one only where there is time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.claude.camp import Camp, pitched
from tests.support import programs


@pytest.fixture(
    params=[
        pytest.param(programs.new_claude, id="new"),
        pytest.param(programs.old_claude, id="old", marks=pytest.mark.long),
    ]
)
def program(request: pytest.FixtureRequest) -> str:
    found: str = request.param()
    return found


@pytest.fixture
def camp(scratch: Path, program: str) -> Iterator[Camp]:
    with pitched(scratch, program) as made:
        yield made
