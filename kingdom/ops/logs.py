"""Reading logs: the last lines, those of one role or task, and new ones as they come.

A log is rotated by renaming it, so whoever follows a name looks again and again at what it means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from kingdom.store.paths import BaseDir

BLOCK = 64 * 1024
MOST = 4 * 1024 * 1024  # of a log's end is looked through for the last lines of someone
LONGEST = 4096  # characters of a line that is not even all there
HEAD = 120  # characters that hold time, category and role
_TRACEBACK = re.compile(r"exception=Traceback .*\\n(.*)$")

Wanted = Callable[[str], bool]


class Source(NamedTuple):
    """A file, and which of its lines are meant."""

    path: str
    wanted: Wanted


def everything(line: str) -> bool:
    return True


def by_role(name: str) -> Wanted:
    """Lines of `system.log` that this one wrote."""
    mark = f"] [{name}] "
    return lambda line: mark in line[:HEAD]


def of_role(name: str) -> Wanted:
    """Those, and the warden's about it."""
    own, about = by_role(name), f" target={name} "
    return lambda line: own(line) or about in f"{line} "


def with_id(id_: str) -> Wanted:
    """Lines that name it, and not one whose id merely begins the same way."""
    found = re.compile(rf"(?<![\w-]){re.escape(id_)}(?![\w-])")
    return lambda line: found.search(line) is not None


def last_lines(sources: Sequence[Source], count: int) -> list[str]:
    """The newest of all these, in order; lines begin with their time."""
    found = [_last(source, count) for source in sources]
    if len(found) == 1:
        return found[0]
    merged = sorted((line for lines in found for line in lines), key=_time)
    return merged[-count:]


def _time(line: str) -> str:
    return line[:26]


def _last(source: Source, count: int) -> list[str]:
    try:
        with open(source.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(size - MOST, 0)
            file.seek(start)
            data = file.read(size - start)
    except FileNotFoundError:
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    if start:
        lines = lines[1:] or [f"… {lines[0][-LONGEST:]}"]  # a line longer than all we look at
    return [line for line in lines if line and source.wanted(line)][-count:]


def of_start(base: BaseDir, name: str, count: int) -> list[str]:
    """What a role said last, short enough for a terminal; of a traceback, what it ends with."""
    lines = last_lines([Source(base.system_log, by_role(name))], count)
    return [_TRACEBACK.sub(r"\1", line) for line in lines]


class Follower:
    """New lines of one file, from its end on, whatever happens to its name meanwhile."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rest = b""
        self._file = self._opened()
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)

    def _opened(self) -> BinaryIO | None:
        try:
            return open(self._source.path, "rb")
        except FileNotFoundError:
            return None

    def lines(self) -> Iterator[str]:
        """What came since the last call."""
        yield from self._new()
        if self._is_another():
            yield from self._new()  # the last ones that went to the old file
            yield from self._wanted([self._rest])
            self.close()
            self._rest = b""
            self._file = self._opened()
            yield from self._new()

    def _new(self) -> Iterator[str]:
        if self._file is None:
            return
        if self._file.tell() > os.fstat(self._file.fileno()).st_size:
            self._file.seek(0)  # it was emptied
        while data := self._file.read(BLOCK):
            *whole, self._rest = (self._rest + data).split(b"\n")
            yield from self._wanted(whole)

    def _wanted(self, lines: Iterable[bytes]) -> Iterator[str]:
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text and self._source.wanted(text):
                yield text

    def _is_another(self) -> bool:
        try:
            facts = os.stat(self._source.path)
        except FileNotFoundError:
            return False  # between a rename and the next line
        return self._file is None or not os.path.samestat(facts, os.fstat(self._file.fileno()))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def follow(sources: Sequence[Source], pause: Callable[[], None]) -> Iterator[str]:
    """Lines as they come, for ever; an empty one each time there is nothing for now."""
    followers = [Follower(source) for source in sources]
    while True:
        for follower in followers:
            yield from follower.lines()
        yield ""
        pause()
