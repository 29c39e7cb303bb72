"""How long a soldier has worked and when it last showed progress, counted by its wrapper.

Only time counts in which the wrapper ran and the soldier was not frozen: a machine that slept or
was paused costs nobody anything, wherever its wall clock stands. A file shows progress when it
differs from the look before, whatever its date. The wrapper lives as long as its soldier, so a
general that is restarted changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.clock import RunningClock
from kingdom.store import disk

LATE, STUCK, LINGERED = "deadline", "no_progress", "lingered"
FRESH_HEARTBEAT = 120.0  # seconds; or the soldier's own limit, if that is shorter
_LONGEST_TICK = 5.0  # seconds between two ticks of a wrapper that runs, however busy the machine
_TALKS_ON = 6  # times its patience, for one that has reported and goes on talking
_SIGNS = ("heartbeat_path", "stdout", "stderr", "result_path")

Spec = Mapping[str, object]


class WorkTime:
    def __init__(self) -> None:
        self.clock = RunningClock(_LONGEST_TICK)
        self.seconds = 0.0
        self._last = self.clock.monotonic()

    def tick(self, *, frozen: bool) -> None:
        now = self.clock.monotonic()
        self.seconds += 0.0 if frozen else now - self._last
        self._last = now


class Signs:
    """When each of the files that a soldier writes last changed, in seconds of its work."""

    def __init__(self, spec: Spec) -> None:
        self._paths = {name: str(spec[name]) for name in _SIGNS if spec.get(name)}
        self._seen = {name: _version(path) for name, path in self._paths.items()}
        self._changed: dict[str, float] = {}

    def look(self, worked: float) -> None:
        for name, path in self._paths.items():
            version = _version(path)
            if version != self._seen[name]:
                self._seen[name], self._changed[name] = version, worked

    def last(self, *names: str) -> float | None:
        """None if none of these has changed since the start."""
        return max((self._changed[name] for name in names if name in self._changed), default=None)

    def is_there(self, name: str) -> bool:
        return self._seen.get(name) is not None


def _version(path: str) -> tuple[int, ...] | None:
    facts = disk.facts_in_foreign(path)
    return None if facts is None else (facts.st_ino, facts.st_mtime_ns, facts.st_size)


def why_to_end(spec: Spec, worked: float, signs: Signs) -> str:
    """Nothing while it may go on."""
    if is_late(_number(spec["timeout_seconds"]), worked, signs.last("heartbeat_path")):
        return LATE
    limit = spec.get("no_progress_seconds")
    if limit is not None and worked - (signs.last(*_SIGNS) or 0.0) > _number(limit):
        return STUCK
    return LINGERED if _lingers(_number(spec["linger_seconds"]), worked, signs) else ""


def is_late(limit: float, worked: float, last_beat: float | None) -> bool:
    """A soldier that shows signs of life is given as much time again."""
    if worked <= limit or worked > 2 * limit:
        return worked > limit
    return last_beat is None or worked - last_beat > min(FRESH_HEARTBEAT, limit)


def _lingers(limit: float, worked: float, signs: Signs) -> bool:
    """One that reported some time ago, has said nothing since, and does not end; or never stops
    talking."""
    reported = signs.last("result_path")
    if reported is None or not signs.is_there("result_path") or worked - reported < limit:
        return False
    is_talking = worked - (signs.last("stdout", "stderr") or 0.0) < limit
    return not is_talking or worked - reported >= _TALKS_ON * limit


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
