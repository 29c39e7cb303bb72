"""What of a general's workspace has had its time. Pure: from what lies there to what goes, and why.

The order matters to whoever acts on it: what was moved aside and what is kept privately goes before
the directory or the clone that holds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from kingdom.general.checkouts.holdings import PrivateRef, Survey
from kingdom.settings.chamberlain import Retention

DAY = 86_400.0
Kind = Literal["aside", "ref", "workspace", "clone"]


@dataclass(frozen=True)
class Place:
    """`workspace/{general}/{task}/`: moments are seconds of the wall clock."""

    path: str
    last_used: float  # when the last task that worked there ended
    needed: str = ""  # why it must stay; empty if it need not

    @property
    def task(self) -> str:
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Found:
    """All that lies in a general's workspace. `seen`: since when each of those is known that do
    not tell it by themselves: a commit may be older than its ref, a directory than its name."""

    places: tuple[Place, ...]
    survey: Survey
    seen: Mapping[str, float]


@dataclass(frozen=True)
class Due:
    """Something that goes."""

    kind: Kind
    path: str  # of a ref, its clone's
    why: str
    ref: PrivateRef | None = None
    whole: bool = True  # of a workspace: False if only its worktree goes, not what lies beside it

    @property
    def task(self) -> str:
        """Of a workspace."""
        return os.path.basename(self.path)


def ref_key(clone: str, ref: PrivateRef) -> str:
    return f"{os.path.basename(clone)} {ref.name} {ref.sha}"


def undated(survey: Survey) -> Iterator[str]:
    """What `seen` is to know."""
    yield from (aside.path for aside in survey.aside)
    for clone in survey.clones:
        yield from (ref_key(clone.path, ref) for ref in clone.kept)


def due(found: Found, now: float, retention: Retention) -> list[Due]:
    aside = list(_aside(found, now, retention.kept_refs_days))
    return [
        *aside,
        *_refs(found, now, retention.kept_refs_days),
        *_workspaces(found, {one.path for one in aside}, now, retention.workspaces_days),
        *_clones(found.survey, now, retention.clones_days),
    ]


def _aside(found: Found, now: float, days: int) -> Iterator[Due]:
    needed = {place.path for place in found.places if place.needed}
    for aside in found.survey.aside:
        age = now - max(aside.since, found.seen.get(aside.path, now))
        if age > days * DAY and os.path.dirname(aside.path) not in needed:
            yield Due("aside", aside.path, _why("It was moved aside", age))


def _workspaces(found: Found, going: Set[str], now: float, days: int) -> Iterator[Due]:
    aside = {one.path for one in found.survey.aside}
    left = aside - going
    worktrees = [path for clone in found.survey.clones for path in clone.worktrees]
    worktrees = [path for path in worktrees if not path.startswith(tuple(aside))]
    for place in found.places:
        age = now - place.last_used
        if place.needed or age <= days * DAY:
            continue
        whole = not any(os.path.dirname(path) == place.path for path in left)
        if whole or any(path.startswith(place.path + os.sep) for path in worktrees):
            why = _why("It was last worked in", age)
            yield Due("workspace", place.path, why, whole=whole)


def _refs(found: Found, now: float, days: int) -> Iterator[Due]:
    """While a task has its directory, what is kept of it stays as well."""
    held = {_plain(place.task) for place in found.places}
    for clone in found.survey.clones:
        for ref in clone.kept:
            age = now - max(ref.made, found.seen.get(ref_key(clone.path, ref), now))
            if age > days * DAY and _plain(ref.task) not in held:
                yield Due("ref", clone.path, _why("It was kept", age), ref)


def _clones(survey: Survey, now: float, days: int) -> Iterator[Due]:
    for clone in survey.clones:
        age = now - clone.last_used
        if clone.is_unused and age > days * DAY:
            yield Due("clone", clone.path, _why("It was last used", age))


def _plain(task: str) -> str:
    """However it is spelled in a ref's name; too much in common only keeps something longer."""
    return re.sub(r"[^A-Za-z0-9-]", "", task)


def _why(what: str, age: float) -> str:
    return f"{what} {age / DAY:.0f} days ago."
