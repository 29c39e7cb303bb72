"""When a soldier's time is over, and what a clock counts that leaves out gaps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kingdom import clock as clocks
from kingdom.clock import RunningClock
from kingdom.engines.time_limits import Signs, is_late, why_to_end


@pytest.mark.parametrize(
    ("worked", "last_beat", "late"),
    [
        (99.0, None, False),
        (101.0, None, True),
        (101.0, 100.0, False),
        (150.0, 49.0, True),
        (199.0, 198.0, False),
        (201.0, 200.0, True),
    ],
)
def test_time_is_up_unless_there_are_signs_of_life(
    worked: float, last_beat: float | None, late: bool
) -> None:
    assert is_late(100.0, worked, last_beat) is late


@pytest.fixture
def spec(scratch: Path) -> dict[str, Any]:
    names = ("heartbeat_path", "stdout", "stderr", "result_path")
    paths = {name: str(scratch / name) for name in names}
    for path in paths.values():
        Path(path).touch()
    limits = {"timeout_seconds": 100.0, "no_progress_seconds": 30.0, "linger_seconds": 10.0}
    return paths | limits


def write(path: str, mtime: float) -> None:
    """With any date: a clock may have been set."""
    Path(path).write_text(f"{mtime}", "utf-8")
    os.utime(path, (mtime, mtime))


def test_what_lay_there_before_is_no_sign_of_life(spec: dict[str, Any]) -> None:
    signs = Signs(spec)
    signs.look(10.0)
    assert signs.last("heartbeat_path", "result_path") is None
    assert why_to_end(spec, 29.0, signs) == ""
    assert why_to_end(spec, 31.0, signs) == "no_progress"


@pytest.mark.parametrize("date", [0.0, 1e9, 4e9])
def test_a_file_that_changed_is_one_whatever_its_date(spec: dict[str, Any], date: float) -> None:
    signs = Signs(spec)
    for worked in (25.0, 50.0, 75.0):
        write(spec["heartbeat_path"], date + worked)
        signs.look(worked)
        assert why_to_end(spec, worked + 29.0, signs) == ""
    assert why_to_end(spec, 101.0, signs) == ""  # as much again, for it shows life
    assert why_to_end(spec, 106.0, signs) == "no_progress"
    write(spec["result_path"], date)
    signs.look(90.0)
    assert why_to_end(spec, 99.0, signs) == ""
    assert why_to_end(spec, 100.0, signs) == "lingered"


def test_a_gap_between_two_readings_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(clocks.time, "monotonic", lambda: now)
    clock = RunningClock(5.0)
    began = clock.monotonic()
    for step, counted in ((4.0, 4.0), (3600.0, 4.0), (5.0, 9.0), (5.1, 9.0), (0.0, 9.0)):
        now += step
        assert clock.monotonic() - began == pytest.approx(counted)
    assert clock.new_gaps() == pytest.approx(3605.1)
    assert clock.new_gaps() == 0.0
