"""Whoever started it blocked or ignored signals, or someone suspended it: a kingdom can be ended
all the same, in bounded time, and nobody else is hit."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.cli.main import run as main
from kingdom.ops import stopping
from kingdom.runtime import processes
from kingdom.runtime.processes import Process, Seat
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child
from tests.support.cli import kingdom
from tests.support.processes import state_of
from tests.support.puppets import (
    ended_afterwards,
    found_kingdom,
    pid_of,
    start_puppets,
    story,
)
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def _kingdom_here(base: BaseDir) -> Iterator[None]:
    found_kingdom(base, "gen-a")
    with ended_afterwards(base):
        yield


def signals(pid: int, kind: str) -> set[int]:
    """Those that it has blocked, or ignores."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (mask,) = [int(line.split()[1], 16) for line in lines if line.startswith(kind)]
    return {number for number in range(1, 65) if mask & 1 << (number - 1)}


def test_what_the_one_who_started_it_blocked_and_ignored_is_heard(base: BaseDir) -> None:
    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in (*processes.ENDING, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        os.execv(sys.executable, [sys.executable, "-m", "kingdom", "--base-dir", base.root, "start",
                                  "--roles", "king,gen-a"])  # fmt: skip

    assert in_child(start) == 0
    for name in ("warden", "king", "gen-a"):
        pid = pid_of(base, name)
        assert signals(pid, "SigBlk") == set()
        assert not signals(pid, "SigIgn") & {*processes.ENDING, signal.SIGCHLD}
    assert kingdom("stop", base=base).out == "Ended: warden, gen-a, king.\n"


@pytest.mark.parametrize("names", [("king",), ("warden",), ("warden", "king", "gen-a")], ids=str)
def test_suspended_ones_go_on_and_end_in_order(base: BaseDir, names: tuple[str, ...]) -> None:
    start_puppets(base, "king", "general")
    for name in names:
        os.kill(pid := pid_of(base, name), signal.SIGSTOP)
        eventually(lambda pid=pid: state_of(pid) == "T", "it stands still")
    said = kingdom("stop", base=base)
    assert (said.out, said.err) == ("Ended: warden, gen-a, king.\n", "")
    assert story(base)[-2:] == ["gen-a stop", "king stop"]


def deaf(base: BaseDir, name: str) -> int:
    """One that sits there and takes no notice."""
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Seat(base, name).take()
            while True:
                signal.pause()
        finally:
            os._exit(70)
    eventually(lambda: Seat(base, name).holder() == child, "it sits there")
    return child


def test_deaf_ones_are_killed_and_named(
    base: BaseDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warden, and roles that it leaves behind."""
    monkeypatch.setattr(stopping, "PATIENCE_WITH_WARDEN", 0.2)
    monkeypatch.setattr(processes.end_all, "__defaults__", (0.2,))
    pids = [deaf(base, name) for name in ("warden", "king", "gen-a")]
    assert main(["--base-dir", base.root, "stop"]) == 0
    said = capsys.readouterr()
    assert said.out == "Ended: king, gen-a, warden.\n"
    assert [line.partition(" would")[0] for line in said.err.splitlines()] == [
        "kingdom: warden", "kingdom: gen-a", "kingdom: king"
    ]  # fmt: skip
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [signal.SIGKILL] * 3


def test_another_process_with_the_same_pid_is_not_hit(base: BaseDir) -> None:
    start_puppets(base, "king")
    process = Seat(base, "king").process()
    assert process is not None
    assert process.is_alive()
    assert not Process(process.pid, process.start + 1).send(signal.SIGKILL)
    assert process.is_alive()
    assert process.send(signal.SIGTERM)
