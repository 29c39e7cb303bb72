"""Who has shown no life for how long, by our own clock. Pure.

Heartbeats are not compared with the time of day: one counts when it differs from the one before,
and silence is what has passed since then for us. After a pause of our own (a machine that slept, a
process that was stopped) nobody is judged by it: silence begins anew for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kingdom.runtime import role
from kingdom.runtime.processes import LONGEST_START, MISSED

LONGEST_PAUSE = 10.0  # seconds between two looks


def longest_silence(threshold: float) -> float:
    """Seconds without a sign of life after which a role counts as hung."""
    return max(threshold, MISSED * role.LONGEST_WAIT)


class Sign(NamedTuple):
    """What a role shows: who it is, and when its heart last beat, if it did."""

    pid: int
    beat: float | None


@dataclass
class _Seen:
    sign: Sign
    since: float
    changed: bool = False  # while we looked on


class Pulse:
    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._looked: float | None = None

    def look(self, signs: Mapping[str, Sign], now: float, longest_pause: float) -> None:
        paused = self._looked is not None and now - self._looked > longest_pause
        self._looked = now
        before, self._seen = self._seen, {}
        for name, sign in signs.items():
            known = before.get(name)
            if known is None:
                self._seen[name] = _Seen(sign, now)
            elif known.sign != sign:
                self._seen[name] = _Seen(sign, now, changed=True)
            else:
                self._seen[name] = _Seen(sign, now if paused else known.since, known.changed)

    def silence(self, name: str) -> float:
        """Seconds; none of one that is not there."""
        seen = self._seen.get(name)
        return 0.0 if seen is None or self._looked is None else self._looked - seen.since

    def hangs(self, name: str, longest: float) -> bool:
        """Whether it was silent for longer than that; one that still starts has longer."""
        seen = self._seen.get(name)
        is_starting = seen is not None and seen.sign.beat is None
        return self.silence(name) > (max(longest, LONGEST_START) if is_starting else longest)

    def lives(self, name: str) -> bool:
        """Whether its heart has beaten while we looked on."""
        seen = self._seen.get(name)
        return seen is not None and seen.changed and seen.sign.beat is not None
