"""Upgrades the files of an older version, after a backup.

From format 0, the predecessor's: its messages have no `delivery` and no `schema_version`, its
`status` may not agree with the directory, and there is no `dead/`. Each message is written anew
where it lies. Its results do not say whether they were handled; those whose work is over were. The
version is named last, so an interrupted migration is simply run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.sequence import STREAMS_OF_KIND, Sequence
from kingdom.clock import SystemClock
from kingdom.errors import InvalidFile, TryLater
from kingdom.models.base import Record
from kingdom.ops.listing import Place, places, stems
from kingdom.ops.rewriting import rewrite_all
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from kingdom.topology import PENDING, STREAMS

_AT_ONCE = 100


@dataclass
class Plan:
    """Messages to write anew, by stream, and files that cannot be read and stay as they are."""

    messages: dict[str, dict[str, Record]] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, self.messages.values()))


def plan(base: BaseDir) -> Plan:
    caretaker, found = Caretaker(base), Plan()
    open_tasks = set(_open_tasks(base, caretaker))
    for place in places(base):
        for stem in stems(place):
            record = _read(caretaker, place, stem, found)
            if record is not None and record.delivery.revision == 0:
                if STREAMS[place.stream].flat and record.id not in open_tasks:
                    record = _handled(record)
                found.messages.setdefault(place.stream, {})[record.id] = record
    return found


def _read(caretaker: Caretaker, place: Place, stem: str, found: Plan) -> Record | None:
    name = f"{stem}.json"
    path = f"{place.directory}/{name}"
    try:
        if caretaker.fault_of(place.stream, place.state, name):
            found.invalid.append(path)
            return None
        return caretaker.read(place.stream, place.state, path)
    except (FileNotFoundError, InvalidFile):
        return None


def _open_tasks(base: BaseDir, caretaker: Caretaker) -> Iterator[str]:
    """Tasks whose result nobody has acted on: under way, or their event is not completed."""
    dispatched = {
        stem
        for place in places(base, ("events",))
        if place.state == "dispatched"
        for stem in stems(place)
    }
    for place in places(base, ("tasks",)):
        for stem in stems(place):
            task = _read(caretaker, place, stem, Plan())
            if task is None:
                continue
            if place.state in (PENDING, "in_progress") or task.__dict__["event_id"] in dispatched:
                yield task.id


def _handled(record: Record) -> Record:
    done = record.delivery.revised(processed_at=SystemClock().now())
    return record.revised(delivery=done)


def migrate(base: BaseDir, bus: FileBus, planned: Plan) -> None:
    """Carry the plan out. Everything else that uses these files should be stopped meanwhile."""
    for stream, records in planned.messages.items():
        ids = list(records)
        for start in range(0, len(ids), _AT_ONCE):
            batch = {id_: records[id_] for id_ in ids[start : start + _AT_ONCE]}
            if rewrite_all(bus, stream, batch) < len(batch):
                raise TryLater(
                    f"Some {stream} are being worked on, so they were not upgraded.",
                    remedy="Stop the kingdom, then run kingdom migrate again.",
                )
    for kind in STREAMS_OF_KIND:
        with closing(Sequence(Caretaker(base).places, kind, sync=True)) as sequence:
            sequence.mend()
    write_format(base)
