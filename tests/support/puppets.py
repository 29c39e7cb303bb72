"""Small roles whose behaviour lies in files, for tests of what runs roles.

`orders/{name}` in the base directory says what the role does: `crash` (as it starts), `hang` (deaf
to signals), `busy` (a full disk), `few files` (it may open no more), `tell` (who may look into it),
or nothing special.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kingdom.bus.port import Accept
from kingdom.ops.starting import Started, start
from kingdom.ops.stopping import running, stop
from kingdom.ops.suite import Suite
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.role import Setting
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, undisturbed
from tests.support.kingdom import EagerClock
from tests.support.processes import is_alive as is_alive
from tests.support.waiting import eventually

TABLE = dict.fromkeys(("envoy", "king", "general"), f"{__name__}:make")
_PR_GET_DUMPABLE = 3
MANIFEST = "name: {name}\ndescription: does what it is told\nsubscribes: [test.{name}]\n"


class Puppet:
    streams: tuple[str, ...] = ()

    def __init__(self, setting: Setting) -> None:
        self.name = setting.name
        self._base = setting.base
        self._setting = setting

    def _order(self) -> str:
        try:
            return Path(self._base.path("orders", self.name)).read_text()
        except FileNotFoundError:
            return ""

    def start(self) -> None:
        order = self._order()
        if order == "crash":
            raise RuntimeError("told to crash")
        if order == "tell":
            dumpable = ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
            note(self._base, self.name, f"dumpable {dumpable}")
        if order == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def step(self) -> float:
        note(self._base, self.name, "step")
        if self._order() == "busy":
            raise OSError(errno.ENOSPC, "No space left on device")
        if self._order() == "few files":
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
            while True:
                os.dup(0)
        eventually(lambda: self._order() != "hang", f"{self.name} may go on")
        return 60.0

    def accepts(self) -> Mapping[str, Accept]:
        return {}

    def descriptors(self) -> Sequence[int]:
        return ()

    def stop(self) -> None:
        note(self._base, self.name, "stop")


def make(setting: Setting) -> Puppet:
    return Puppet(setting)


def note(base: BaseDir, name: str, what: str) -> None:
    with open(base.path("story"), "a", encoding="utf-8") as file:
        file.write(f"{name} {what}\n")


def story(base: BaseDir) -> list[str]:
    path = Path(base.path("story"))
    return path.read_text("utf-8").splitlines() if path.exists() else []


def order(base: BaseDir, name: str, what: str) -> None:
    os.makedirs(base.path("orders"), exist_ok=True)
    Path(base.path("orders", name)).write_text(what)


def found_kingdom(base: BaseDir, *generals: str) -> None:
    """A base directory with these generals and no other."""
    for place in ("config/local", "config/generals", "queue", "state", "logs"):
        os.makedirs(base.path(place), exist_ok=True)
    Path(base.path("config", "system.yaml")).write_text(
        "durability: fast\nruntime: {engine: rehearsal}\n"
    )
    for name in generals:
        add_general(base, name)


def add_general(base: BaseDir, name: str) -> None:
    """In one step, as one would drop a finished package there."""
    made = base.path(f".{name}")
    os.makedirs(made)
    Path(made, "manifest.yaml").write_text(MANIFEST.format(name=name))
    Path(made, "prompt.md").write_text("Do {{TASK_ID}}.\n")
    os.rename(made, base.path("config", "generals", name))


def suite(base: BaseDir, *only: str, table: Mapping[str, str] = TABLE) -> Suite:
    return Suite(LiveConfig(base, environment(), EagerClock()), only, table)


def start_puppets(base: BaseDir, *only: str) -> Started:
    return start(base, suite(base, *only), environment())


@contextmanager
def ended_afterwards(base: BaseDir) -> Iterator[None]:
    """Nothing is left running, whatever the test did."""
    try:
        yield
    finally:
        for name in disk_names(base.path("orders")):
            os.unlink(base.path("orders", name))
        stop(base)
        assert not running(base)


def disk_names(place: str) -> list[str]:
    return os.listdir(place) if os.path.isdir(place) else []


def pid_of(base: BaseDir, name: str = WARDEN) -> int:
    """Of the process that runs now."""
    pid = Seat(base, name).holder()
    assert pid is not None, f"{name} does not run"
    return pid


def until_up(base: BaseDir, name: str) -> None:
    eventually(lambda: Seat(base, name).last_beat() is not None, f"{name} shows life")


def looks(base: BaseDir, count: int) -> None:
    """Comes back when its warden has been round so many times more."""
    seat, seen = Seat(base, WARDEN), set[float | None]()

    def goes_on() -> bool:
        seen.add(seat.last_beat())
        return len(seen) > count + 1  # the first may be of a round that had begun already

    eventually(goes_on, f"the warden went round {count} times")


def spawn(*words: str, base: BaseDir) -> subprocess.Popen[str]:
    """The command line, left running; its output can be read."""
    undisturbed(base.root)
    return subprocess.Popen(
        [sys.executable, "-m", "kingdom", "--base-dir", base.root, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        text=True, env=environment(), cwd="/",
    )  # fmt: skip


def enough(base: BaseDir, general: str, task: str) -> None:
    """Ends the work of a rehearsal soldier that was told to work until "enough"."""
    Path(base.path("workspace", general, task, "enough")).touch()
