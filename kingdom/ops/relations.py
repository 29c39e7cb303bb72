"""What belongs together: the files and log lines of one event's whole journey.

Everything of one journey carries its `trace_id`, and each thing names its neighbour: an event its
task, a task its event, a message and a soldier their task, a result the answer. Whichever of these
are left (files are kept for days, logs too, and not the same days) lead to the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kingdom.errors import KingdomError
from kingdom.models.ids import is_id
from kingdom.ops.listing import HANDLED, LARGEST, places, stems
from kingdom.ops.whereabouts import task_of
from kingdom.runtime.config import OWN_TYPES
from kingdom.store import disk
from kingdom.store.log_files import put_away, put_away_events
from kingdom.store.paths import REASON_SUFFIX, BaseDir
from kingdom.topology import DEAD, STREAMS

SOLDIER = re.compile(r"soldier-[0-9]+-[0-9]+")
_SCHEDULE = "schedule-"  # stands where an event's id would, and is the same each time
_LINKS = ("task_id", "event_id", "original_task_id", "answered_by")
_LOGGED = ("event_id", "task_id", "msg_id", "soldier_id", "original_task_id", "superseded_by", "id")
_TASK_LINE = re.compile(r"\[(?P<at>[^\]]+)\] \[(?P<who>[^\]]+)\] (?P<task>\S+) (?P<said>.*)")
_PIECE = 1 << 20
_ROUNDS = 5


class Found(NamedTuple):
    """One file of a queue, as it lies there. `content` is empty if it cannot be read."""

    stream: str
    state: str
    id: str
    path: str
    content: dict[str, Any]


class Line(NamedTuple):
    """One line of `events.log`, or of `tasks.log` as one of type `task_log`."""

    at: str
    who: str
    type: str
    data: dict[str, Any]
    trace_id: str | None


TASK_LOG = "task_log"


@dataclass
class Journey:
    """All that is left of one journey, and every name that belongs to it."""

    files: list[Found] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def of(self, stream: str, id_: str) -> Found | None:
        return next((one for one in self.files if (one.stream, one.id) == (stream, id_)), None)

    def about(self, id_: str) -> list[Line]:
        return [line for line in self.lines if id_ in line.data.values()]


def journey_of(base: BaseDir, name: str, everything: list[Found] | None = None) -> Journey:
    """From the id of an event, task, message or soldier, or a trace id. Empty if it is unknown.

    `everything` is what lies in the queues, if that was read already.
    """
    found = Journey(names={name} | _of_soldier(base, name))
    everything = list(files(base)) if everything is None else everything
    named = [(one, _names_in_file(one)) for one in everything]
    searched: set[str] = set()
    for _ in range(_ROUNDS):
        found.files = _reached(named, found.names)
        fresh = found.names - searched
        if not fresh:
            break
        lines = [line for line in _lines_with(base, fresh) if not _is_among(line, searched)]
        found.lines += lines
        searched |= fresh
        for line in lines:
            found.names |= _names_in_line(line)
    return found


def _of_soldier(base: BaseDir, name: str) -> set[str]:
    """The task of a soldier that is at work, or whose task still names it."""
    if not SOLDIER.fullmatch(name):
        return set()
    try:
        return {task_of(base, name)}
    except KingdomError:
        return set()


def _reached(named: list[tuple[Found, set[str]]], names: set[str]) -> list[Found]:
    """The files that share a name with these or with one another; adds their names."""
    reached: dict[str, Found] = {}
    grown = True
    while grown:
        grown = False
        for one, own in named:
            if one.path not in reached and not own.isdisjoint(names):
                reached[one.path] = one
                names |= own
                grown = True
    return list(reached.values())


def _names_in_file(one: Found) -> set[str]:
    content = one.content
    found = {one.id, *_texts(content, (*_LINKS, "trace_id"))}
    if content.get("type") in OWN_TYPES:
        found |= _texts(content.get("payload"), ("task_id",))
    found |= _texts(content.get("context"), ("inherits", "answers"))
    found |= _texts(content.get("metrics"), ("soldier_id",))
    return {name for name in found if not name.startswith(_SCHEDULE)}


def _names_in_line(line: Line) -> set[str]:
    found = _texts(line.data, _LOGGED) | ({line.trace_id} if line.trace_id else set())
    return {name for name in found if not name.startswith(_SCHEDULE)}


def _is_among(line: Line, names: set[str]) -> bool:
    return not _names_in_line(line).isdisjoint(names)


def _texts(content: Any, keys: Iterable[str]) -> set[str]:
    if not isinstance(content, dict):
        return set()
    return {value for key in keys if isinstance(value := content.get(key), str) and is_id(value)}


# Files


def files(base: BaseDir) -> Iterator[Found]:
    """Every message of every queue, and every result."""
    for place in places(base):
        for stem in stems(place):
            path = f"{place.directory}/{stem}.json"
            if place.state == DEAD and stem.endswith(REASON_SUFFIX.removesuffix(".json")):
                continue
            content = _content(path)
            if content is not None:
                if content.get("type") not in OWN_TYPES:
                    content.pop("payload", None)  # the largest part, and there may be many files
                yield Found(place.stream, _state(place, content), stem, path, content)


def _state(place: Any, content: dict[str, Any]) -> str:
    flat = STREAMS[place.stream].flat and place.state != DEAD
    delivery = content.get("delivery")
    handled = flat and isinstance(delivery, dict) and "processed_at" in delivery
    return HANDLED if handled else str(place.state)


def _content(path: str) -> dict[str, Any] | None:
    """None if it went meanwhile; nothing in it if it cannot be read."""
    try:
        content = json.loads(disk.read(path, LARGEST)[0])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


# Logs


def _lines_with(base: BaseDir, names: set[str]) -> Iterator[Line]:
    wanted = [name.encode() for name in names]
    for path in _event_logs(base):
        for raw in _raw_lines(path):
            if any(name in raw for name in wanted):
                line = _event_line(raw)
                if line and _is_among(line, names):
                    yield line
    for path in (*put_away(base.tasks_log), base.tasks_log):
        for raw in _raw_lines(path):
            if any(name in raw for name in wanted):
                line = _task_line(raw.decode("utf-8", "replace"))
                if line and _is_among(line, names):
                    yield line


def _event_logs(base: BaseDir) -> list[str]:
    """Oldest first."""
    return [*put_away_events(base), base.events_log]


def _raw_lines(path: str) -> Iterator[bytes]:
    try:
        descriptor = disk.open_to_read(path)
    except OSError:
        return
    try:
        rest, offset = b"", 0
        while piece := _piece(descriptor, offset):
            offset += len(piece)
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
        if rest:
            yield rest
    finally:
        disk.close_file(descriptor)


def _piece(descriptor: int, offset: int) -> bytes:
    try:
        return disk.read_at(descriptor, _PIECE, offset)
    except OSError:
        return b""  # a directory, or a disk that refuses: the other logs tell their part


def _event_line(raw: bytes) -> Line | None:
    try:
        value = json.loads(raw)
        data, trace = value["data"], value.get("trace_id")
        line = Line(str(value["ts"]), str(value["actor"]), str(value["type"]), data, trace)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None  # torn, or written by someone else
    usable = isinstance(data, dict) and (trace is None or isinstance(trace, str))
    return line if usable else None


def _task_line(text: str) -> Line | None:
    match = _TASK_LINE.fullmatch(text)
    if match is None:
        return None
    step, _, facts = match["said"].partition(" ")
    data = {"task_id": match["task"], "step": step, "facts": facts}
    soldier = re.search(r"\bsoldier=(soldier-[0-9]+-[0-9]+)", facts)
    if soldier:
        data["soldier_id"] = soldier[1]
    return Line(match["at"], match["who"], TASK_LOG, data, None)
