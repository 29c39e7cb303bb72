"""`state/sessions.json` when a general ends."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from kingdom.clock import SystemClock
from kingdom.general.registry import Registry
from kingdom.general.spec import SoldierFiles
from kingdom.runtime.registry import registry_lock
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir

OURS = {"id": "soldier-1", "task_id": "task-1", "general": "gen-a"}
THEIRS = {"id": "soldier-2", "task_id": "task-2", "general": "gen-b"}


@pytest.fixture
def registry(base: BaseDir) -> Registry:
    made = Registry(base, "gen-a", SoldierFiles(base), SystemClock())
    with made.open() as register:
        assert register is not None
        register.write([OURS, THEIRS])
    return made


def entered(base: BaseDir) -> Any:
    return json.loads(Path(base.sessions_file).read_text())


def test_a_general_that_ends_waits_for_another_and_takes_its_soldiers_out(
    base: BaseDir, registry: Registry
) -> None:
    others = Lock(registry_lock(base))
    others.acquire()
    ending = threading.Thread(target=registry.close, args=([], 60.0))
    ending.start()
    assert entered(base) == [OURS, THEIRS]
    others.release()
    ending.join()
    assert entered(base) == [THEIRS]
    others.close()


def test_it_does_not_wait_for_ever(base: BaseDir, registry: Registry) -> None:
    with Lock(registry_lock(base)):
        registry.close([], 0.01)
    assert entered(base) == [OURS, THEIRS]
