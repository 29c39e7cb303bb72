"""Looking at messages without taking them: one by its id, or all that have not ended.

Reads the files themselves, so it costs a reader nothing between two looks and needs no index. What
cannot be read is left out: whoever consumes the stream will judge it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kingdom.bus.files.intake import Intake
from kingdom.bus.files.places import HANDLED, SUFFIX, Places
from kingdom.bus.files.view import active_states, is_message_name
from kingdom.errors import InvalidFile
from kingdom.models.base import Record
from kingdom.store import disk
from kingdom.topology import PENDING, STREAMS

_TRIES = 3  # it may move on while we look


class Looking:
    def __init__(self, places: Places, intake: Intake, general: str | None) -> None:
        self._places = places
        self._intake = intake
        self._general = general

    def look(self, stream: str, id_: str) -> tuple[str, Record] | None:
        for _ in range(_TRIES):
            for state in self._places.lying_in(stream, id_):
                record = self._read(stream, state, f"{id_}{SUFFIX}")
                if record is not None:
                    return state_of(stream, state, record), record
        return None

    def waiting(self, stream: str) -> list[Record]:
        """A general sees its own tasks only."""
        found = {record.id: record for record in self._unended(stream)}
        wanted = (None, self._general) if self._general else None
        return [
            record
            for record in found.values()
            if wanted is None or getattr(record, "target_general", None) in wanted
        ]

    def _unended(self, stream: str) -> Iterator[Record]:
        for state in active_states(stream):
            for name in disk.names(self._places.directory(stream, state)):
                if not is_message_name(stream, name):
                    continue
                record = self._read(stream, state, name)
                if record is not None and state_of(stream, state, record) == state:
                    yield record

    def _read(self, stream: str, state: str, name: str) -> Record | None:
        try:
            return self._intake.read(stream, state, name)[0]
        except (FileNotFoundError, InvalidFile):
            return None


def state_of(stream: str, state: str, record: Record) -> str:
    """A flat stream's files stay where they are; what was handled says so inside."""
    is_handled = STREAMS[stream].flat and record.delivery.processed_at is not None
    return HANDLED if is_handled and state == PENDING else state
