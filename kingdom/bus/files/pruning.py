"""Forgetting what has ended, however much there is of it: nobody waits long.

A directory is listed bit by bit, and only what is old by its time on disk is read. What goes is
removed a few files at a time under the stream's lock, if it still is the very file that was judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from kingdom.bus.files.intake import Intake, reason_path
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.neighbours import Neighbours
from kingdom.bus.files.places import SUFFIX, Places, id_in
from kingdom.errors import InvalidFile
from kingdom.models.base import Record
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX
from kingdom.topology import DEAD, PENDING, STREAMS

_AT_ONCE = 200


@dataclass(frozen=True)
class Ended:
    """A file whose message ended, or that is none: when it came to that, by the wall clock."""

    name: str
    at: float
    size: int
    stamp: disk.Stamp
    record: Record | None = None  # None for what cannot be read as one

    @property
    def id(self) -> str:
        return self.name.removesuffix(SUFFIX)


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
        old = [name for name in self.old_names(stream, state, before) if name]
        count = 0
        for start in range(0, len(old), _AT_ONCE):
            few = (
                self.ended(stream, state, name, before) for name in old[start : start + _AT_ONCE]
            )
            count += self.forget(stream, state, [one for one in few if one is not None])
        return count

    def old_names(self, stream: str, state: str, before: datetime) -> Iterator[str]:
        """By their time on disk; an empty word for each that is younger, or no message's."""
        limit = before.timestamp()
        for entry in disk.entries(self._places.directory(stream, state)):
            yield entry.name if _stands_for_something(entry.name) and _is_old(entry, limit) else ""

    def ended(self, stream: str, state: str, name: str, before: datetime) -> Ended | None:
        """What it was; None if it has not ended before then, or cannot be judged by this user."""
        path = os.path.join(self._places.directory(stream, state), name)
        facts = disk.facts_of(path)
        if facts is None:
            return None
        record, moment = None, facts.st_mtime
        try:
            record, _ = self._intake.read_path(stream, state, path)
        except FileNotFoundError:
            return None
        except InvalidFile as fault:
            if fault.code == "unreadable":
                return None
            if state == DEAD:
                moment = _condemned(path, facts)
        else:
            end = record.delivery.processed_at
            if end is None and (state == PENDING or (STREAMS[stream].flat and state != DEAD)):
                return None
            moment = end.timestamp() if end is not None else moment
        if moment >= before.timestamp():
            return None
        return Ended(name, moment, facts.st_size, disk.stamp_of(facts), record)

    def forget(self, stream: str, state: str, those: Sequence[Ended]) -> int:
        """How many of them went: one that was touched since it was judged is left alone."""
        directory = self._places.directory(stream, state)
        with self._ledger.locked({stream}):
            return sum(_remove(os.path.join(directory, one.name), one, state) for one in those)


def _stands_for_something(name: str) -> bool:
    return id_in(name) is not None and not name.endswith(SUFFIX + REASON_SUFFIX)


def _is_old(entry: os.DirEntry[str], limit: float) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_mtime < limit
    except FileNotFoundError:
        return False


def _condemned(path: str, facts: os.stat_result) -> float:
    """When it was set aside. Its own time may be much older: a rename takes it along."""
    beside = disk.facts_of(reason_path(path))
    return facts.st_ctime if beside is None else beside.st_mtime


def _remove(path: str, one: Ended, state: str) -> bool:
    facts = disk.facts_of(path)
    if facts is None or disk.stamp_of(facts) != one.stamp:
        return False
    try:
        disk.remove(path)
    except (IsADirectoryError, PermissionError):  # someone's directory, set aside
        return False
    if state == DEAD:
        disk.remove(reason_path(path))
    return True
