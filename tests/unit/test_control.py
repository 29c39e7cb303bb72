"""Files in `state/control/`: their presence is the state; others are not taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.general.control import Control as Orders
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.store.paths import BaseDir
from tests.support.kingdom import START

TASK = "task-20260207-001"


def test_what_is_asked_is_seen_and_what_is_taken_back_is_not(base: BaseDir) -> None:
    control, orders = Control(base), Orders(base)
    assert control.ask("cancel", TASK, by="evt-1", at=START)
    assert not control.ask("cancel", TASK, by="evt-2", at=START)
    control.ask("freeze", EVERYTHING, by="evt-3", at=START)
    orders.look()
    assert (orders.cancelled, orders.is_frozen("task-20260207-009")) == ({TASK}, True)
    control.take_back("freeze", EVERYTHING)
    orders.forget(TASK)
    orders.look()
    assert (orders.cancelled, orders.frozen) == (set(), set())


@pytest.mark.parametrize(
    "name", [f".tmp-1234-{TASK}.cancel", "a b.cancel", "..cancel", ".cancel", "a..b.cancel"]
)
def test_a_file_that_is_no_tasks_is_passed_over(base: BaseDir, name: str) -> None:
    orders = Orders(base)
    Path(base.control, name).write_text("{")
    orders.look()
    assert orders.cancelled == set()
