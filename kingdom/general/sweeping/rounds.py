"""When a general looks for what can go: at its start and every hour, and never by a clock that has
just been moved.

Keeps `state/{general}/sweep.json`: when the last round was, so that one who is restarted again and
again does not sweep each time, and since when things are known that do not tell it themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.clock import Clock, isoformat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

EVERY = 3600.0
FARTHEST = timedelta(days=1)  # further, and the clock was moved, or the machine stood still


class Rounds:
    def __init__(self, base: BaseDir, general: str, clock: Clock) -> None:
        self._directory = base.path("state", general)
        self._path = base.path("state", general, "sweep.json")
        self._clock = clock
        self._last: tuple[datetime, float] | None = None  # by both clocks
        self._next = 0.0
        self.clock_moved = False  # before the last round

    def is_due(self) -> bool:
        """Asked at every step. Whoever is told yes sweeps; the next round is an hour later."""
        ticks = self._clock.monotonic()
        if self._last is not None and ticks < self._next:
            return False
        now, before = self._clock.now(), self._last
        self._last, self._next = (now, ticks), ticks + EVERY
        if before is None:
            return self._is_due_at_start(now)
        passed, ticked = now - before[0], timedelta(seconds=ticks - before[1])
        return self._begun(now, moved=abs(passed - ticked) > FARTHEST)

    def _is_due_at_start(self, now: datetime) -> bool:
        """Without a former round, nobody knows whether the clock can be believed."""
        last = _moment(self._read().get("looked_at"))
        if last is None:
            self._note(now, {})
            return False
        left = EVERY - (now - last).total_seconds()
        if 0.0 < left <= EVERY:
            self._next -= EVERY - left
            return False
        return self._begun(now, moved=abs(now - last) > FARTHEST)

    def _begun(self, now: datetime, *, moved: bool) -> bool:
        self.clock_moved = moved
        self._note(now, self.seen())
        return not moved

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
