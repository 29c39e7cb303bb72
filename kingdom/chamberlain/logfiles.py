"""Which files make up the events log, and how far each was read.

A file is known again by its inode, its head and the bytes before the place reached, so a rename
changes nothing, what was cut or replaced is read from its beginning, and a copy is not read twice.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple, Self

from kingdom.store import disk
from kingdom.store.paths import BaseDir

CURRENT = "events.log"
CHUNK = 1024 * 1024  # a line that does not fit is passed over
_NAMES = re.compile(r"events[^/]*\.log[^/]*")
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_HEAD, _BEFORE = 256, 256
# Two files that begin alike for so long are one and its copy. Less proves it only of a file that
# nobody writes to: the log itself may begin with a few equal lines.
_PROOF, _MOST_PROOF = 4096, 65536


@dataclass(frozen=True)
class Place:
    """How far one file was read, and how to know it again."""

    device: int
    inode: int
    offset: int = 0
    is_skipping: bool = False  # in the middle of a line that is too long
    head: str = ""
    before: str = ""

    @classmethod
    def read(cls, raw: Any) -> Self | None:
        """None for what is not one, such as a damaged file's."""
        wanted = [(one.name, type(one.default)) for one in fields(cls)[2:]]
        try:
            given = {name: raw[name] for name in ("device", "inode", *(name for name, _ in wanted))}
        except (KeyError, TypeError):
            return None
        kinds = [("device", int), ("inode", int), *wanted]
        is_whole = all(type(given[name]) is kind for name, kind in kinds) and given["offset"] >= 0
        return cls(**given) if is_whole else None

    def written(self) -> dict[str, Any]:
        return asdict(self)


class Slice(NamedTuple):
    """Whole lines, and where the next ones begin."""

    lines: list[bytes]
    place: Place
    too_long: int
    size: int  # bytes passed


@dataclass(frozen=True)
class Part:
    """One file of the log, as it lies there now."""

    name: str
    path: str
    device: int
    inode: int
    size: int
    changed: int
    place: Place | None = None

    @property
    def key(self) -> tuple[int, int]:
        return self.device, self.inode

    def at(self, place: Place) -> Self:
        return replace(self, place=place)


class LogFiles:
    """All of them, oldest first; the one that is written to last."""

    def __init__(self, base: BaseDir, places: Sequence[Place] = ()) -> None:
        self._base = base
        self.places = list(places)
        self.restarted = self.copies = 0
        self._names: dict[tuple[int, int], str] = {}
        self._verified: dict[tuple[int, int], tuple[int, int]] = {}

    def settle(self) -> list[Part]:
        """Each file with its place, after whatever happened to them."""
        known = {(one.device, one.inode): one for one in self.places}
        bound: list[Part] = []
        unbound: list[tuple[Part, bool]] = []
        lost: list[Place] = []
        for part in self._present():
            place = known.pop(part.key, None)
            if place is not None and self._is_still(part, place):
                bound.append(part.at(place))
                continue
            lost += [place] if place is not None else []
            unbound.append((part, place is not None and place.offset > 0))
        lost += known.values()
        unbound.sort(key=lambda one: one[0].name != CURRENT)  # which is nobody's copy
        for part, was_known in unbound:
            bound.append(part.at(self._place_of(part, bound, lost, was_known)))
        self._verified = {one.key: (one.size, one.changed) for one in bound}
        self.places = [one.place for one in bound if one.place is not None]
        self._names = {one.key: one.name for one in bound}
        return sorted(bound, key=lambda one: (one.name == CURRENT, one.changed, one.name))

    def read(self, part: Part) -> Slice:
        """The next lines of it, at most a chunk."""
        place = part.place
        assert place is not None
        with _opened(part.path) as descriptor:
            facts = disk.facts_of_open(descriptor)
            if (facts.st_dev, facts.st_ino) != part.key:
                return Slice([], place, 0, 0)  # renamed just now: it is found at the next look
            chunk = disk.read_at(descriptor, CHUNK, place.offset)
            passed, lines, is_skipping, too_long = _cut(chunk, place.is_skipping)
            if not passed:
                return Slice([], place, 0, 0)
            offset = place.offset + passed
            head, before = _prints(descriptor, offset)
        moved = Place(part.device, part.inode, offset, is_skipping, head, before)
        self.places = [moved if one == place else one for one in self.places]
        return Slice(lines, moved, too_long, passed)

    def named(self) -> list[tuple[str, Place]]:
        """Each file's name at the last look, and how far it was read."""
        return [(self._names.get((one.device, one.inode), ""), one) for one in self.places]

    def _present(self) -> Iterator[Part]:
        for name in disk.names(self._base.logs):
            if not _NAMES.fullmatch(name) or name.endswith(_COMPRESSED):
                continue
            path = self._base.path("logs", name)
            facts = disk.facts_of(path)
            if facts is not None and stat.S_ISREG(facts.st_mode):
                size, changed = facts.st_size, facts.st_mtime_ns
                yield Part(name, path, facts.st_dev, facts.st_ino, size, changed)

    def _is_still(self, part: Part, place: Place) -> bool:
        unchanged = self._verified.get(part.key) == (part.size, part.changed)
        return unchanged or _continues(part, place)

    def _place_of(
        self, part: Part, bound: Sequence[Part], lost: list[Place], was_known: bool
    ) -> Place:
        for place in lost:
            if place.offset and _continues(part, place):
                lost.remove(place)
                return replace(place, device=part.device, inode=part.inode)
        if any(_begin_alike(part, other) for other in bound):
            self.copies += 1
            with _opened(part.path) as descriptor:
                prints = _prints(descriptor, part.size)
            return Place(part.device, part.inode, part.size, False, *prints)
        self.restarted += was_known
        return Place(part.device, part.inode)


def _cut(chunk: bytes, is_skipping: bool) -> tuple[int, list[bytes], bool, int]:
    """Bytes passed, whole lines, whether the rest of a line is to be passed over, and how many
    lines that were too long have come to their end."""
    start = 0
    if is_skipping:
        end = chunk.find(b"\n")
        if end < 0:
            return len(chunk), [], True, 0
        start = end + 1
    too_long = int(is_skipping)
    end = chunk.rfind(b"\n", start)
    if end >= 0:
        return end + 1, chunk[start:end].split(b"\n"), False, too_long
    if not start and len(chunk) == CHUNK:
        return len(chunk), [], True, too_long
    return start, [], False, too_long


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = disk.open_to_read(path)
    try:
        yield descriptor
    finally:
        disk.close_file(descriptor)


def _continues(part: Part, place: Place) -> bool:
    """Whether what was read up to there is still what the file begins with."""
    if part.size < place.offset:
        return False
    with _opened(part.path) as descriptor:
        return _prints(descriptor, place.offset) == (place.head, place.before)


def _prints(descriptor: int, offset: int) -> tuple[str, str]:
    if not offset:
        return "", ""
    head = disk.read_at(descriptor, min(_HEAD, offset), 0)
    start = max(offset - _BEFORE, 0)
    return _print(head), _print(disk.read_at(descriptor, offset - start, start))


def _print(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _begin_alike(part: Part, other: Part) -> bool:
    size = min(part.size, _MOST_PROOF)
    is_proof = size >= _PROOF or (size > 0 and part.name != CURRENT)
    if not is_proof or other.size < size:
        return False
    with _opened(part.path) as one, _opened(other.path) as two:
        return disk.read_at(one, size, 0) == disk.read_at(two, size, 0)
