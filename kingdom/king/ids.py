"""Ids at hand. Each one given is safe on disk first, and an event should not wait for that sync.

So a few are taken ahead: one for a king that has little to do, more as it is busier. Those that are
left when it ends are never given; numbers may have gaps, and are never used twice.
"""

from __future__ import annotations

from kingdom.bus.files.bus import FileBus
from kingdom.models.ids import MESSAGE_ID, TASK_ID

KINDS = {"task": TASK_ID, "msg": MESSAGE_ID}
_MOST_AHEAD = 16


class Ids:
    def __init__(self, bus: FileBus) -> None:
        self._bus = bus
        self._ahead: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self._size = dict.fromkeys(KINDS, 1)

    def take(self, kind: str, count: int, today: str) -> list[str]:
        """So many; `today` as ids spell it: one that was taken yesterday is not for today."""
        ahead = [id_ for id_ in self._ahead[kind] if _date_of(kind, id_) >= today]
        if len(ahead) < count:
            ahead += self._bus.next_ids(kind, count - len(ahead))
        self._ahead[kind] = ahead[count:]
        return ahead[:count]

    def refill(self) -> None:
        """For the end of a step, when nobody waits."""
        for kind, ahead in self._ahead.items():
            if not ahead:
                ahead += self._bus.next_ids(kind, self._size[kind])
                self._size[kind] = min(self._size[kind] * 2, _MOST_AHEAD)


def _date_of(kind: str, id_: str) -> str:
    match = KINDS[kind].fullmatch(id_)
    return match["date"] if match else ""
