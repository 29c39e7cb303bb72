"""One process's journal: a record per commit, synced before any file in `queue/` changes.

The record is the commit. It carries every file the commit makes, whole, so that whoever starts next
can make them again; what was already made is recognised by its revision. The file is filled with
zeros beforehand and written in place, which spares the file system a new length at every sync.

The first line names the generation of records that counts and the process that writes them. How far
they have been applied stands in a page of memory shared through `N.mark`, which costs no call and
no sync: within one boot it is true, after another boot everything is looked at again. A new
generation begins, and the old records are void, only after one `syncfs` has made their effects
safe.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kingdom.store import disk, locks

CAPACITY = 4 * 1024 * 1024
HEADER_SIZE = _START = 512
_HEADER = re.compile(
    rb"kingdom-journal 1 generation=(?P<generation>\d+) process=(?P<process>\S*) *\n"
)
_RECORD = re.compile(rb"#(\d+) (\d+) ([0-9a-f]{8})\n")
_LONGEST_RECORD_HEAD = 64
_MARK = struct.Struct("<QQ")  # generation, offset up to which it has been applied


class Entry(NamedTuple):
    """One file as a commit makes it: this id, in this state, with this content."""

    stream: str
    id: str
    state: str
    revision: int
    content: bytes


@dataclass(frozen=True)
class _Header:
    generation: int
    process: str

    def encode(self) -> bytes:
        line = f"kingdom-journal 1 generation={self.generation} process={self.process}"
        return line.encode().ljust(_START - 1)[: _START - 1] + b"\n"


class Journal:
    """Opened by its owner for life, and by whoever recovers it after the owner's death.

    All but the constructor is called with the slot's commit lock held.
    """

    def __init__(self, path: str, process: str, *, sync: bool, capacity: int = CAPACITY) -> None:
        self._write = disk.write_synced_at if sync else disk.write_at
        self._capacity = capacity
        self._descriptor = disk.open_file(path)
        try:
            if disk.size_of(self._descriptor) == 0:
                self._prepare()
            self._header = self._read_header()
            self._mark = locks.SharedPage(path.removesuffix(".journal") + ".mark")
        except BaseException:  # an interrupt too: who is refused tries again and again
            disk.close_file(self._descriptor)
            raise
        self.is_of_this_boot = process.split("/")[:2] == self._header.process.split("/")[:2]
        self._doubtful = False  # a sync failed: what is on disk is anyone's guess
        self._end = self._applied() if self.is_of_this_boot else _START
        self._written = self._end

    def _prepare(self) -> None:
        disk.write_at(self._descriptor, bytes(self._capacity - _START), _START)
        self._header = _Header(1, "")
        self._write_header()

    def _read_header(self) -> _Header:
        match = _HEADER.fullmatch(disk.read_at(self._descriptor, _START, 0))
        if match is None:
            # Torn only while a generation was being voided, after its effects were made safe.
            return _Header(self._highest_generation() + 1, "")
        return _Header(int(match["generation"]), match["process"].decode("utf-8"))

    def _highest_generation(self) -> int:
        data = disk.read_at(self._descriptor, disk.size_of(self._descriptor), 0)
        return max((int(found[1]) for found in _RECORD.finditer(data)), default=0)

    def _write_header(self) -> None:
        self._write(self._descriptor, self._header.encode(), 0)

    def _applied(self) -> int:
        generation, offset = _MARK.unpack_from(self._mark.memory)
        return max(offset, _START) if generation == self._header.generation else _START

    @property
    def process(self) -> str:
        return self._header.process

    def own(self, process: str) -> None:
        """From now on this process writes here; what is recorded so far has been applied."""
        self._header = _Header(self._header.generation, process)
        self._write_header()
        self.mark_applied()

    def refresh(self) -> None:
        """Whoever prunes or backs up voids every journal, also those of living owners."""
        generation, _ = _MARK.unpack_from(self._mark.memory)
        if generation > self._header.generation:
            self._header = _Header(generation, self._header.process)
            self._end = self._written = _START

    def unapplied(self) -> Iterator[list[Entry]]:
        """Records whose effects may be missing, oldest first; each counts as applied once the
        next is asked for."""
        data = disk.read_at(self._descriptor, disk.size_of(self._descriptor), 0)
        while (record := _parse(data, self._end, self._header.generation)) is not None:
            entries, self._written = record
            yield entries
            self.mark_applied()

    def peek(self) -> Iterator[list[Entry]]:
        """The same records, only looked at: none of them counts as applied afterwards."""
        data = disk.read_at(self._descriptor, disk.size_of(self._descriptor), 0)
        offset = self._end
        while (record := _parse(data, offset, self._header.generation)) is not None:
            entries, offset = record
            yield entries

    def is_empty(self) -> bool:
        return self._end == _START

    def has_room(self, entries: Iterable[Entry]) -> bool:
        if self._doubtful:
            return False
        end = self._end
        for entry in entries:
            end += len(entry.content) + len(entry.id) + 64
        return end < self._capacity or self.is_empty()

    def append(self, entries: list[Entry]) -> None:
        """The commit point: on return these entries will be, whatever happens."""
        record = _encode(entries, self._header.generation)
        self._doubtful = True
        self._write(self._descriptor, record, self._end)
        self._doubtful = False
        self._written = self._end + len(record)

    def mark_applied(self) -> None:
        self._end = self._written
        _MARK.pack_into(self._mark.memory, 0, self._header.generation, self._end)

    def void(self) -> None:
        """Begin a new generation. The caller has made the effects of the old one safe."""
        self._header = _Header(self._header.generation + 1, self._header.process)
        self._write_header()
        self._written = _START
        self.mark_applied()
        self._doubtful = False

    def close(self) -> None:
        self._mark.close()
        disk.close_file(self._descriptor)


def process_in(header: bytes) -> str:
    match = _HEADER.fullmatch(header)
    return match["process"].decode("utf-8") if match else ""


def _encode(entries: list[Entry], generation: int) -> bytes:
    """A line that counts, a line per entry (none of its words can hold a space), the contents."""
    table = [f"{stream} {id_} {state} {n} {len(data)}\n" for stream, id_, state, n, data in entries]
    contents = [entry[-1] for entry in entries]
    body = b"%d\n%b%b" % (len(table), "".join(table).encode(), b"".join(contents))
    return b"#%d %d %08x\n%b\n" % (generation, len(body), zlib.crc32(body), body)


def _parse(data: bytes, offset: int, generation: int) -> tuple[list[Entry], int] | None:
    """The record at this offset and where it ends; None where no whole record of this generation
    lies, which is where the journal ends."""
    head = _RECORD.match(data, offset, offset + _LONGEST_RECORD_HEAD)
    if head is None or int(head[1]) != generation:
        return None
    start, size = head.end(), int(head[2])
    body = data[start : start + size]
    if len(body) != size or zlib.crc32(body) != int(head[3], 16):
        return None
    return list(_entries(body)), start + size + 1


def _entries(body: bytes) -> Iterator[Entry]:
    count, _, rest = body.partition(b"\n")
    *table, contents = rest.split(b"\n", int(count))
    position = 0
    for line in table:
        stream, id_, state, revision, length = line.decode().split(" ")
        content = contents[position : position + int(length)]
        position += int(length)
        yield Entry(stream, id_, state, int(revision), content)
