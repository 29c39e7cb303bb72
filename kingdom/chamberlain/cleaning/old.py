"""What lies in a directory and was not touched for long: files, and places with all in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kingdom.store import disk
from kingdom.store.trees import files_below, remove_tree


class Old(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def at(self) -> float: ...

    @property
    def size(self) -> int: ...

    @property
    def files(self) -> int: ...

    def remove(self) -> int:
        """How many files went; none if somebody wrote to it since."""


@dataclass(frozen=True)
class _File:
    path: str
    at: float
    size: int
    stamp: disk.Stamp
    files: int = 1

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def remove(self) -> int:
        facts = disk.facts_of(self.path)
        if facts is None or disk.stamp_of(facts) != self.stamp:
            return 0
        return int(disk.remove(self.path))


@dataclass(frozen=True)
class _Place:
    """A directory that somebody was given to write in; as old as the youngest thing in it."""

    path: str
    at: float
    size: int
    files: int

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def remove(self) -> int:
        found = _place(self.path)
        return max(remove_tree(self.path), 1) if found == self else 0


def old_ones(
    directory: str,
    is_ours: Callable[[str], object],
    before: datetime,
    *,
    with_places: bool = False,
) -> Iterator[Old | None]:
    """Nothing for each entry that is not; links are neither."""
    limit = before.timestamp()
    for entry in disk.entries(directory):
        found = _old(entry.path, limit, with_places=with_places) if is_ours(entry.name) else None
        yield found


def _old(path: str, limit: float, *, with_places: bool) -> Old | None:
    facts = disk.facts_of(path)
    if facts is None or facts.st_mtime >= limit:
        return None
    if stat.S_ISREG(facts.st_mode):
        return _File(path, facts.st_mtime, facts.st_size, disk.stamp_of(facts))
    place = _place(path) if with_places and stat.S_ISDIR(facts.st_mode) else None
    return place if place is not None and place.at < limit else None


def _place(path: str) -> _Place | None:
    own = disk.facts_of(path)
    if own is None or not stat.S_ISDIR(own.st_mode):
        return None
    inside = [facts for one in files_below(path) if (facts := disk.facts_of(one)) is not None]
    return _Place(
        path,
        at=max(one.st_mtime for one in (own, *inside)),
        size=sum(one.st_size for one in inside),
        files=max(len(inside), 1),
    )
