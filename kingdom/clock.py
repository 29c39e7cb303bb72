"""The only place that asks what time it is.

Code that decides by time takes a `Clock`, so that a test can move it. What may last is measured by
`monotonic`; the wall clock says when something was, and when people or services want it to be.
"""

from __future__ import annotations

import time
from _thread import allocate_lock
from datetime import UTC, datetime, timedelta
from typing import Protocol

SET_BACK = timedelta(minutes=1)  # a clock set back by less makes nothing written before doubtful


class Clock(Protocol):
    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    def now(self) -> datetime:
        """The wall clock in UTC, to the millisecond that files carry."""
        return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)

    def monotonic(self) -> float:
        """Seconds in which this machine was awake, wherever the wall clock was set meanwhile."""
        return time.monotonic()


class RunningClock(SystemClock):
    """The clock of a process that does something at least every `longest` seconds: its
    `monotonic` leaves out time in which the process did not run.

    A process that is stopped, and a virtual machine that is paused, cannot notice; they find two
    readings further apart than that. Such a gap counts for nothing, so nobody is judged by it.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._lock = allocate_lock()  # threads read it, too
        self._last = super().monotonic()
        self._lost = self._told = 0.0

    def monotonic(self) -> float:
        with self._lock:
            reading = super().monotonic()
            if reading - self._last > self._longest:
                self._lost += reading - self._last
            self._last = reading
            return reading - self._lost

    def new_gaps(self) -> float:
        """Seconds that were left out since this was last asked."""
        with self._lock:
            new, self._told = self._lost - self._told, self._lost
            return new


def is_ahead(written: datetime, now: datetime) -> bool:
    """Whether something was written by a clock that has been set back since."""
    return written > now + SET_BACK


def still_waits(
    until: datetime, now: datetime, longest: timedelta, written: datetime | None = None
) -> bool:
    """Whether a moment has yet to come. One that is further away than its rule ever puts it, or
    was written by a clock that was ahead, is not waited for."""
    if written is not None and is_ahead(written, now):
        return False
    return now < until <= now + longest + SET_BACK


def isoformat(moment: datetime) -> str:
    """How every file and log spells a moment: UTC, milliseconds, `Z`."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
