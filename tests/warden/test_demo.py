"""`kingdom demo`, for real: without a terminal and with one."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest

from kingdom.clients.tmux import Tmux
from kingdom.ops.stopping import running
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import COMMAND, environment, kingdom
from tests.support.kingdom import counts

PATIENCE = 300.0  # seconds; only what hangs takes that long


def kept(scratch: Path) -> BaseDir:
    (root,) = scratch.glob("kingdom-demo-*")
    return BaseDir(root)


def assert_whole(base: BaseDir, said: str) -> None:
    """The journey was shown, came to its end, and nothing of it runs any more."""
    for part in (
        "queue/events/pending/evt-cli-",
        "queue/events/dispatched/evt-cli-",
        "queue/tasks/in_progress/task-",
        "state/soldiers/soldier-",
        "The result: needs_human",
        "queue/events/pending/evt-slack-response-",
        "The result: success",
        "(rehearsal)",
        f"cd {base.root}",
    ):
        assert part in said, said
    assert counts(base) == {
        "events/completed": 2,
        "tasks/completed": 2,
        "messages/sent": 4,
        "results": 2,
    }
    assert not running(base)
    assert not Seat(base, WARDEN).is_taken()
    assert Tmux(base, environment()).sessions() == set()


def test_without_a_terminal_it_prints_plain_lines_and_answers_itself(scratch: Path) -> None:
    said = kingdom("demo", env={"TMPDIR": str(scratch)}, command=COMMAND)
    assert said.code == 0, said
    assert said.err == ""
    assert "\x1b" not in said.out
    assert "\r" not in said.out
    assert "Nobody answers, so it is: yes" in said.out
    assert_whole(kept(scratch), said.out)


def test_on_a_terminal_the_viewer_answers(scratch: Path) -> None:
    surroundings = environment(TMPDIR=str(scratch), TERM="xterm")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, "demo"], surroundings)
    said = _played(terminal, [b"perhaps\n", b"2\n"])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    assert "'perhaps' is not among the answers" in said
    assert "Answered: no" in said
    assert any(frame in said for frame in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
    assert_whole(kept(scratch), re.sub(r"\x1b\[[0-9;]*[mK]", "", said))


def _played(terminal: int, answers: list[bytes]) -> str:
    """All that was shown, with an answer typed at each prompt."""
    said = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            said += os.read(terminal, 65536)
        except OSError:
            break
        if answers and said.rstrip(b" ").endswith(b">"):
            os.write(terminal, answers.pop(0))
    os.close(terminal)
    return said.decode()


def test_interrupted_it_leaves_nothing_running(scratch: Path) -> None:
    surroundings = environment(TMPDIR=str(scratch), TERM="xterm")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, "demo"], surroundings)
    said = b""
    while b"in a tmux session of its own" not in said:
        said += os.read(terminal, 65536)
    os.write(terminal, b"\x03")
    _played(terminal, [])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    base = kept(scratch)
    assert not running(base)
    assert Tmux(base, environment()).sessions() == set()


def test_without_tmux_it_says_what_to_install(scratch: Path) -> None:
    bare = scratch / "bin"
    bare.mkdir()
    (bare / "python").symlink_to(sys.executable)
    said = kingdom("demo", env={"TMPDIR": str(scratch), "PATH": str(bare)}, command=COMMAND)
    assert said.code == 1
    assert "tmux is not installed" in said.err
    assert said.err.count("\n") == 1
    assert list(scratch.iterdir()) == [bare]


@pytest.mark.parametrize("words", [["extra"], ["--fast"]])
def test_it_takes_no_arguments_and_makes_nothing_then(scratch: Path, words: list[str]) -> None:
    assert kingdom("demo", *words, env={"TMPDIR": str(scratch)}).code == 2
    assert list(scratch.iterdir()) == []
