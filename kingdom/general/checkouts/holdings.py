"""What a general's repositories take up on disk, and since when: retention decides by it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.older import paths_of
from kingdom.general.checkouts.refs import PRIVATE
from kingdom.store import disk


@dataclass(frozen=True)
class PrivateRef:
    name: str
    task: str  # as spelled in the ref
    sha: str
    made: float  # seconds of the wall clock


@dataclass(frozen=True)
class CloneFacts:
    path: str
    url: str
    size: int  # bytes on disk
    last_used: float  # seconds of the wall clock
    worktrees: tuple[str, ...]
    kept: tuple[PrivateRef, ...]
    is_broken: bool

    @property
    def is_unused(self) -> bool:
        """Whether it can go without a loss."""
        return not self.worktrees and not self.kept


@dataclass(frozen=True)
class AsideFacts:
    """A worktree that could not be used, or not be kept whole, and was moved aside."""

    path: str
    size: int
    since: float


@dataclass(frozen=True)
class Survey:
    clones: tuple[CloneFacts, ...]
    aside: tuple[AsideFacts, ...]


def private_refs(clone: Clone) -> list[PrivateRef]:
    form = "--format=%(refname) %(objectname) %(committerdate:unix)"
    said = clone.git.run("for-each-ref", form, PRIVATE.rstrip("/"), at=clone.at)
    found = []
    for line in said.text.split("\n"):
        name, sha, made = [*line.split(" "), "", ""][:3]
        if name:
            task = name.removeprefix(PRIVATE).partition("/")[0]
            found.append(PrivateRef(name, task, sha, float(made or 0)))
    return found


def facts_of(clone: Clone) -> CloneFacts:
    kept: tuple[PrivateRef, ...] = ()
    with suppress(KingdomError):
        kept = tuple(private_refs(clone))
    return CloneFacts(
        path=clone.path,
        url=clone.url,
        size=trees.size(clone.path),
        last_used=clone.last_used(),
        worktrees=tuple(paths_of(clone)),
        kept=kept,
        is_broken=clone.is_broken,
    )


def moved_aside(home: str, name: re.Pattern[str]) -> Iterator[AsideFacts]:
    for task in sorted(disk.names(home)):
        place = os.path.join(home, task)
        for found in sorted(disk.names(place)) if os.path.isdir(place) else ():
            if name.fullmatch(found):
                path = os.path.join(place, found)
                facts = disk.facts_of(path)
                yield AsideFacts(path, trees.size(path), facts.st_mtime if facts else 0.0)
