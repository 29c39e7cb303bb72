"""The loop that every role runs in, in a process of its own."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.runtime.processes import AlreadyRuns, EndAsked, Seat
from kingdom.runtime.role import run
from kingdom.store.paths import BaseDir
from tests.support.calls import observed
from tests.support.cli import environment
from tests.support.processes import forked_role, is_alive
from tests.support.puppets import (
    found_kingdom,
    make,
    order,
    pid_of,
    story,
    until_up,
)
from tests.support.waiting import eventually

Start = Callable[[], int]


@pytest.fixture
def started(base: BaseDir) -> Iterator[Start]:
    """Starts the king in a child; it is gone afterwards."""
    found_kingdom(base)
    children: list[int] = []

    def start() -> int:
        children.append(forked_role(base, "king", make, environment()))
        return children[-1]

    yield start
    for child in children:
        if is_alive(child):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def until_told(base: BaseDir, words: str) -> None:
    log = Path(base.system_log)
    eventually(lambda: log.exists() and words in log.read_text(), f"{words} in the log")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_order(base: BaseDir, started: Start, number: int) -> None:
    child = started()
    until_up(base, "king")
    assert pid_of(base, "king") == child
    os.kill(child, number)
    assert code_of(child) == 0
    assert story(base)[-1] == "king stop"
    assert sorted(os.listdir(base.path("state", "king"))) == ["lock"]


def test_a_second_one_is_refused_with_the_first_one_s_pid(base: BaseDir, started: Start) -> None:
    child = started()
    until_up(base, "king")
    with pytest.raises(AlreadyRuns, match=f"pid {child}"):
        run(base, "king", make, environment())
    assert pid_of(base, "king") == child


def test_other_processes_of_its_user_cannot_look_into_it(base: BaseDir, started: Start) -> None:
    order(base, "king", "tell")
    started()
    until_up(base, "king")
    assert "king dumpable 0" in story(base)


def test_a_killed_one_frees_its_seat(base: BaseDir, started: Start) -> None:
    child = started()
    until_up(base, "king")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert Seat(base, "king").holder() is None
    again = started()
    eventually(lambda: Seat(base, "king").holder() == again, "the next one has the seat")
    until_up(base, "king")


def test_a_bug_ends_it_with_a_traceback_in_the_log(base: BaseDir, started: Start) -> None:
    order(base, "king", "crash")
    assert code_of(started()) == 1
    text = Path(base.system_log).read_text()
    assert "error: role.crashed" in text
    assert "RuntimeError: told to crash" in text


def test_what_may_work_another_time_is_tried_again_with_pauses(
    base: BaseDir, started: Start
) -> None:
    order(base, "king", "busy")
    child = started()
    log = Path(base.system_log)
    until_told(base, "seconds=2.0")
    assert "seconds=1.0" in log.read_text()
    assert "No space left on device" in log.read_text()
    os.kill(child, signal.SIGTERM)
    assert code_of(child) == 0


@pytest.mark.parametrize("place", ["state/king", "queue"])
def test_a_disk_that_is_full_as_it_starts_is_waited_for(
    base: BaseDir, started: Start, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr("kingdom.runtime.role.FIRST_PAUSE", 0.1)
    full = Path(base.path("full"))
    full.touch()

    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        makes = name == "mkdir" or (name == "open" and arguments[1] & os.O_CREAT)
        if makes and arguments[0].startswith(base.path(place)) and full.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), arguments[0])
        return call()

    with observed(refuse):
        child = started()
    until_told(base, "role.paused")
    full.unlink()
    until_told(base, "role.started")
    assert pid_of(base, "king") == child
    os.kill(child, signal.SIGTERM)
    assert code_of(child) == 0


def test_a_disk_that_fills_up_while_it_takes_its_seat_leaves_the_seat_free(base: BaseDir) -> None:
    seat = Seat(base, "king")

    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call()

    with observed(refuse), pytest.raises(OSError, match="No space left"):
        seat.take()
    assert not seat.is_taken()
    seat.take().close()


def test_one_asked_to_end_while_it_waits_for_a_seat_ends_in_order(
    base: BaseDir, started: Start
) -> None:
    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "open" and str(arguments[0]).endswith("king/lock"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return call()

    with observed(refuse):
        child = started()
    until_told(base, "role.paused")
    os.kill(child, signal.SIGTERM)
    assert code_of(child) == 0


@pytest.mark.parametrize("successor", [False, True])
def test_one_whose_lock_is_gone_ends_and_leaves_the_place_to_the_next(
    base: BaseDir, started: Start, monkeypatch: pytest.MonkeyPatch, successor: bool
) -> None:
    monkeypatch.setattr("kingdom.runtime.role.LONGEST_WAIT", 0.2)
    child = started()
    until_up(base, "king")
    for name in os.listdir(base.path("state", "king")):
        os.unlink(base.path("state", "king", name))
    if successor:
        Seat(base, "king").take()
    assert code_of(child) == 1
    assert "error: role.displaced" in Path(base.system_log).read_text()
    assert Seat(base, "king").holder() == (os.getpid() if successor else None)


def test_a_wrong_configuration_is_one_line_and_exit_code_2(base: BaseDir, started: Start) -> None:
    Path(base.path("config", "king.yaml")).write_text("nonsense: 1\n")
    assert code_of(started()) == 2
    assert "nonsense" in Path(base.system_log).read_text()
    assert "Traceback" not in Path(base.system_log).read_text()


def test_signals_are_as_before_when_it_ended() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    asked = EndAsked(signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)
    asked.pause(5)
    assert asked.others == {signal.SIGUSR1}
    assert not asked
    asked.close()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_asking_who_has_a_seat_never_keeps_anyone_from_it(base: BaseDir) -> None:
    seat = Seat(base, "king")
    seat.take().close()
    asking = os.fork()
    if asking == 0:
        while True:
            seat.is_taken()
    try:
        for _ in range(200):
            assert not seat.is_taken()
            seat.take().close()
    finally:
        os.kill(asking, signal.SIGKILL)
        os.waitpid(asking, 0)
