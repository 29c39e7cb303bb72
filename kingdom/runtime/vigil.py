"""The warden's look at the chamberlain, who looks after all others and cannot at itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.pulse import LONGEST_PAUSE, Pulse, Sign, longest_silence
from kingdom.store.paths import BaseDir

WATCHER = "chamberlain"


@dataclass
class Vigil:
    base: BaseDir
    _pulse: Pulse = field(default_factory=Pulse)

    def silence(self, pid: int | None, threshold: float, now: float) -> float | None:
        """For how many seconds it has hung; None if it does not.

        Nobody is judged while the warden's own heart leaves no trace either: then it is the disk
        that takes no heartbeats.
        """
        longest = longest_silence(threshold)
        signs = {WARDEN: Sign(os.getpid(), Seat(self.base, WARDEN).last_beat())}
        if pid is not None:
            signs[WATCHER] = Sign(pid, Seat(self.base, WATCHER).last_beat())
        self._pulse.look(signs, now, 3 * min(LONGEST_PAUSE, longest / 4))
        is_sure = self._pulse.silence(WARDEN) < longest / 2
        hangs = is_sure and self._pulse.hangs(WATCHER, longest)
        return self._pulse.silence(WATCHER) if hangs else None
