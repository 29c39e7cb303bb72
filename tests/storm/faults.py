"""Everything at once, at random, seeded: processes are killed, the disk is full, the clock jumps,
all is stopped as by a machine that sleeps, operators type, and events keep coming."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kingdom.errors import KingdomError
from kingdom.models.event import Event
from tests.storm.kingdom import Land
from tests.storm.operators import Operator
from tests.storm.reckoning import names
from tests.storm.storm import make_event, send
from tests.support.processes import children, is_alive, state_of, told
from tests.support.waiting import eventually, let_pass
from tests.support.wall_clock import WallClock

KINDS = ("plain",) * 6 + ("kind-ask", "kind-skip", "kind-fail", "kind-secret", "kind-long")
BACKLOG = 40
OPERATORS = 2
JUMPS = (1, 60, 3600, 20 * 3600, 400 * 86_400)  # seconds, ahead or back
SLEEPS = (1.0, 3.0, 12.0)
FULL_FOR = (0.5, 2.0, 5.0)
_BLOCK = 65536


@dataclass
class Scene:
    """What faults can be done to. Without a disk or a clock of its own, there are none of those."""

    land: Land
    chance: random.Random
    directory: Path
    disk: Path | None
    clock: WallClock | None
    counted: Counter[str] = field(default_factory=Counter)
    sent: list[str] = field(default_factory=list)
    made: int = 0

    def new_event(self, kinds: Sequence[str]) -> Event:
        made = make_event(self.made, self.chance, kinds)
        self.made += 1
        self.sent.append(made.id)
        return made

    @property
    def complaints(self) -> Path:
        return self.directory / "complaints.log"


class Faults:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._land, self._chance = scene.land, scene.chance
        self._operators: list[int] = []
        self._unsent: list[Event] = []
        self._room_at: float | None = None
        self._faults = {
            self._kill_role: 20,
            self._kill_soldier: 4,
            self._kill_command: 10,
            self._kill_warden: 2,
            self._kill_machine: 2,
            self._sleep: 2,
        }
        if scene.disk is not None:
            self._faults[self._fill_disk] = 3
        if scene.clock is not None:
            self._faults[self._move_clock] = 6

    def rage(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._keep_going()
            (fault,) = self._chance.choices(list(self._faults), list(self._faults.values()))
            if fault():
                self._scene.counted[fault.__name__.strip("_")] += 1
            let_pass(self._chance.uniform(0.0, 0.5))

    def end(self) -> None:
        """All is well again from here on, and everything that was to be sent is sent."""
        for pid in self._operators:
            _end(pid)
        self._make_room()
        if self._scene.clock is not None:
            self._scene.clock.shift(0)
        eventually(self._warden_runs, "the suite starts", 120)
        eventually(self._send, "all events are taken", 60)

    def _keep_going(self) -> None:
        if self._room_at is not None and time.monotonic() >= self._room_at:
            self._make_room()
        self._operators = [pid for pid in self._operators if not _has_ended(pid)]
        while len(self._operators) < OPERATORS:
            seed = self._chance.getrandbits(32)
            operator = Operator(self._land, seed, self._scene.complaints)
            self._operators.append(operator.begin())
        self._warden_runs()
        self._land.hurry()
        if len(names(self._land, "queue/events/pending")) < BACKLOG:
            for _ in range(self._chance.randrange(6)):
                self._unsent.append(self._scene.new_event(KINDS))
        self._send()

    def _warden_runs(self) -> bool:
        """On a full disk it cannot be started."""
        return self._land.pid_of("warden") is not None or self._land.try_to_start().code == 0

    def _send(self) -> bool:
        with suppress(KingdomError, OSError):
            send(self._land, self._unsent)
            self._unsent.clear()
        return not self._unsent

    # Faults: each says whether it struck

    def _kill_role(self) -> bool:
        return self._land.kill(self._chance.choice(self._land.all_roles()))

    def _kill_warden(self) -> bool:
        return self._land.kill("warden")

    def _kill_machine(self) -> bool:
        """Commands that were being typed are gone, too."""
        for pid in self._operators:
            _end(pid)
        return bool(self._land.kill_all())

    def _kill_soldier(self) -> bool:
        found = [pid for pid in self._land.processes() if b"soldier.sh" in told(pid)]
        return bool(found) and _kill(self._chance.choice(found))

    def _kill_command(self) -> bool:
        found = [child for pid in self._operators for child in children(pid)]
        return bool(found) and _kill(self._chance.choice(found))

    def _fill_disk(self) -> bool:
        if self._room_at is not None:
            return False
        self._room_at = time.monotonic() + self._chance.choice(FULL_FOR)
        descriptor = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        size = _BLOCK
        while size:
            try:
                os.write(descriptor, b"x" * size)
            except OSError:
                size //= 2
        os.close(descriptor)
        return True

    @property
    def _filler(self) -> Path:
        assert self._scene.disk is not None
        return self._scene.disk / "filler"

    def _make_room(self) -> None:
        if self._room_at is not None:
            self._filler.unlink(missing_ok=True)
            self._room_at = None

    def _move_clock(self) -> bool:
        assert self._scene.clock is not None
        sign = self._chance.choice((-1, 0, 1))
        self._scene.clock.shift(sign * self._chance.choice(JUMPS))
        return True

    def _sleep(self) -> bool:
        """Everything stands still, operators too; tmux first, or its sessions would go on."""
        commands = [child for pid in self._operators for child in (pid, *children(pid))]
        found = set(commands)
        while running := {
            pid for pid in found | set(self._land.processes()) if state_of(pid) not in "TtZ"
        }:
            found |= running
            for pid in sorted(running, key=lambda pid: b"tmux" not in told(pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
        let_pass(self._chance.choice(SLEEPS))
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        return True


def _kill(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _end(operator: int) -> None:
    """With the command that it typed."""
    typed = children(operator)
    _kill(operator)
    for pid in typed:
        _kill(pid)
    with suppress(ChildProcessError):
        os.waitpid(operator, 0)
    eventually(lambda: not any(map(is_alive, typed)), "killed commands are gone")


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
