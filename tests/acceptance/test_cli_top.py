"""`kingdom top` in a real terminal, and where there is none."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.cli.top_page import page
from kingdom.clock import SystemClock, isoformat
from kingdom.ops.init import init
from kingdom.ops.status import status
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom, one_sentence
from tests.support.noon import where_it_is_noon
from tests.support.pane import Pane, pane
from tests.support.waiting import PATIENCE

HOSTILE = "Bash: \x1b[2J\x1b]0;owned\x07evil\n\u202etxt"
KOREAN = "Edit: 소스/한글이름.py (turn 5)"


def soldiers(base: BaseDir, *entries: dict[str, Any]) -> None:
    since = isoformat(SystemClock().now() - timedelta(minutes=7, seconds=30))
    common = {"general": "gen-pr", "attempt": 1, "state": "running", "started_at": since}
    listed = [
        {"id": f"soldier-1-{n}", "task_id": f"task-20260207-{n:03d}", **common, **entry}
        for n, entry in enumerate(entries, 1)
    ]
    part = Path(base.root, "part")
    part.write_text(json.dumps(listed), "utf-8")
    part.rename(base.sessions_file)


@pytest.fixture
def realm(base: BaseDir) -> Iterator[BaseDir]:
    """Its king and one general seem to run."""
    init(base)
    seats = [Seat(base, name) for name in ("king", "gen-pr")]
    locks = [seat.take() for seat in seats]
    for seat in seats:
        seat.beat()
    soldiers(base, {"doing": KOREAN})
    yield base
    for lock in locks:
        lock.close()


@pytest.fixture
def terminal(scratch: Path) -> Iterator[Pane]:
    with pane(scratch) as made:
        yield made


def top(terminal: Pane, base: BaseDir, *words: str, size: tuple[int, int] = (100, 24)) -> None:
    argv = [sys.executable, "-m", "kingdom", "--base-dir", base.root, "top", *words]
    terminal.open(argv, environment(), *size)


def pid_of_top(terminal: Pane) -> int:
    (pid,) = Path(f"/proc/{terminal.told('pane_pid')}/task").glob("*/children")
    return int(pid.read_text().split()[0])


def test_it_shows_all_at_a_glance_and_what_changes(terminal: Pane, realm: BaseDir) -> None:
    top(terminal, realm, "--every", "0.1")
    shown = terminal.until("한글이름.py (turn 5)", "q leaves")
    assert "task-20260207-001  gen-pr   7m   Edit: 소스/한글이름.py (turn 5)" in shown
    assert "queues     empty" in shown
    assert "king    up" in shown
    assert "STATE" not in shown.partition("ROLE")[0], "a column that says nothing is left out"
    soldiers(realm, {"doing": "Bash: make"}, {"attempt": 2, "spent_usd": 0.256, "state": "frozen"})
    terminal.until("Bash: make", "gen-pr   7m   frozen  2        $0.26")
    soldiers(realm, {"attempt": 2, "spent_usd": 0.256, "spent_is_guess": True, "state": "frozen"})
    terminal.until("gen-pr   7m   frozen  2        ~$0.26")
    kingdom("send", "test.nobody", base=realm)
    terminal.until("1 event pending")


def test_its_clock_is_the_kingdoms(terminal: Pane, realm: BaseDir) -> None:
    zone = where_it_is_noon()
    Path(realm.path("config", "local", "system.yaml")).write_text(f"timezone: {zone}\n")
    argv = [sys.executable, "-m", "kingdom", "--base-dir", realm.root, "top"]
    behind = (SystemClock().now().hour + 5) % 24  # there it is seven in the evening
    terminal.open(argv, environment(TZ=f"AWAY{behind}"), 100, 24)
    hour = re.search(r"q leaves +(\d\d):\d\d:\d\d", terminal.until("q leaves"))
    assert hour is not None
    assert hour[1] in ("12", "13")


@pytest.mark.parametrize("key", ["q", "C-c"])
def test_a_key_leaves_and_the_terminal_is_as_before(
    terminal: Pane, realm: BaseDir, key: str
) -> None:
    top(terminal, realm, "--every", "3600")
    terminal.until("q leaves")
    terminal.type("x")
    terminal.type(key)
    terminal.until("left 0")
    assert terminal.is_restored()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_the_same_way(
    terminal: Pane, realm: BaseDir, number: int, code: int
) -> None:
    top(terminal, realm, "--every", "3600")
    terminal.until("q leaves")
    os.kill(pid_of_top(terminal), number)
    terminal.until(f"left {code}")
    assert terminal.is_restored()


def test_a_file_in_the_place_of_a_directory_disturbs_nothing(
    terminal: Pane, realm: BaseDir
) -> None:
    top(terminal, realm, "--every", "0.1")
    terminal.until("q leaves")
    Path(realm.control).write_text("no directory", "utf-8")
    terminal.until("q leaves")
    terminal.type("q")
    terminal.until("left 0")
    assert "Traceback" not in terminal.shown()
    assert terminal.is_restored()


def test_it_follows_the_size_of_the_window_at_once(terminal: Pane, realm: BaseDir) -> None:
    argv = [sys.executable, "-m", "kingdom", "--base-dir", realm.root, "top", "--every", "3600"]
    terminal.open(argv, environment(COLUMNS="80", LINES="24"), 100, 24)
    terminal.until("(turn 5)")
    terminal.resize(46, 9)
    terminal.until_gone("(turn 5)")
    small = terminal.until("lines more", "q leaves").splitlines()
    assert all(len(line) <= 46 for line in small)
    assert small[4].startswith("TASK")
    assert "소" in small[5]
    assert small[5].endswith("…"), "Korean is cut where it ends, not where it would be in letters"
    assert small[-1].startswith("q leaves")
    terminal.resize(120, 30)
    terminal.until("(turn 5)", "questions  none open")
    assert "lines more" not in terminal.shown()
    for columns, rows in ((1, 1), (2, 3), (500, 100)):
        terminal.resize(columns, rows)
    terminal.until("king    up")


def test_what_a_soldier_names_does_not_steer_the_terminal(terminal: Pane, realm: BaseDir) -> None:
    title = "pane_title"
    soldiers(realm, {"doing": HOSTILE, "task_id": "task\x1b[31m"}, {"doing": "한" * 300})
    top(terminal, realm, "--every", "0.1")
    shown = terminal.until("Bash: ", "q leaves")
    assert "\\u001b[2J\\u001b]0;owned\\u0007evil\\u000a\\u202etxt" in shown
    assert "owned" not in terminal.told(title)
    assert shown.splitlines()[6].endswith("한…")
    assert "ROLE" in shown


def test_who_closed_the_window_is_not_waited_for(realm: BaseDir) -> None:
    """Nor drawn for without a pause: no signal comes where it is not the controlling terminal."""
    ours, its = os.openpty()
    argv = [sys.executable, "-m", "kingdom", "--base-dir", realm.root, "top", "--every", "3600"]
    env = environment(TERM="xterm")
    process = subprocess.Popen(argv, stdin=its, stdout=its, env=env, start_new_session=True)
    os.close(its)
    try:
        shown = b""
        while b"q leaves" not in shown:
            shown += os.read(ours, 4096)
        os.close(ours)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def test_a_terminal_without_korean_gets_it_spelled(terminal: Pane, realm: BaseDir) -> None:
    argv = [sys.executable, "-m", "kingdom", "--base-dir", realm.root, "top"]
    terminal.open(argv, environment(LC_ALL="POSIX", PYTHONCOERCECLOCALE="0"), 120, 24)
    terminal.until("\\uc18c\\uc2a4")


# Without a terminal


def test_without_a_terminal_it_prints_one_round(realm: BaseDir) -> None:
    said = kingdom("top", base=realm)
    assert (said.code, said.err) == (0, "")
    assert KOREAN in said.out
    assert "\x1b" not in said.out


def test_once_prints_one_round_in_a_terminal_too(terminal: Pane, realm: BaseDir) -> None:
    top(terminal, realm, "--once")
    shown = terminal.until("left 0")
    assert KOREAN in shown


@pytest.mark.parametrize("dumb", ["dumb", "no-such-terminal"])
def test_a_terminal_that_cannot_be_drawn_on_gets_one_round(
    terminal: Pane, realm: BaseDir, dumb: str
) -> None:
    argv = ["env", f"TERM={dumb}", sys.executable, "-m", "kingdom"]
    terminal.open([*argv, "--base-dir", realm.root, "top"], environment(), 100, 40)
    assert KOREAN in terminal.until("left 0")


@pytest.mark.parametrize("every", ["0", "-1", "nan", "inf", "4000"])
def test_a_pause_that_makes_no_sense_is_refused(realm: BaseDir, every: str) -> None:
    assert "--every" in one_sentence(kingdom("top", f"--every={every}", base=realm), 2)


# What fits


def test_many_soldiers_leave_room_for_the_rest(realm: BaseDir) -> None:
    soldiers(realm, *({"doing": f"number {n}"} for n in range(60)))
    lines = [line.text for line in page(status(realm, environment()), 100, 30)]
    assert len(lines) == 30
    assert sum("number" in line for line in lines) == 60 - int(
        next(line for line in lines if "soldiers more" in line).split()[1]
    )
    assert any(line.startswith("king ") for line in lines)


@pytest.mark.parametrize("rows", range(1, 25))
def test_any_size_holds(realm: BaseDir, rows: int) -> None:
    soldiers(realm, *({"doing": HOSTILE} for _ in range(10)))
    found = status(realm, environment())
    for columns in (1, 2, 10, 80):
        lines = page(found, columns, rows)
        assert len(lines) <= rows
        assert all(len(line.text) <= columns and line.text.isprintable() for line in lines)
