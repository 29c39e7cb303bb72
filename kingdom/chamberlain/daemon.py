"""The chamberlain's process: duties, each with a rhythm and a trouble of its own.

Reads `state/`, `queue/`, `logs/events.log` and what the machine says. Writes messages through the
bus, `state/resources.json`, `state/chamberlain/` and logs; removes what has had its time.

A crash leaves a duty cut off; the next chamberlain goes on from what that duty wrote down.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from kingdom import __version__
from kingdom.bus.port import Accept
from kingdom.chamberlain import roll
from kingdom.chamberlain.duty import Duty, MakeDuty, Office
from kingdom.chamberlain.heartbeats import is_a_service
from kingdom.errors import KingdomError, TryLater
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.role import Setting
from kingdom.store import disk

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds after a step that failed


class _Round:
    """One duty, when it is wanted next, and how patient to be with it."""

    def __init__(self, duty: Duty) -> None:
        self.duty = duty
        self.started = False
        self.due = float("-inf")
        self.pause = 0.0
        self.said = ""


class Chamberlain:
    name = "chamberlain"
    streams: tuple[str, ...] = ()

    def __init__(
        self, setting: Setting, duties: Sequence[MakeDuty], *, is_service: bool = False
    ) -> None:
        self._office = Office(setting)
        self._is_service = is_service
        self._rounds = [_Round(make(self._office)) for make in duties]
        self._problem = ""

    def start(self) -> None:
        """Each duty starts with its first step, so that one that cannot keeps nobody waiting."""
        if self._is_service and self._is_alone():
            self._tell_of_system("system.startup", version=__version__)

    def step(self) -> float:
        self._reload()
        for one in self._rounds:
            if one.due <= self._office.clock.monotonic():
                self._do(one)
        now = self._office.clock.monotonic()
        return max(min((one.due for one in self._rounds), default=now) - now, 0.0)

    def accepts(self) -> Mapping[str, Accept]:
        return {}

    def descriptors(self) -> Sequence[int]:
        return ()

    def stop(self) -> None:
        for one in self._rounds:
            one.duty.stop()
        if self._is_service and self._is_alone():
            self._tell_of_system("system.shutdown", reason=signal.SIGTERM.name)

    def _is_alone(self) -> bool:
        """As the first to start and the last to end; else it is this role only that comes or goes.
        A warden tells of both itself."""
        base, ours = self._office.base, self._office.setting.name
        others = [seat for seat in roll.seats(base) if seat.name != ours]
        return not any(seat.is_taken() for seat in (*others, Seat(base, WARDEN)))

    def _tell_of_system(self, type_: str, **data: str) -> None:
        try:
            InternalLog(self._office.base, "system", self._office.clock).emit(type_, data)
        except TryLater as error:
            self._office.log.warning("log.not_written", error=str(error), type=type_)

    def _do(self, one: _Round) -> None:
        try:
            if not one.started:
                one.duty.start()
                one.started = True
            seconds = one.duty.step()
        except (KingdomError, OSError) as error:
            self._excuse(one, str(error))
        else:
            one.due, one.pause, one.said = self._office.clock.monotonic() + seconds, 0.0, ""

    def _excuse(self, one: _Round, sentence: str) -> None:
        """Said once, until it works or fails in another way."""
        one.pause = min(one.pause * 2, LONGEST_PAUSE) or FIRST_PAUSE
        one.due = self._office.clock.monotonic() + one.pause
        if sentence != one.said:
            one.said = sentence
            self._office.log.warning("duty.failed", duty=one.duty.name, error=sentence)

    def _reload(self) -> None:
        self._office.setting.config.refresh()
        problem = str(self._office.setting.config.problem or "")
        if problem and problem != self._problem:
            self._office.log.error("config.refused", error=problem)
        self._problem = problem


def make(setting: Setting) -> Chamberlain:
    from kingdom.chamberlain.duties import DUTIES

    is_service = is_a_service(disk.head("/proc/self/cgroup", 4096))
    return Chamberlain(setting, DUTIES, is_service=is_service)
