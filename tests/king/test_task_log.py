"""`logs/tasks.log`: one line for each step, whatever is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kingdom.runtime.task_log import TaskLog
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock


def lines(base: BaseDir) -> list[str]:
    return Path(base.tasks_log).read_text().splitlines()


@pytest.fixture
def log(base: BaseDir, clock: MovableClock) -> TaskLog:
    os.mkdir(base.logs)
    return TaskLog(base, "gen-pr", clock)


def test_a_line_says_when_who_what_and_the_facts(base: BaseDir, log: TaskLog) -> None:
    log.note("task-20260207-001", "started", soldier="soldier-1-2", retry=1, nothing=None)
    assert lines(base) == [
        "[2026-02-07T10:00:00.000Z] [gen-pr] task-20260207-001 started soldier=soldier-1-2 retry=1"
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two words", '"two words"'),
        ("a\nb [king] x", r'"a\nb [king] x"'),
        ("\x1b[31m", r'"\u001b[31m"'),
        ("key=value", '"key=value"'),
        ('say "a"', r'"say \"a\""'),
        ("", '""'),
        ("완료", "완료"),
        ("\ud800", r'"\ud800"'),
    ],
)
def test_nothing_in_a_fact_can_pass_for_another(
    base: BaseDir, log: TaskLog, value: str, shown: str
) -> None:
    log.note("task-20260207-001", "failed", error=value)
    (line,) = lines(base)
    assert line.endswith(f" failed error={shown}")


def test_a_log_that_cannot_be_written_stops_nobody(base: BaseDir, clock: MovableClock) -> None:
    TaskLog(base, "king", clock).note("task-20260207-001", "created")
