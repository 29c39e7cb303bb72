"""The king as a process: woken at once, killed again and again, and nothing lost or doubled."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from kingdom.clock import SystemClock
from kingdom.king.daemon import make
from kingdom.runtime.processes import Seat
from kingdom.runtime.role import run
from kingdom.store.paths import BaseDir
from tests.support.court import Court, court_in
from tests.support.kingdom import counts, event, files
from tests.support.kingdom import result as success
from tests.support.waiting import eventually

SEED = 7
EVENTS = 40


@pytest.fixture
def real(scratch: Path) -> Iterator[Court]:
    with court_in(BaseDir(scratch), SystemClock()) as made:
        yield made


class Reign:
    """One king's process."""

    def __init__(self, court: Court) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                code = run(court.base, "king", make, court.environment)
            finally:
                os._exit(code)

    def end(self, how: signal.Signals) -> int:
        os.kill(self.pid, how)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def reigning(court: Court) -> Iterator[Reign]:
    reign = Reign(court)
    ended = False
    try:
        yield reign
        ended = reign.end(signal.SIGTERM) == 0
    finally:
        if not ended:
            reign_is_over(reign)


def reign_is_over(reign: Reign) -> None:
    try:
        reign.end(signal.SIGKILL)
    except (ProcessLookupError, ChildProcessError):
        return


def tasks_of(court: Court) -> int:
    return len(files(court.base).get("tasks/pending", []))


def has_made(court: Court, wanted: int) -> bool:
    return tasks_of(court) >= wanted


def test_it_handles_what_comes_and_ends_when_asked(real: Court) -> None:
    with reigning(real):
        real.send(event("1"))
        eventually(lambda: "tasks/pending" in files(real.base), "a task")
        task_id = files(real.base)["tasks/pending"][0]
        number = int(task_id.rpartition("-")[2])
        real.report(success(number, task_id=task_id))
        eventually(lambda: real.state("events", "evt-test-1") == "completed", "the event has ended")
    assert counts(real.base)["messages/pending"] == 2


def test_killed_at_random_moments_it_dispatches_each_event_once(real: Court) -> None:
    real.soldiers(EVENTS)
    chance = random.Random(SEED)
    real.send(*(event(f"{one:02}") for one in range(EVENTS)))
    for _ in range(8):
        reign = Reign(real)
        wanted = min(tasks_of(real) + chance.randrange(6), EVENTS)
        eventually(partial(has_made, real, wanted), f"{wanted} tasks")
        assert reign.end(signal.SIGKILL) == -signal.SIGKILL
    with reigning(real) as last:
        # The one before may have finished all but the showing, which is seen to before a beat.
        eventually(lambda: Seat(real.base, "king").holder() == last.pid, "the last king has come")
        eventually(lambda: Seat(real.base, "king").last_beat() is not None, "it has been round")
        eventually(lambda: "events/pending" not in files(real.base), "no event waits")
    tasks, starts = real.all("tasks"), real.all("messages")
    assert Counter(one["event_id"] for one in tasks) == Counter(
        f"evt-test-{one:02}" for one in range(EVENTS)
    )
    assert Counter(one["task_id"] for one in starts) == Counter(one["id"] for one in tasks)
    assert not [one for one in os.listdir(real.base.path("state/bus/tmp")) if "tmp" in one]
