"""A systemd of the test's own, and a kingdom for it to keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.ops.stopping import running
from kingdom.store.paths import BaseDir
from tests.support.puppets import found_kingdom
from tests.support.systemd import Systemd, systemd


@pytest.fixture
def manager(home: BaseDir) -> Iterator[Systemd]:
    """It ends before the directory goes, in which its roles write."""
    with systemd() as made:
        yield made


@pytest.fixture
def home(scratch: Path) -> Iterator[BaseDir]:
    """A kingdom whose soldiers work until they are ended, in a place that takes some quoting."""
    base = BaseDir(scratch / 'a b%n$HOME"x')
    found_kingdom(base, "gen-a")
    Path(base.path("config", "local", "system.yaml")).write_text(
        "runtime: {engine: command, isolation: off, max_memory_mb: 512, "
        "command: {argv: [sleep, '3600']}}\n"
    )
    Path(base.path("config", "local", "chamberlain.yaml")).write_text(
        "heartbeat: {threshold_seconds: 30}\n"
        "thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n"
    )
    yield base
    assert not running(base)
