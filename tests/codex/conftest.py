"""A camp with the real program."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.codex.camp import Camp, pitched
from tests.support import programs


@pytest.fixture
def place() -> Iterator[Path]:
    """Not in memory, as other tests have it: the program's sandbox has a /dev of its own. Nor where
    temporary files are, which soldiers may write."""
    parent = Path.home() / ".cache"
    parent.mkdir(exist_ok=True)
    root = tempfile.mkdtemp(prefix="kingdom-test-", dir=parent)
    yield Path(root)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def camp(place: Path) -> Iterator[Camp]:
    with pitched(place, programs.codex()) as made:
        yield made
