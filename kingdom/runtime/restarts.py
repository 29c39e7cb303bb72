"""When a role that died is started again: soon, but not so often that it burns the machine."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
GOOD_LIFE = 60.0  # seconds after which a role counts as healthy again
LOOP_CRASHES, LOOP_SECONDS = 5, 300.0


@dataclass
class Restarts:
    """One role's history. All moments are those of one monotonic clock."""

    count: int = 0  # how often it was started again
    _began: float | None = None
    _delay: float = 0.0
    _crashes: list[float] = field(default_factory=list)
    _again: bool = False

    def started(self, now: float) -> None:
        self.count += self._again
        self._again = True
        self._began = now

    def crashed(self, now: float) -> float:
        """Seconds until the next start."""
        if self._began is not None and now - self._began >= GOOD_LIFE:
            self._delay = 0.0
        self._crashes = [*self._recent(now), now]
        self._delay = min(self._delay * 2, LONGEST_DELAY) or FIRST_DELAY
        return self._delay

    def forgive(self) -> None:
        """A person wants it tried at once."""
        self._delay = 0.0

    def recent(self, now: float) -> int:
        return len(self._recent(now))

    def is_looping(self, now: float) -> bool:
        return self.recent(now) >= LOOP_CRASHES

    def _recent(self, now: float) -> list[float]:
        return [moment for moment in self._crashes if now - moment < LOOP_SECONDS]
