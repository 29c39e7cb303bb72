"""Fixtures every test may ask for."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pydantic import BaseModel

from kingdom.bus.files.bus import FileBus
from kingdom.models.message import MESSAGE
from kingdom.models.result import RESULT
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock

# What is random is seeded: a red run is red again on the next machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers() -> int:
    """Half of the time a test waits: for processes of its own, for the kernel to close a watch."""
    return max(len(os.sched_getaffinity(0)) * 3 // 2, 1)


def pytest_collection_finish() -> None:
    """Tests fork by the hundred: what each child would make for itself is there before."""
    _complete(BaseModel)
    for union in (MESSAGE, RESULT):
        union.rebuild()
    gc.collect()
    gc.freeze()


def _complete(model: type[BaseModel]) -> None:
    for part in model.__subclasses__():
        if part.__module__.startswith("kingdom."):
            part.model_rebuild()
        _complete(part)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A place for files, in memory where the system has such a place: tests sync a lot."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = tempfile.mkdtemp(prefix="kingdom-test-", dir=parent)
    yield Path(root)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def base(scratch: Path) -> BaseDir:
    """An empty base directory."""
    return BaseDir(scratch)


@pytest.fixture(autouse=True)
def _provoked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whoever says that it provokes an internal event has one in the log at its end."""
    marker = request.node.get_closest_marker("provokes")
    if marker is None:
        yield
        return
    place: Path = request.getfixturevalue("scratch")
    yield
    logs = [path.read_text("utf-8") for path in place.rglob("logs/events.log")]
    written = {json.loads(line)["type"] for text in logs for line in text.splitlines() if line}
    missing = [type_ for type_ in marker.args if type_ not in written]
    assert not missing, f"not provoked: {', '.join(missing)}"


@pytest.fixture(autouse=True)
def _unbroken(request: pytest.FixtureRequest) -> Iterator[None]:
    """A role lives on when it fails at one thing; a test in which one does, fails."""
    if "scratch" not in request.fixturenames:
        yield
        return
    place: Path = request.getfixturevalue("scratch")
    yield
    found = [path for path in place.rglob("logs/system.log*") if path.is_file()]
    logs = [path.read_text("utf-8", "replace") for path in found]
    lines = [line for text in logs for line in text.splitlines()]
    broke = [line for line in lines if "duty.broke" in line or "handling.failed" in line]
    if request.node.get_closest_marker("breaks") is None:
        assert not broke, "\n".join(broke).replace("\\n", "\n")
    else:
        assert broke, "nothing broke"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def open_bus(base: BaseDir, clock: MovableClock) -> Iterator[Callable[..., FileBus]]:
    """Opens a bus on the base directory, as one process would; closed afterwards."""
    opened: list[FileBus] = []

    def open_one(**options: Any) -> FileBus:
        bus = FileBus(base, **({"clock": clock} | options))
        opened.append(bus)
        return bus

    yield open_one
    for bus in opened:
        bus.close()


@pytest.fixture
def bus(open_bus: Callable[..., FileBus]) -> FileBus:
    return open_bus()
