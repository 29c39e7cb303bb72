"""How long a failed message waits: doubling from one second to five minutes, with jitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class Backoff:
    base_seconds: float = 1.0
    max_seconds: float = 300.0
    multiplier: float = 2.0
    jitter: float = 0.2

    def delay(self, attempt: int, chance: Callable[[], float]) -> timedelta:
        """After this many failed attempts; `chance` answers a number from 0 to 1."""
        exponent = min(max(attempt - 1, 0), 64)
        seconds = min(self.base_seconds * self.multiplier**exponent, self.max_seconds)
        spread = 1 + self.jitter * (2 * chance() - 1)
        return timedelta(seconds=seconds * spread)


@dataclass(frozen=True)
class Policy:
    """What one stream allows: attempts, crashes, lease, backoff."""

    max_attempts: int = 5
    max_crashes: int = 20
    lease: timedelta = timedelta(seconds=60)
    backoff: Backoff = field(default_factory=Backoff)
