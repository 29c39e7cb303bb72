"""The chamberlain's process: duties, each with a rhythm and a trouble of its own.

Reads `state/`, `queue/`, `logs/events.log` and what the machine says. Writes messages through the
bus, `state/resources.json`, `state/chamberlain/` and logs; removes what has had its time.

A crash leaves a duty cut off; the next chamberlain goes on from what that duty wrote down. So does
a duty that broke by a defect of ours: it is made anew, and the others never notice.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kingdom import __version__
from kingdom.bus.port import Accept
from kingdom.chamberlain import roll
from kingdom.chamberlain.duty import Duty, MakeDuty, Office
from kingdom.chamberlain.heartbeats import is_a_service
from kingdom.errors import KingdomError, TryLater
from kingdom.runtime.faults import kind_of
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.role import Setting
from kingdom.store import disk

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds after a step that failed


class _Round:
    """One duty, when it is wanted next, and how patient to be with it."""

    def __init__(self, make: Callable[[], Duty]) -> None:
        self._make = make
        self.duty = make()
        self.started = False
        self.due = float("-inf")
        self.pause = 0.0
        self.said = ""
        self.broke: set[str] = set()  # in which ways, in this life
        self.well_since: float | None = None  # after it broke

    def step(self) -> float:
        if not self.started:
            self.duty.start()
            self.started = True
        return self.duty.step()

    def begin_anew(self) -> None:
        """As after a crash of the whole process: half a step may be all that it remembers."""
        self.duty, self.started, self.well_since = self._make(), False, None

    def is_well(self, now: float) -> bool:
        """One that breaks in the middle of something long does a few steps well each time."""
        if self.well_since is None:
            self.well_since = now
        return now - self.well_since >= LONGEST_PAUSE


class Chamberlain:
    name = "chamberlain"
    streams: tuple[str, ...] = ()

    def __init__(
        self, setting: Setting, duties: Sequence[MakeDuty], *, is_service: bool = False
    ) -> None:
        self._office = Office(setting)
        self._is_service = is_service
        self._rounds = [_Round(partial(make, self._office)) for make in duties]
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
            self._end(one)
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
            seconds = one.step()
        except (KingdomError, OSError) as error:
            self._excuse(one, str(error))
        except Exception as error:  # noqa: BLE001 - a defect; measuring and heartbeats go on
            self._report(one, error)
            self._end(one)
            one.begin_anew()
        else:
            now, troubles = self._office.clock.monotonic(), self._office.board.troubles
            one.due, one.said = now + seconds, ""
            if one.duty.name not in troubles or one.is_well(now):
                one.pause = 0.0
                troubles.pop(one.duty.name, None)

    def _end(self, one: _Round) -> None:
        try:
            one.duty.stop()
        except Exception as error:  # noqa: BLE001 - the others are to end in order, too
            self._report(one, error)

    def _report(self, one: _Round, error: Exception) -> None:
        """A traceback for each way in which it breaks, whatever the values were."""
        self._rest(one)
        name, kind = type(error).__name__, kind_of(error)
        self._office.board.troubles[one.duty.name] = name
        if kind not in one.broke:
            one.broke.add(kind)
            self._office.log.error("duty.broke", duty=one.duty.name, exc_info=error)

    def _rest(self, one: _Round) -> None:
        one.pause = min(one.pause * 2, LONGEST_PAUSE) or FIRST_PAUSE
        one.due = self._office.clock.monotonic() + one.pause

    def _excuse(self, one: _Round, sentence: str) -> None:
        """Said once, until it works or fails in another way."""
        self._rest(one)
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
