"""All files that stand for one message: one, or after an accident several, and who is to stay.

What was set aside in `dead/` with a reason beside it only happens to have kept its name; it is
no copy of anything. The caller holds the stream's lock.
"""

from __future__ import annotations

from kingdom.bus.files.intake import Intake, duplicate, is_blank, reason_path
from kingdom.bus.files.places import Places
from kingdom.models.base import Record
from kingdom.store import disk
from kingdom.topology import DEAD

_CHANGED_BY_MOVING = {"status", "delivery"}


class Copies:
    def __init__(self, places: Places, intake: Intake) -> None:
        self._places = places
        self._intake = intake

    def of(self, stream: str, id_: str) -> dict[str, int]:
        """The revision by path, in the order a message passes through them; -1 if unreadable."""
        found = {}
        for state, path in self._places.paths(stream, id_).items():
            if state == DEAD and disk.exists(reason_path(path)):
                continue
            revision = self._intake.revision(stream, state, path, id_)
            if revision is not None:
                found[path] = revision
        return found

    def settle(self, stream: str, id_: str) -> list[str]:
        """Leave one of several; says what became of the others.

        The higher revision wins, of equals the one that came further. What an interrupted move
        left behind is removed; anything else was put there by someone and is kept in `dead/`.
        """
        copies = self.of(stream, id_)
        paths = list(copies)
        if len(paths) < 2:
            return []
        winner = max(paths, key=lambda path: (copies[path], paths.index(path)))
        return [self._set_aside(stream, path, winner) for path in paths if path != winner]

    def _set_aside(self, stream: str, path: str, winner: str) -> str:
        if is_blank(path) or self._is_predecessor(stream, path, winner):
            disk.remove(path)
            return f"{path} was removed: {winner} is the same message, one step further."
        target = self._intake.condemn(stream, path, duplicate(path, winner))
        return f"{path} was moved to {target}, for {winner} has its id."

    def _is_predecessor(self, stream: str, path: str, winner: str) -> bool:
        one, other = self._record(stream, path), self._record(stream, winner)
        if one is None or other is None:
            return False
        follows = one.delivery.revision == other.delivery.revision - 1
        return follows and _substance(one) == _substance(other)

    def _record(self, stream: str, path: str) -> Record | None:
        return self._intake.read_or_none(stream, self._places.state_of(stream, path), path)


def _substance(record: Record) -> dict[str, object]:
    return {k: v for k, v in record.written().items() if k not in _CHANGED_BY_MOVING}
