"""The envoy is killed at any moment: every message is shown exactly once, threads keep order."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from kingdom.envoy.daemon import make
from kingdom.envoy.transports.console import console_log, shows
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.cli import claim_and_die
from tests.support.envoy import (
    TASK,
    Life,
    awaiting,
    console,
    mappings,
    publish,
    question,
    shown,
    start,
)
from tests.support.kingdom import MovableClock, counts, message
from tests.support.processes import forked_role
from tests.support.waiting import eventually

OTHER = "task-20260207-002"


def fill(base: BaseDir) -> None:
    publish(
        base,
        start(1, content="taken up\nwith two lines"),
        question(2, options=["a", "b"]),
        start(3, task_id=OTHER),
        message(4, task_id=OTHER, context={"final": True}),
    )


def judge(base: BaseDir) -> None:
    assert counts(base) == {"messages/sent": 4}
    ids = shown(base)
    assert sorted(ids) == [f"msg-20260207-00{n}" for n in (1, 2, 3, 4)]
    assert ids.index("msg-20260207-001") < ids.index("msg-20260207-002")
    assert ids.index("msg-20260207-003") < ids.index("msg-20260207-004")
    assert set(mappings(base)) == set(awaiting(base)) == {TASK}
    left = [name for name in os.listdir(base.path("state/envoy")) if name.startswith(".")]
    assert left == []


def one_life(base: BaseDir) -> None:
    life = Life(base, MovableClock())
    life.go()
    life.end()


# A kill leaves to the kernel what was written, so a sync makes no difference to it.
PASSED_OVER = CHANGE_NOTHING | {"fsync", "fdatasync", "syncfs"}


def test_killed_after_every_call_that_changes_the_disk(
    scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    point, killed = 0, True
    while killed:
        point += 1
        base = BaseDir(scratch / str(point))
        fill(base)
        killed = is_killed_at(base, point)
        one_life(base)
        judge(base)
        shutil.rmtree(base.root)
    assert point > 50
    assert "Error" not in capfd.readouterr().err


def is_killed_at(base: BaseDir, point: int) -> bool:
    """Whether there are so many calls."""

    def work() -> None:
        life = Life(base, MovableClock())
        with observed(Killer(point, after=True, passing_over=PASSED_OVER)):
            life.go()
            life.end()

    code = in_child(work)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_a_block_that_was_cut_is_shown_again_whole(base: BaseDir) -> None:
    """The disk filled, or the process died in the middle of a line."""
    publish(base, start(1, content="one\n\ntwo"))
    one_life(base)
    block = console(base)
    Path(base.path("queue/messages/sent/msg-20260207-001.json")).rename(
        base.path("queue/messages/pending/msg-20260207-001.json")
    )
    claim_and_die(base, "messages", "envoy", "msg-20260207-001")
    original = {name: Path(base.path(name)).read_bytes() for name in all_files(base)}
    for length in range(len(block.encode()) + 1):
        for name in all_files(base):
            Path(base.path(name)).unlink()
        for name, content in original.items():
            path = Path(base.path(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        Path(console_log(base)).write_bytes(block.encode()[:length])
        assert shows(console_log(base), "msg-20260207-001") == (length == len(block.encode()))
        if length % 7 == 0 or length > len(block) - 4:
            assert in_child(lambda: one_life(base)) == 0
            assert console(base).endswith(block)
            assert counts(base) == {"messages/sent": 1}
            whole = console(base).count(block)
            assert whole == 1


def all_files(base: BaseDir) -> list[str]:
    found = []
    for directory, _, names in os.walk(base.root):
        relative = os.path.relpath(directory, base.root)
        found += [os.path.join(relative, name) for name in names]
    return found


def test_a_long_log_is_searched_to_its_beginning(base: BaseDir) -> None:
    """Pieces are read from the end on, and a head or a block may lie across two of them."""
    path = Path(console_log(base))
    path.parent.mkdir()
    blocks = [block(number, b"x" * (number * 200_003)) for number in range(1, 8)]
    path.write_bytes(b"".join(blocks))
    assert all(shows(str(path), f"msg-20260207-00{number}") for number in range(1, 8))
    assert not shows(str(path), "msg-20260207-008")
    assert not shows(str(path), "msg-20260207-00")
    piece = 1 << 20
    for shift in range(-90, 90, 9):
        behind = block(2, b"x" * (piece - len(block(2, b"")) - len(block(1, b"")) + shift))
        path.write_bytes(block(3, b"y") + block(1, b"") + behind)
        assert shows(str(path), "msg-20260207-001"), shift
        assert shows(str(path), "msg-20260207-002"), shift


def block(number: int, text: bytes) -> bytes:
    return b"2026-02-07 10:00:00  console  thread  msg-20260207-%03d\n  %s\n\n" % (number, text)


def test_a_log_that_was_rotated_meanwhile_still_proves_it(base: BaseDir) -> None:
    publish(base, start(1))
    one_life(base)
    Path(base.path("queue/messages/sent/msg-20260207-001.json")).rename(
        base.path("queue/messages/pending/msg-20260207-001.json")
    )
    claim_and_die(base, "messages", "envoy", "msg-20260207-001")
    Path(console_log(base)).rename(console_log(base) + ".old")
    assert in_child(lambda: one_life(base)) == 0
    assert (console(base), counts(base)) == ("", {"messages/sent": 1})


def test_killed_again_and_again_under_load(base: BaseDir) -> None:
    """The real process, 300 messages in 30 threads, killed after so many as a seed chooses."""
    chance = random.Random(7)
    for batch in range(10):
        numbers = range(batch * 30, batch * 30 + 30)
        publish(base, *(message(n, task_id=f"task-20260207-{n % 30:03d}") for n in numbers))
        child = forked_role(base, "envoy", make, {})
        enough = batch * 30 + chance.randrange(30)
        eventually(lambda enough=enough: len(shown(base)) >= enough, f"{enough} are shown")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    child = forked_role(base, "envoy", make, {})
    seat = Seat(base, "envoy")
    eventually(lambda: counts(base) == {"messages/sent": 300}, "all are sent")
    eventually(lambda: seat.holder() == child and seat.last_beat() is not None, "it is up")
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ids = shown(base)
    assert len(ids) == len(set(ids)) == 300
    for thread in range(30):
        numbers_shown = [int(id_[-3:]) for id_ in ids if int(id_[-3:]) % 30 == thread]
        assert numbers_shown == sorted(numbers_shown), thread
