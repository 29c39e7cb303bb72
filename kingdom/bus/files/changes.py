"""What a message becomes, and which version of which file that replaces."""

from __future__ import annotations

from typing import NamedTuple

from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import Entry
from kingdom.store import disk


class Version(NamedTuple):
    """One file as it was seen: where, and which."""

    state: str
    path: str
    stamp: disk.Stamp
    revision: int


class Change(NamedTuple):
    entry: Entry
    replaces: Version | None = None


def lies_at(path: str, version: Version) -> bool:
    """Whether the very file lies there, wherever it was seen."""
    facts = disk.facts_of(path)
    return facts is not None and disk.stamp_of(facts) == version.stamp


def is_current(intake: Intake, entry: Entry, version: Version) -> bool:
    """The very file, or one that a person touched or edited since: the revision tells."""
    facts = disk.facts_of(version.path)
    if facts is not None and disk.stamp_of(facts) == version.stamp:
        return True
    found = intake.revision(entry.stream, version.state, version.path, entry.id)
    return found == version.revision
