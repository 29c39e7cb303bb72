"""When a general looks for what can go: at its start and every hour, and never by a clock that is
in doubt.

Keeps `state/{general}/sweep.json`: when the last round was, so that one who is restarted again and
again does not sweep each time, and since when things are known that do not tell it themselves.
What is known of the clock is in `clock.json` beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from kingdom.clock import Clock, isoformat
from kingdom.runtime.timekeeping import Timekeeping
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

EVERY = 3600.0


class Rounds:
    def __init__(self, base: BaseDir, general: str, clock: Clock) -> None:
        self._directory = base.path("state", general)
        self._path = base.path("state", general, "sweep.json")
        self._clock = clock
        self._time = Timekeeping(base, base.path("state", general, "clock.json"), clock)
        self._has_looked = False
        self._next = 0.0
        self.clock_moved = False  # before the last round

    def is_due(self) -> bool:
        """Asked at every step. Whoever is told yes sweeps; the next round is an hour later."""
        ticks = self._clock.monotonic()
        if self._has_looked and ticks < self._next:
            return False
        now, is_first = self._clock.now(), not self._has_looked
        self._has_looked, self._next = True, ticks + EVERY
        is_believed = self._time.look()
        if is_first and (left := self._left_of_hour(now)):
            self._next = ticks + left
            return False
        self.clock_moved = self._time.leapt
        self._note(now, self.seen())
        return is_believed

    def _left_of_hour(self, now: datetime) -> float:
        """Seconds, of the one that a former life began."""
        last = _moment(self._read().get("looked_at"))
        left = 0.0 if last is None else EVERY - (now - last).total_seconds()
        return left if 0.0 < left <= EVERY else 0.0

    def seen(self) -> dict[str, float]:
        found = self._read().get("seen")
        entries = found.items() if isinstance(found, dict) else ()
        moments = {key: _moment(value) for key, value in entries}
        return {key: moment.timestamp() for key, moment in moments.items() if moment is not None}

    def remember(self, known: Iterable[str], now: datetime) -> dict[str, float]:
        """Since when each of these is known; what is no longer there is forgotten."""
        before, latest = self.seen(), now.timestamp()
        seen = {key: min(before.get(key, latest), latest) for key in known}
        if seen != before:
            self._note(now, seen)
        return seen

    def _read(self) -> dict[str, Any]:
        found = read_json(self._path, {})
        return found if isinstance(found, dict) else {}

    def _note(self, now: datetime, seen: Mapping[str, float]) -> None:
        """What cannot be noted is a round more after a restart, and a longer wait; no more."""
        spelled = {key: isoformat(datetime.fromtimestamp(at, UTC)) for key, at in seen.items()}
        with suppress(OSError):
            disk.make_directory(self._directory)
            write_json(self._path, {"looked_at": isoformat(now), "seen": spelled}, sync=False)


def _moment(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
