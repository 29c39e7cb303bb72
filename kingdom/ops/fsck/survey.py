"""Everything that lies in the streams' directories, read once and kept small."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import LARGEST
from kingdom.bus.files.places import id_in
from kingdom.clock import SystemClock
from kingdom.errors import InvalidFile
from kingdom.models.reading import decode
from kingdom.ops.listing import Place, is_message, is_set_aside, places
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import PENDING, STREAMS

OPEN = (PENDING, "in_progress")


@dataclass(frozen=True, slots=True)
class Seen:
    """One message file. Without a fault its name, its fields and the id inside are all right."""

    place: Place
    name: str
    path: str
    fault: InvalidFile | None = None
    status: str = ""
    locked_by: str = ""
    times: dict[str, Any] | None = field(default=None, compare=False)  # of one that has not ended
    event_id: str = ""  # of a task

    @property
    def id(self) -> str | None:
        return id_in(self.name)

    @property
    def is_message(self) -> bool:
        """Not what was set aside in `dead/`, of which nothing is expected."""
        return self.fault is None and not is_set_aside(self.place.state, self.path)


class Survey:
    def __init__(self, base: BaseDir) -> None:
        self.base = base
        self.caretaker = Caretaker(base)

    @cached_property
    def places(self) -> list[Place]:
        return places(self.base)

    @cached_property
    def names(self) -> dict[Place, list[str]]:
        """Every name in every directory; one that cannot be listed has none here."""
        return {place: _names(place.directory) for place in self.places}

    @cached_property
    def messages(self) -> list[Seen]:
        return [seen for place in self.places for seen in self._read_all(place)]

    def _read_all(self, place: Place) -> Iterator[Seen]:
        for name in self.names[place]:
            if is_message(place, name):
                try:
                    yield self._read(place, name)
                except FileNotFoundError:
                    continue

    def _read(self, place: Place, name: str) -> Seen:
        path = os.path.join(place.directory, name)
        fault = self.caretaker.fault_of(place.stream, place.state, name)
        if fault:
            return Seen(place, name, path, fault)
        try:
            content = decode(disk.read(path, LARGEST)[0], path=path)
        except InvalidFile as changed:  # it moved on and is being written over; the next look tells
            return Seen(place, name, path, changed)
        delivery = content.get("delivery") or {}
        locked_by, status = delivery.get("locked_by") or "", str(content.get("status", ""))
        is_open = place.state in OPEN and not delivery.get("processed_at")
        times = {"created_at": content.get("created_at"), **delivery} if is_open else None
        event_id = str(content.get("event_id", ""))
        return Seen(place, name, path, None, status, locked_by, times, event_id)

    def shown(self, path: str) -> str:
        """A path as findings name it."""
        return os.path.relpath(path, self.base.root)

    def has_status_words(self, seen: Seen) -> bool:
        """What was handed in from outside needs none: whoever claims it writes it."""
        stream = STREAMS[seen.place.stream]
        if seen.place.state == PENDING and not seen.status:
            return True
        return stream.flat or seen.status in stream.state(seen.place.state).statuses


def age_of(path: str) -> float | None:
    """Seconds since it was last written; None when there is none."""
    facts = disk.facts_of(path)
    return None if facts is None else SystemClock().now().timestamp() - facts.st_mtime


def _names(directory: str) -> list[str]:
    try:
        return sorted(disk.names(directory))
    except OSError:
        return []
