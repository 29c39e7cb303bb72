"""Starting the suite for good: in the background, and back only when it is known how it went."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kingdom import limits
from kingdom.clock import SystemClock
from kingdom.errors import ConfigurationError, KingdomError, TryLater
from kingdom.ops.suite import Suite
from kingdom.ownership import user_name
from kingdom.runtime.children import Notice
from kingdom.runtime.detaching import Launch, detached
from kingdom.runtime.own_output import path_of
from kingdom.runtime.processes import WARDEN, AlreadyRuns, Seat, until
from kingdom.runtime.warden import Warden
from kingdom.settings.system import SystemSettings
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.rights import set_rights
from kingdom.store.room import shortage, unfit

PATIENCE = 60.0  # seconds for all roles to come up
_LOOK_SECONDS = 1.0  # between two looks whether there is room
MEASURER = "chamberlain"
MOMENT = 0.3  # seconds that a warden which was just killed may take to be gone


@dataclass
class Started:
    """How the first start of every role went."""

    pid: int
    up: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)  # neither up nor dead in time
    unmeasured: bool = False  # nobody measures the machine


def prepare_limits() -> None:
    """Raises what this process may raise by itself; refused is what no role could live with."""
    if (limit := limits.lowest()) is not None:
        raise limit
    limits.raise_own()


def refuse_second(base: BaseDir) -> None:
    seat = Seat(base, WARDEN)
    if not until(lambda: not seat.is_taken(), MOMENT):
        raise AlreadyRuns(WARDEN, seat.holder(), base)


def close_to_others(base: BaseDir, system: SystemSettings) -> None:
    """Also what an earlier version left open. The inbox is opened to the group that the settings
    name."""
    group = system.group_id
    if group is not None and os.geteuid() != 0 and group not in (os.getegid(), *os.getgroups()):
        me = user_name(os.geteuid())
        raise ConfigurationError(
            f"`group` in system.yaml is {system.group}, and {me} is not a member of it.",
            remedy=f"Type: sudo usermod -aG {system.group} {me}; then log in again.",
        )
    set_rights(base, group)


def forget_measurements(base: BaseDir, suite: Suite) -> bool:
    """Whether nobody will measure: what was measured before would only grow old and keep all work
    out, as when a chamberlain has gone silent."""
    is_wanted = any(post.name == MEASURER for post in suite.posts())
    if is_wanted or MEASURER not in suite.names() or Seat(base, MEASURER).is_taken():
        return False
    disk.remove(base.resources_file)
    return True


def refuse_unfit_disk(base: BaseDir) -> None:
    """Where no message can be moved, roles would run and do nothing."""
    for problem in unfit(base):
        raise TryLater(problem.sentence, remedy=problem.remedy, code="disk_refused")


def _refuse_full_disk(base: BaseDir, more: str = "") -> None:
    if problem := shortage(base):
        raise TryLater(f"{problem.sentence}{more}", remedy=problem.remedy, code="disk_refused")


def log_of_warden(base: BaseDir) -> str:
    return path_of(base)


def start(
    base: BaseDir,
    suite: Suite,
    environment: Mapping[str, str],
    *,
    launch: Launch = detached,
    patience: float = PATIENCE,
) -> Started:
    """In the background. Comes back when every role has shown life, or died, or kept us waiting."""
    refuse_second(base)
    prepare_limits()
    _refuse_full_disk(base)
    disk.make_directory(base.logs)
    wanted = [post.name for post in suite.posts()]
    unmeasured = forget_measurements(base, suite)
    reading, writing = os.pipe2(os.O_CLOEXEC)
    launch(lambda: _guarded(base, suite, environment, writing), log_of_warden(base))
    os.close(writing)
    try:
        started = _outcome(base, wanted, _lines(base, reading, patience))
        started.unmeasured = unmeasured
        return started
    finally:
        os.close(reading)


def run_here(base: BaseDir, suite: Suite, environment: Mapping[str, str]) -> int:
    """In the foreground, until a signal comes."""
    refuse_second(base)
    prepare_limits()
    forget_measurements(base, suite)
    os.chdir(base.root)
    return Warden(base, suite, environment).run()


def _guarded(base: BaseDir, suite: Suite, environment: Mapping[str, str], writing: int) -> int:
    """In the background process: whatever refuses to start is told to the one who waits."""
    teller = _Teller(writing, {post.name for post in suite.posts()})
    os.chdir(base.root)
    try:
        return Warden(base, suite, environment, tell=teller.tell, private=teller.open).run()
    except KingdomError as error:
        teller.say({"refused": [error.sentence, error.remedy, error.code]})
        return error.exit_code


class _Teller:
    """What the background process says to the one that waits, a line each, until all is said."""

    def __init__(self, descriptor: int, awaited: set[str]) -> None:
        self.open = [descriptor]
        self._awaited = awaited

    def tell(self, notice: Notice) -> None:
        self.say({"role": notice.name, "problem": notice.problem, "warden": os.getpid()})
        self._awaited.discard(notice.name)
        if not self._awaited:
            self._close()

    def say(self, line: dict[str, Any]) -> None:
        for descriptor in self.open:
            try:
                os.write(descriptor, json.dumps(line).encode() + b"\n")
            except BrokenPipeError:
                self._close()  # whoever started us has gone: nobody needs to know

    def _close(self) -> None:
        while self.open:
            os.close(self.open.pop())


def _lines(base: BaseDir, descriptor: int, patience: float) -> Iterator[dict[str, Any]]:
    """What it says, until it closes, takes too long, or has no room to go on."""
    clock = SystemClock()
    deadline = clock.monotonic() + patience
    rest = b""
    while (left := deadline - clock.monotonic()) > 0:
        if not select.select([descriptor], [], [], min(left, _LOOK_SECONDS))[0]:
            if shortage(base):
                return
            continue
        data = os.read(descriptor, 4096)
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from map(json.loads, whole)


def _outcome(base: BaseDir, wanted: list[str], lines: Iterator[dict[str, Any]]) -> Started:
    started = Started(pid=0)
    for line in lines:
        if "refused" in line:
            sentence, remedy, code = line["refused"]
            raise TryLater(sentence, remedy=remedy, code=code)
        started.pid = line["warden"]
        if line["problem"]:
            started.failed[line["role"]] = line["problem"]
        else:
            started.up.append(line["role"])
    started.up.sort(key=wanted.index)
    started.silent = [n for n in wanted if n not in started.up and n not in started.failed]
    if started.silent:
        _refuse_full_disk(base, f" These wait for room: {', '.join(started.silent)}.")
    if not Seat(base, WARDEN).is_taken():
        raise TryLater(
            "The warden ended before all roles were up.",
            remedy="See why with: kingdom logs warden",
            code="start_failed",
        )
    return started
