"""A chamberlain that hangs is ended by its warden and comes back, whatever the clocks do.

The warden's clock lies in a file, so that time goes by as the test says.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.clock import SystemClock
from kingdom.runtime.detaching import detached
from kingdom.runtime.processes import Seat
from kingdom.runtime.warden import Warden
from kingdom.store.paths import BaseDir
from tests.support.cli import environment
from tests.support.household import internal_events
from tests.support.processes import is_alive
from tests.support.puppets import (
    TABLE,
    ended_afterwards,
    found_kingdom,
    looks,
    pid_of,
    suite,
    until_up,
)
from tests.support.waiting import eventually

NAME, THRESHOLD, PATIENCE = "chamberlain", 120.0, 10.0


class WrittenClock(SystemClock):
    def __init__(self, base: BaseDir) -> None:
        self._base = base
        self._path = Path(base.path("clock"))
        self.move(0.0)

    def monotonic(self) -> float:
        return float(self._path.read_text())

    def move(self, seconds: float) -> None:
        before = self.monotonic() if self._path.exists() else 1000.0
        fresh = self._path.with_suffix(".new")
        fresh.write_text(str(before + seconds))
        fresh.rename(self._path)

    def go_on(self, seconds: float) -> None:
        """Bit by bit; the warden looks after each."""
        while seconds > 0:
            self.move(min(seconds, 10.0))
            looks(self._base, 2)
            seconds -= 10.0


@pytest.fixture
def time(base: BaseDir, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenClock]:
    """Of a warden that keeps a chamberlain and a king."""
    monkeypatch.setattr("kingdom.runtime.role.LONGEST_WAIT", 0.02)
    monkeypatch.setattr("kingdom.runtime.warden.LONGEST_PAUSE", 0.02)
    found_kingdom(base)
    clock = WrittenClock(base)
    table = {**TABLE, NAME: TABLE["king"]}
    with ended_afterwards(base):
        kept = suite(base, NAME, "king", table=table)
        warden = Warden(base, kept, environment(), clock=clock, patience=PATIENCE)
        detached(warden.run, base.path("logs", "warden.log"))
        for name in (NAME, "king"):
            until_up(base, name)
        yield clock


def hang(base: BaseDir, pid: int) -> None:
    """As a loop that never comes round; the warden has seen its last heartbeat."""
    os.kill(pid, signal.SIGSTOP)
    stat = Path(f"/proc/{pid}/stat")
    eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "it has stopped")
    looks(base, 2)


def restarted(base: BaseDir) -> list[str]:
    told = internal_events(base, "recovery.session_restarted")
    return [one["data"]["target"] for one in told]


def log_of(base: BaseDir) -> str:
    return Path(base.system_log).read_text()


def test_it_is_asked_then_killed_and_started_again_once(base: BaseDir, time: WrittenClock) -> None:
    before, king = pid_of(base, NAME), pid_of(base, "king")
    hang(base, before)
    time.go_on(THRESHOLD)
    assert "warden.role_hung" not in log_of(base)
    time.go_on(10.0)
    assert f"warden.role_hung target={NAME} pid={before}" in log_of(base)
    time.go_on(PATIENCE)
    eventually(lambda: not is_alive(before), "it is killed")
    looks(base, 2)
    time.go_on(10.0)
    eventually(lambda: Seat(base, NAME).holder() not in (None, before), "another one")
    until_up(base, NAME)
    assert restarted(base) == [NAME]
    assert pid_of(base, "king") == king
    assert log_of(base).count("warden.role_hung") == 1


def test_one_that_shows_life_and_a_machine_that_slept_are_left_alone(
    base: BaseDir, time: WrittenClock
) -> None:
    before = pid_of(base, NAME)
    for _ in range(15):
        beat = Seat(base, NAME).last_beat()
        eventually(lambda beat=beat: Seat(base, NAME).last_beat() != beat, "a heartbeat")
        time.go_on(10.0)
    hang(base, before)
    for _ in range(3):
        time.go_on(THRESHOLD - 20)
        time.move(8 * 3600)
        looks(base, 2)
    assert pid_of(base, NAME) == before
    assert "warden.role_hung" not in log_of(base)
    os.kill(before, signal.SIGCONT)


def test_no_other_role_is_the_warden_s_to_judge(base: BaseDir, time: WrittenClock) -> None:
    king = pid_of(base, "king")
    hang(base, king)
    for _ in range(15):
        beat = Seat(base, NAME).last_beat()
        eventually(lambda beat=beat: Seat(base, NAME).last_beat() != beat, "a heartbeat")
        time.go_on(10.0)
    assert pid_of(base, "king") == king
    assert "warden.role_hung" not in log_of(base)
    os.kill(king, signal.SIGCONT)
