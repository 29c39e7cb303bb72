"""What a service manager hears of a role that it started."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from kingdom.runtime.notify import Notifier
from kingdom.store.paths import BaseDir
from tests.support.cli import environment
from tests.support.kingdom import MovableClock
from tests.support.processes import forked_role
from tests.support.puppets import found_kingdom, make, order


def listener(address: str) -> socket.socket:
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(address)
    heard.settimeout(60)
    return heard


def test_ready_then_alive_then_stopping(base: BaseDir, scratch: Path) -> None:
    found_kingdom(base)
    with listener(str(scratch / "manager")) as heard:
        surroundings = environment(NOTIFY_SOCKET=str(scratch / "manager"))
        child = forked_role(base, "king", make, surroundings)
        try:
            assert heard.recv(100) == b"READY=1"
            assert heard.recv(100) == b"WATCHDOG=1"
        finally:
            os.kill(child, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert heard.recv(100) == b"STOPPING=1"


def test_one_that_waits_for_room_shows_life_as_well(base: BaseDir, scratch: Path) -> None:
    found_kingdom(base)
    order(base, "king", "busy")
    with listener(str(scratch / "manager")) as heard:
        surroundings = environment(NOTIFY_SOCKET=str(scratch / "manager"))
        child = forked_role(base, "king", make, surroundings)
        try:
            assert [heard.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        finally:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


def test_signs_of_life_are_a_second_apart(clock: MovableClock) -> None:
    name = f"\0kingdom-test-{os.getpid()}"
    with listener(name) as heard:
        heard.settimeout(0)
        notifier = Notifier({"NOTIFY_SOCKET": f"@{name[1:]}"}, clock)
        for _ in range(3):
            notifier.alive()
        clock.advance(1)
        notifier.alive()
        assert [heard.recv(100), heard.recv(100)] == [b"WATCHDOG=1"] * 2
        try:
            heard.recv(100)
        except BlockingIOError:
            return
        raise AssertionError("there was a third")


def test_a_manager_that_is_gone_or_deaf_disturbs_nobody(clock: MovableClock, scratch: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(scratch / "nobody")}, clock).ready()
    Notifier({}, clock).ready()
    with listener(str(scratch / "deaf")):
        deaf = Notifier({"NOTIFY_SOCKET": str(scratch / "deaf")}, clock)
        for _ in range(2000):
            deaf.ready()
