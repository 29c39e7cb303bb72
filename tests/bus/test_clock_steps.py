"""A wall clock that is set, or was ahead for a moment, silences no message and takes no lease."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Problem
from kingdom.clock import isoformat
from kingdom.store.paths import BaseDir
from tests.support.kingdom import START, MovableClock, drop, load, task
from tests.support.waiting import eventually

YEAR, DAY, HOUR = timedelta(days=365), timedelta(days=1), timedelta(hours=1)
TASK = "task-20260207-001"
NOW = timedelta(0)
OpenBus = Callable[..., FileBus]

# What a file says, as times from now on, and when it is handed out: what each rule knows at most.
FILES: dict[str, tuple[dict[str, Any], timedelta]] = {
    "a retry": ({"next_retry_at": HOUR / 30}, HOUR / 30),
    "a retry after more than any backoff": ({"next_retry_at": YEAR}, timedelta(seconds=360)),
    "a retry written by a clock that was ahead": (
        {"next_retry_at": YEAR + HOUR / 30, "updated_at": YEAR},
        NOW,
    ),
    "a retry by a clock that was ahead for some minutes": (
        {"next_retry_at": HOUR / 5, "updated_at": HOUR / 6},
        NOW,
    ),
    "a deferral": ({"next_retry_at": 7 * DAY, "last_error_code": "deferred"}, 7 * DAY),
    "a deferral for longer than anybody waits": (
        {"next_retry_at": YEAR, "last_error_code": "deferred"},
        8 * DAY,
    ),
    "what a person put off": ({"not_before": YEAR}, YEAR),
    "the same, by a clock that was ahead": ({"not_before": 2 * YEAR, "updated_at": YEAR}, NOW),
    "what its general tries again": ({"not_before": HOUR, "retry_count": 1}, HOUR),
    "the same, beyond all reason": ({"not_before": YEAR, "retry_count": 1}, 8 * DAY),
    "a lease from elsewhere": (
        {"locked_by": "gen@there/1.1/1/1", "locked_until": HOUR / 60},
        HOUR / 60,
    ),
    "a lease by a clock that was ahead": (
        {"locked_by": "gen@there/1.1/1/1", "locked_until": YEAR + HOUR, "updated_at": YEAR},
        HOUR,
    ),
    "a lease without an end": ({"locked_by": "somebody", "locked_until": YEAR}, HOUR / 60),
}


def written(fields: dict[str, Any]) -> str:
    moments = {
        key: isoformat(START + one) if isinstance(one, timedelta) else one
        for key, one in fields.items()
    }
    outer = {key: moments.pop(key) for key in ("not_before", "retry_count") if key in moments}
    content = json.loads(task(1).to_json())
    content |= {**outer, "delivery": {"updated_at": isoformat(START), **moments}}
    return json.dumps(content)


@pytest.mark.parametrize("what", FILES)
def test_no_file_waits_for_longer_than_its_rule_knows(
    bus: FileBus, base: BaseDir, clock: MovableClock, what: str
) -> None:
    fields, after = FILES[what]
    drop(base, "tasks/pending", f"{TASK}.json", written(fields))
    if after:
        assert bus.claim("tasks", "gen-pr") == []
        clock.advance(after.total_seconds() - 1)
        assert bus.claim("tasks", "gen-pr") == []
        clock.advance(1.1)
    assert [one.id for one in bus.claim("tasks", "gen-pr")] == [TASK]


@pytest.mark.parametrize("ahead", [timedelta(minutes=2), HOUR, YEAR], ids=str)
@pytest.mark.parametrize("meanwhile", ["it is read", "it waits", "it gets due", "all is read anew"])
def test_a_retry_made_while_the_clock_was_ahead_is_due_when_it_is_back(
    open_bus: OpenBus, clock: MovableClock, ahead: timedelta, meanwhile: str
) -> None:
    bus = open_bus()
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    clock.set_wall(START + ahead)
    bus.retry(claim, Problem("x", "y"))
    if meanwhile == "it is read":
        bus._view.index("tasks")
    else:
        assert bus.claim("tasks", "gen-pr") == []
    if meanwhile == "it gets due":
        clock.advance(2)
        assert bus.claim("tasks", "gen-pr", accept=lambda *_: False) == []
    clock.set_wall(START)
    bus = open_bus() if meanwhile == "all is read anew" else bus
    assert [one.id for one in bus.claim("tasks", "gen-pr")] == [TASK]


@contextmanager
def held_by_another(base: BaseDir, lease: timedelta) -> Iterator[Callable[[], int]]:
    """By a process that lives; called, that one commits, and its exit code is the answer."""
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        bus = FileBus(base, clock=MovableClock(), durable=False)
        bus.publish("tasks", task(1))
        (claim,) = bus.claim("tasks", "gen-pr", lease=lease)
        os.read(go_read, 1)
        try:
            bus.extend(claim, lease)
        except BaseException:  # noqa: BLE001 - it says so by its exit code
            os._exit(1)
        os._exit(0)
    eventually(lambda: os.path.exists(base.path("queue/tasks/in_progress", f"{TASK}.json")), "held")

    def go_on() -> int:
        os.write(go_write, b".")
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    try:
        yield go_on
    finally:
        with suppress(ProcessLookupError, ChildProcessError):  # it has ended, as it should
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(go_read)
        os.close(go_write)


@pytest.mark.parametrize("ids", [None, [TASK]])
@pytest.mark.parametrize("step", [YEAR, -YEAR])
def test_a_set_clock_takes_nothing_from_who_lives(
    open_bus: OpenBus, base: BaseDir, clock: MovableClock, step: timedelta, ids: list[str] | None
) -> None:
    with held_by_another(base, timedelta(seconds=30)) as go_on:
        clock.set_wall(START + step)
        bus = open_bus()
        for _ in range(3):
            assert bus.claim("tasks", "gen-pr", ids=ids) == []
            clock.advance(9)
        assert go_on() == 0


@pytest.mark.parametrize("step", [YEAR, -YEAR])
def test_our_own_lease_ends_by_our_own_clock(
    bus: FileBus, base: BaseDir, clock: MovableClock, step: timedelta
) -> None:
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr", lease=timedelta(seconds=30))
    clock.set_wall(START + step)
    for _ in range(3):
        assert bus.claim("tasks", "gen-pr") == []
        clock.advance(9)
    claim = bus.extend(claim, timedelta(seconds=30))
    clock.advance(29)
    assert bus.claim("tasks", "gen-pr") == []
    clock.advance(2)
    assert len(bus.claim("tasks", "gen-pr")) == 1
    held = load(base, "tasks/in_progress", TASK)["delivery"]
    assert abs(datetime.fromisoformat(held["locked_until"]) - clock.now()) < timedelta(minutes=2)


def test_notifications_that_were_lost_end_no_lease(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    """All is read again then, with dates of a clock that was set since."""
    bus.publish("tasks", task(1))
    bus.claim("tasks", "gen-pr", lease=timedelta(seconds=30))
    clock.set_wall(START + YEAR)
    bus._view._overflown = True
    assert bus.claim("tasks", "gen-pr") == []
    clock.advance(31)
    bus._view._overflown = True
    assert len(bus.claim("tasks", "gen-pr")) == 1
