"""Which generals are gone for so long that nobody should wait for them.

One that is being restarted adopts its soldiers, so it has the time of two missed heartbeats to come
back. Silence of our own counts for nobody: after a pause, everyone's time begins anew.
"""

from __future__ import annotations

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.heartbeats import threshold
from kingdom.runtime.processes import Seat

HEARTBEATS = 2


class Absence:
    def __init__(self, office: Office) -> None:
        self._office = office
        self._since: dict[str, float] = {}
        self._asked: set[str] = set()  # for, in this round
        self._looked: float | None = None

    def look(self, longest_pause: float) -> None:
        """Once in each round, before anyone is asked for."""
        now = self._office.clock.monotonic()
        if self._looked is not None and now - self._looked > longest_pause:
            self._since.clear()
        self._looked = now
        self._since = {what: self._since[what] for what in self._asked & self._since.keys()}
        self._asked.clear()

    def is_gone(self, general: str) -> bool:
        return self.has_lasted(general, not Seat(self._office.base, general).is_taken())

    def has_lasted(self, what: str, holds: bool) -> bool:
        """Whether that has held for the whole time, in every round."""
        self._asked.add(what)
        if not holds:
            self._since.pop(what, None)
            return False
        now = self._office.clock.monotonic()
        grace = HEARTBEATS * threshold(self._office)
        return now - self._since.setdefault(what, now) >= grace
