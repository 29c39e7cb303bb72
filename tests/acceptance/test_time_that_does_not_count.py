"""A whole kingdom that is stopped for longer than any limit, as by a machine that sleeps, and one
whose wall clock is set: no soldier is ended, no role restarted, no lease lost, nothing done twice.
"""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom import pids
from kingdom.engines import attempts, tree
from kingdom.ops.stopping import end_soldiers
from kingdom.runtime.processes import WARDEN
from kingdom.store.paths import BaseDir
from tests.support.cli import COMMAND, environment, kingdom
from tests.support.kingdom import files, load
from tests.support.puppets import add_general, ended_afterwards, found_kingdom, pid_of
from tests.support.soldiers import REPORT, WAIT
from tests.support.waiting import eventually, let_pass
from tests.support.wall_clock import WallClock

ROLES = (WARDEN, "chamberlain", "sentinel", "envoy", "king", "gen-a")
YEAR = 366 * 86_400


@pytest.fixture
def realm(base: BaseDir) -> Iterator[BaseDir]:
    found_kingdom(base, "gen-a")
    try:
        with ended_afterwards(base):
            yield base
    finally:
        end_soldiers(base, environment())


def furnish(base: BaseDir, limit: float, **system: Any) -> None:
    """Soldiers that wait until they are let go on, with every limit that there is."""
    act = Path(base.path("act"))
    act.write_text(
        f"#!/bin/sh\ncase $PWD in */gen-a/*) touch $KINGDOM_WORKSPACE/up\n{WAIT};; esac\n{REPORT}"
    )
    act.chmod(0o755)
    runtime = {"engine": "command", "isolation": "off", "command": {"argv": ["./act"]}}
    settings = {
        "system": {"durability": "fast", "runtime": runtime, **system},
        "king": {"polling": {"interval_seconds": 0.2}},
        "chamberlain": {
            "heartbeat": {"threshold_seconds": 5},
            "polling": {"interval_seconds": 0.3},
            "thresholds": {"yellow": 100, "orange": 100, "red": 100, "disk": 100},
        },
    }
    for name, content in settings.items():
        Path(base.path("config", "local", f"{name}.yaml")).write_text(json.dumps(content))
    manifest = Path(base.path("config", "generals", "gen-a", "manifest.yaml"))
    limits = {"timeout_seconds": limit, "limits": {"no_progress_seconds": limit}}
    retry = {"retry": {"max_attempts": 3, "backoff_seconds": 0.05}}
    manifest.write_text(manifest.read_text() + "".join(_lines(limits | retry)))


def _lines(more: dict[str, Any]) -> Iterator[str]:
    for key, value in more.items():
        yield f"{key}: {json.dumps(value)}\n"


def soldier_at_work(base: BaseDir) -> tuple[str, int]:
    """Its task, and the process that runs it."""
    kingdom("send", "test.gen-a", base=base)
    at_work = Path(base.path("workspace", "gen-a"))
    eventually(lambda: list(at_work.glob("*/up")), "a soldier is at work")
    (place,) = at_work.glob("*/up")
    task_id = place.parent.name
    soldier = Path(base.path("state", "results", f"{task_id}-soldier-id")).read_text()
    return task_id, attempts.running(base)[soldier]


def log(base: BaseDir) -> str:
    return Path(base.system_log).read_text("utf-8")


def ends_well(base: BaseDir, task_id: str, before: dict[str, int]) -> None:
    """The same processes do it in one attempt, and nobody complains."""
    Path(base.path("go")).touch()
    eventually(lambda: task_id in files(base).get("results", []), "a result")
    found = load(base, "results", task_id)
    assert (found["status"], found["metrics"]["attempts"]) == ("success", 1)
    eventually(lambda: task_id in files(base).get("tasks/completed", []), "it is completed")
    assert load(base, "tasks/completed", task_id)["delivery"]["crash_count"] == 0
    assert {name: pid_of(base, name) for name in ROLES} == before
    said = log(base)
    for complaint in (
        "role.hung",
        "role_hung",
        "role.killed",
        "task.lost",
        "lease_lost",
        "retried",
    ):
        assert complaint not in said, said


@pytest.mark.parametrize("seconds", [7, pytest.param(45, marks=pytest.mark.long)])
def test_stopped_for_longer_than_any_limit(realm: BaseDir, seconds: int) -> None:
    furnish(realm, 4, delivery={"tasks": {"lease_seconds": 20}})
    assert kingdom("start", base=realm).code == 0
    task_id, wrapper = soldier_at_work(realm)
    before = {name: pid_of(realm, name) for name in ROLES}
    soldier = next(iter(attempts.running(realm)))
    tmux = pids.parent(wrapper)  # first of all: it would let its sessions go on
    everyone = [tmux, *before.values(), wrapper, *tree.members(wrapper, soldier)]
    tree.send(everyone, signal.SIGSTOP)
    let_pass(seconds)
    tree.send(everyone, signal.SIGCONT)
    ends_well(realm, task_id, before)
    if seconds > 15:
        eventually(lambda: log(realm).count("role.slept") >= 5, "each role noticed")
        let_pass(15)  # in which who looks for hung roles looks again
        assert {name: pid_of(realm, name) for name in ROLES} == before


def slot(base: BaseDir) -> datetime:
    """The last one that the schedule was served for."""
    path = Path(base.path("state", "king", "schedule-sent.json"))
    return datetime.fromisoformat(json.loads(path.read_text())["daily"]["slot"])


def test_a_wall_clock_that_is_set(realm: BaseDir, scratch: Path) -> None:
    clock = WallClock(scratch)
    furnish(realm, 60)
    daily = {"name": "daily", "cron": "0 0 * * *", "task_type": "test.gen-b"}
    add_general(realm, "gen-b")
    manifest = Path(realm.path("config", "generals", "gen-b", "manifest.yaml"))
    manifest.write_text(f"{manifest.read_text()}schedules: {json.dumps([daily])}\n")
    assert kingdom("start", base=realm, env=clock.environment, command=COMMAND).code == 0
    task_id, _ = soldier_at_work(realm)
    before = {name: pid_of(realm, name) for name in ROLES}
    now, days = datetime.now(UTC), timedelta(days=2)
    for ahead in (YEAR, 0, -YEAR, 0):
        clock.shift(ahead)
        there = now + timedelta(seconds=ahead)
        eventually(lambda there=there: abs(slot(realm) - there) < days, f"{ahead} s ahead")
    eventually(lambda: not files(realm).get("messages/pending"), "nothing is being sent")
    tomorrow = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    clock.shift(math.ceil((tomorrow - now).total_seconds()))
    eventually(lambda: slot(realm) == tomorrow, "it is served")
    ends_well(realm, task_id, before)
