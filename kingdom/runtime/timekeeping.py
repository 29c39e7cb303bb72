"""Whether the wall clock can be believed, before anything is removed because of its age.

A clock that was moved by more than a day, forward or back, is in doubt until it has run for a day
without another leap, or until a person says that it is right (`kingdom clean --clock-is-right`).
Within one boot the monotonic clock tells how long nobody looked; over a boot more than a day apart
is in doubt as well, since nobody can tell.

One file for each who keeps watch: the last look by both clocks, and how much doubt is left.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from kingdom.bus.lease import boot
from kingdom.clock import Clock, isoformat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json
from kingdom.words.spans import age

DAY = timedelta(days=1)
_WRITTEN_EVERY = 600.0  # seconds; what is lost by a crash is so much of a day without a leap


@dataclass(frozen=True)
class Look:
    """When one looked, by both clocks; ticks count from a boot."""

    wall: datetime
    ticks: float
    boot: str


class Timekeeping:
    def __init__(self, base: BaseDir, path: str, clock: Clock) -> None:
        self._path = path
        self._confirmed = confirmation_path(base)
        self._clock = clock
        self._last: Look | None = None
        self._written = float("-inf")
        self.doubt = timedelta(0)  # how long it must still run to be believed
        self.leapt = False  # just before the last look
        self.moved = False  # whether it was a leap that the doubt is for

    def look(self, *, write: bool = True) -> bool:
        """Whether the clock is believed. To be asked again and again."""
        now = Look(self._clock.now(), self._clock.monotonic(), boot())
        before = self._last or self._recalled()
        self._last = now
        self.leapt = before is not None and leapt(before, now)
        if before is None or self.leapt:  # without a look before, nobody knows anything of it
            self.doubt, self.moved = DAY, self.leapt
        else:
            self.doubt = max(self.doubt - _ticked(before, now), timedelta(0))
        if self.doubt and self._is_confirmed(now.wall):
            self.doubt = timedelta(0)
        if write and (self.leapt or now.ticks - self._written >= _WRITTEN_EVERY):
            self.write()
        return not self.doubt

    def _recalled(self) -> Look | None:
        """What a former life saw last, and what it doubted."""
        kept = _read(self._path)
        left = kept.get("doubt_seconds")
        seconds = left if _is_number(left) else 0.0
        self.doubt = min(timedelta(seconds=seconds), DAY)
        self.moved = kept.get("moved") is True
        return _former(kept)

    def _is_confirmed(self, now: datetime) -> bool:
        said = _moment(_read(self._confirmed).get("at"))
        return said is not None and abs(now - said) < DAY

    def write(self) -> None:
        """What cannot be written costs a day of patience after a restart, no more."""
        if self._last is None:
            return
        self._written = self._last.ticks
        value = {
            "looked_at": isoformat(self._last.wall),
            "ticks": self._last.ticks,
            "boot": self._last.boot,
            "doubt_seconds": self.doubt.total_seconds(),
            "moved": self.moved and bool(self.doubt),
        }
        with suppress(OSError):
            disk.make_directory(os.path.dirname(self._path))
            write_json(self._path, value, sync=False)


@dataclass(frozen=True)
class Doubt:
    left: timedelta  # how long the clock must still run to be believed
    moved: bool  # else it has not been watched for a day yet

    @property
    def sentence(self) -> str:
        if self.moved:
            return "The clock was moved by more than a day, so nobody knows how old things are."
        return "The clock is trusted when the kingdom has run for a day, which it has not yet."

    @property
    def remedy(self) -> str:
        left = age(self.left.total_seconds())
        return (
            f"Let it run for {left} more, or if the clock is right: kingdom clean --clock-is-right"
        )


def clock_path(base: BaseDir) -> str:
    """Of the chamberlain, who removes things by their age."""
    return base.path("state", "chamberlain", "clock.json")


def clock_doubt(base: BaseDir, clock: Clock) -> Doubt | None:
    return doubt_at(base, clock_path(base), clock)


def doubt_at(base: BaseDir, path: str, clock: Clock) -> Doubt | None:
    """Of one who keeps watch there; none if nobody ever did."""
    keeper = Timekeeping(base, path, clock)
    if not disk.exists(path) or keeper.look(write=False):
        return None
    return Doubt(keeper.doubt, keeper.moved)


def confirmation_path(base: BaseDir) -> str:
    return base.path("state", "clock-confirmed.json")


def confirm(base: BaseDir, now: datetime) -> None:
    """A person says that the clock is right."""
    disk.make_directory(base.state)
    write_json(confirmation_path(base), {"at": isoformat(now)})


def leapt(before: Look, now: Look) -> bool:
    return abs(now.wall - before.wall - _ticked(before, now)) > DAY


def _ticked(before: Look, now: Look) -> timedelta:
    """How long it ran in between, as far as anybody knows."""
    ticks = now.ticks - before.ticks if before.boot == now.boot else 0.0
    return timedelta(seconds=max(ticks, 0.0))


def _former(kept: dict[str, Any]) -> Look | None:
    wall, ticks = _moment(kept.get("looked_at")), kept.get("ticks")
    if wall is None or not _is_number(ticks):
        return None
    return Look(wall, float(ticks), str(kept.get("boot")))


def _is_number(value: Any) -> TypeGuard[float]:
    """Of seconds, and not beyond what can be reckoned with."""
    return isinstance(value, int | float) and 0 <= value < 1e12


def _read(path: str) -> dict[str, Any]:
    try:
        found = read_json(path, {})
    except OSError:
        return {}
    return found if isinstance(found, dict) else {}


def _moment(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
