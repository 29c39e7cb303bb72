"""The only place that asks what time it is.

Code that decides by time takes a `Clock`, so that a test can move it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    def now(self) -> datetime:
        """The wall clock in UTC, to the millisecond that files carry."""
        return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def isoformat(moment: datetime) -> str:
    """How every file and log spells a moment: UTC, milliseconds, `Z`."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
