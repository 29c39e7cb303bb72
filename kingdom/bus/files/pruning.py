"""Forgetting what has ended: a few files at a time under the stream's lock; nobody waits long."""

from __future__ import annotations

import os
from datetime import datetime

from kingdom.bus.files.intake import Intake, reason_path
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.neighbours import Neighbours
from kingdom.bus.files.places import SUFFIX, Places, id_in
from kingdom.errors import InvalidFile
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX
from kingdom.topology import DEAD, PENDING, STREAMS

_AT_ONCE = 200


class Pruning:
    def __init__(
        self, places: Places, intake: Intake, ledger: Ledger, neighbours: Neighbours
    ) -> None:
        self._places = places
        self._intake = intake
        self._ledger = ledger
        self._neighbours = neighbours

    def prune(self, stream: str, state: str, before: datetime) -> int:
        with self._neighbours.quiet():
            pass  # nothing is pruned while a record about it is not applied and safe
        names = [
            name
            for name in disk.names(self._places.directory(stream, state))
            if id_in(name) and not name.endswith(SUFFIX + REASON_SUFFIX)
        ]
        count = 0
        for start in range(0, len(names), _AT_ONCE):
            with self._ledger.locked({stream}):
                for name in names[start : start + _AT_ONCE]:
                    if self._ended_before(stream, state, name, before):
                        self._forget(stream, state, name)
                        count += 1
        return count

    def _ended_before(self, stream: str, state: str, name: str, before: datetime) -> bool:
        path = os.path.join(self._places.directory(stream, state), name)
        facts = disk.facts_of(path)
        if facts is None or facts.st_mtime >= before.timestamp():
            return False
        try:
            record, _ = self._intake.read_path(stream, state, path)
        except InvalidFile:
            return True
        ended = record.delivery.processed_at
        if ended is None:
            return state != PENDING and not STREAMS[stream].flat
        return ended < before

    def _forget(self, stream: str, state: str, name: str) -> None:
        path = os.path.join(self._places.directory(stream, state), name)
        disk.remove(path)
        if state == DEAD:
            disk.remove(reason_path(path))
