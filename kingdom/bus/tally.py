"""What one process has handled: how many, with which result, and how long each took."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kingdom.bus.port import Claim
from kingdom.clock import Clock

# Seconds: a king takes milliseconds for an event, a soldier hours for a task.
BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0)
OTHER = "other"
_MOST_TYPES = 64  # of a stream; whoever drops files can name as many as they like


@dataclass
class Durations:
    """How many took no longer than each bound (the last one: longer), and all of them together."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Tally:
    def __init__(self, clock: Clock) -> None:
        self.processed: Counter[tuple[str, str]] = Counter()
        self.durations: dict[tuple[str, str], Durations] = {}
        self._clock = clock
        self._taken: dict[tuple[str, str], float] = {}

    def taken(self, claims: Iterable[Claim]) -> None:
        now = self._clock.monotonic()
        for claim in claims:
            self._taken[claim.stream, claim.id] = now

    def ended(self, claim: Claim, result: str) -> None:
        self.processed[claim.stream, result] += 1
        since = self._taken.pop((claim.stream, claim.id), None)
        if since is not None:
            self._of(claim).add(max(self._clock.monotonic() - since, 0.0))

    def _of(self, claim: Claim) -> Durations:
        type_ = str(getattr(claim.message, "type", None) or claim.stream)
        found = self.durations.get((claim.stream, type_))
        if found is not None:
            return found
        if sum(stream == claim.stream for stream, _ in self.durations) >= _MOST_TYPES:
            type_ = OTHER
        return self.durations.setdefault((claim.stream, type_), Durations())

    def as_json(self) -> dict[str, Any]:
        return {
            "processed": [[*key, count] for key, count in sorted(self.processed.items())],
            "durations": [
                {"stream": stream, "type": type_, "counts": [*one.counts], "seconds": one.total}
                for (stream, type_), one in sorted(self.durations.items())
            ],
        }

    def go_on_from(self, written: dict[str, Any]) -> None:
        """A former life's counts, as it wrote them: totals never fall. All of them or, with a
        KeyError, TypeError, ValueError or OverflowError, none."""
        processed = {(str(a), str(b)): int(count) for a, b, count in written["processed"]}
        durations = {
            (str(one["stream"]), str(one["type"])): Durations(
                [int(count) for count in one["counts"]], float(one["seconds"])
            )
            for one in written["durations"]
            if len(one["counts"]) == len(BOUNDS) + 1  # a version with other bounds begins anew
        }
        self.processed.update(processed)
        self.durations.update(durations)
