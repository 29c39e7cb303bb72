"""The processes of a kingdom, seen from outside and from inside.

Every long-running one has a seat, `state/{name}/`: `lock` is held while it lives (the kernel frees
it at death, however that came), `pid` says who holds it, and `heartbeat` is written by its loop:
the seconds of `CLOCK_MONOTONIC`, since the wall clock may be set in between.
Light on imports: `kingdom status` asks here.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import NamedTuple

from kingdom import pids
from kingdom.clock import Clock, SystemClock
from kingdom.errors import NeverWorks
from kingdom.store import disk, leftovers
from kingdom.store.locks import Lock, held_by, is_locked
from kingdom.store.paths import BaseDir

WARDEN = "warden"
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
START_NOW = signal.SIGUSR1  # tells the warden to start at once what waits for its backoff
LONGEST_REST = 10.0  # seconds between two heartbeats of a role that has nothing to do
MISSED = 3  # of these must fail to come before a role counts as hung, however short the threshold
STALE_AFTER = 120.0  # seconds without a sign of life; what the chamberlain's settings begin with
LONGEST_START = 300.0  # seconds without one before the first, as units allow: much may be to adopt
PATIENCE = 10.0  # seconds that a process asked to end has before it is killed
_LOOK_AGAIN = 0.02
_MOMENT = 0.3  # seconds in which those who only ask, or were just killed, are gone
_PR_SET_PDEATHSIG = 1


def faults_file(base: BaseDir, role: str) -> str:
    """What this role could not handle, or waits for."""
    return base.path("state", role, "faults.json")


def roles_file(base: BaseDir) -> str:
    """Where the warden says how its roles fare."""
    return base.path("state", WARDEN, "roles.json")


class AlreadyRuns(NeverWorks):
    """The seat is taken: there is one process per role and base directory."""

    code = "already_runs"

    def __init__(self, name: str, pid: int | None, base: BaseDir) -> None:
        who = f"(pid {pid}) " if pid else ""
        super().__init__(
            f"The {name} of {base.root} {who}runs already.",
            remedy="See it with: kingdom status; end it with: kingdom stop",
        )
        self.pid = pid


class Process(NamedTuple):
    """One that runs: pids come again, so its start tells it from another."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        return pids.started(self.pid) == self.start

    def send(self, *numbers: int) -> bool:
        """Whether it was there to get them."""
        return self.is_alive() and all(send_signal(self.pid, number) for number in numbers)


class Seat:
    """Where one process of this base directory is to be found."""

    def __init__(self, base: BaseDir, name: str) -> None:
        self.base = base
        self.name = name
        self._directory = base.path("state", name)
        self._lock = base.path("state", name, "lock")
        self._pid = base.path("state", name, "pid")
        self._heartbeat = base.path("state", name, "heartbeat")

    def take(self) -> Lock:
        """Ours until this process ends; AlreadyRuns if someone has it."""
        disk.make_directory(self._directory)
        lock = Lock(self._lock)
        if not until(lock.try_acquire, _MOMENT):
            lock.close()
            raise AlreadyRuns(self.name, self.holder(), self.base)
        try:
            for left_behind in (self._pid, self._heartbeat):
                disk.clear_away(left_behind)
            leftovers.clear(self.base)
            disk.replace(self._pid, b"%d\n" % os.getpid(), sync=False)
        except OSError:
            lock.close()  # or we would stand in our own way the next time
            raise
        return lock

    def leave(self) -> None:
        """An orderly end. The lock goes with the process, so that a free seat means that its
        holder is gone; after any other end, what lies here is believed only with the lock held."""
        with suppress(OSError):  # whoever sits down next removes what is left
            disk.remove(self._heartbeat)
            disk.remove(self._pid)

    def is_taken(self) -> bool:
        """Asking shares the lock for a moment, so that those who ask do not meet each other."""
        if not disk.exists(self._lock):
            return False
        try:
            return is_locked(self._lock)
        except OSError:  # it cannot be opened to try: the system knows
            return held_by(self._lock) is not None

    def holder(self) -> int | None:
        """The process that has it; None when nobody does, or it has not yet said its pid."""
        if not self.is_taken():
            return None
        try:
            text = disk.head(self._pid, 32).strip()
        except OSError:
            text = b""
        return int(text) if text.isdigit() else held_by(self._lock)

    def process(self) -> Process | None:
        """The same, told from one that has its pid later."""
        if not until(lambda: not self.is_taken() or self.holder() is not None, _MOMENT):
            return None
        pid = self.holder()
        start = None if pid is None else pids.started(pid)
        return Process(pid, start) if pid is not None and start is not None else None

    def beat(self) -> None:
        disk.write_over(self._heartbeat, b"%017.3f\n" % SystemClock().monotonic())

    def since(self) -> float | None:
        """When its holder sat down, in seconds of the wall clock."""
        return _changed(self._pid)

    def last_beat(self) -> float | None:
        """When its loop last came round; None before the first time."""
        return _changed(self._heartbeat)

    def silence(self, clock: Clock) -> float | None:
        """Seconds since then, as long as the machine was awake."""
        beat = self.last_beat()
        if beat is None:
            return None
        try:
            since = clock.monotonic() - float(disk.head(self._heartbeat, 32))
        except ValueError:  # an earlier version only touches it
            since = clock.now().timestamp() - beat
        return max(since, 0.0)


def _changed(path: str) -> float | None:
    facts = disk.facts_in_foreign(path)
    return None if facts is None else facts.st_mtime


class EndAsked:
    """Whether a signal asked this process to end, and a descriptor that wakes it up then."""

    def __init__(self, *more: signal.Signals) -> None:
        self.signal: int | None = None
        self.times = 0
        self.others: set[int] = set()
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = {number: signal.getsignal(number) for number in (*ENDING, *more)}
        self._woken_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number in ENDING:
            self.signal = self.signal or number
            self.times += 1
        else:
            self.others.add(number)

    def __bool__(self) -> bool:
        return self.signal is not None

    def fileno(self) -> int:
        return self._read

    def pause(self, seconds: float) -> None:
        """Sleep so long, or until a signal comes or has come since the last time."""
        select.select([self._read], [], [], max(seconds, 0.0))
        self.drain()

    def drain(self) -> None:
        try:
            while os.read(self._read, 4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        signal.set_wakeup_fd(self._woken_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)


def end_with_parent(parent: int) -> None:
    """Called in a new child: it is asked to end when its parent dies, or has died already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def send_signal(pid: int, number: int) -> bool:
    """Whether there was someone to get it."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def until(
    holds: Callable[[], bool],
    seconds: float,
    clock: Clock | None = None,
    every: float = _LOOK_AGAIN,
) -> bool:
    """Waits for a condition nobody notifies of; whether it came true in time."""
    clock = clock or SystemClock()
    deadline = clock.monotonic() + seconds
    while not holds():
        if clock.monotonic() >= deadline:
            return False
        select.select([], [], [], every)
    return True


def end_all(seats: Iterable[Seat], patience: float = PATIENCE) -> list[Seat]:
    """Asks every holder to end, and kills those that do not; answers who had to be killed. One that
    was suspended goes on first, to end in order."""
    found = [(seat, process) for seat in seats if (process := seat.process()) is not None]
    held = [one for one in found if one[1].send(signal.SIGTERM, signal.SIGCONT)]
    until(lambda: not any(process.is_alive() for _, process in held), patience)
    killed = [(seat, process) for seat, process in held if process.send(signal.SIGKILL)]
    until(lambda: not any(process.is_alive() for _, process in killed), patience)
    return [seat for seat, _ in killed]
