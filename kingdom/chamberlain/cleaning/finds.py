"""What a round comes upon, and how it is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

# What a step of a round costs, in looks at one file; a slice is made of so many.
LOOK, READ, JUDGE = 1, 5, 50
WAIT = 1_000_000  # until the next slice


@dataclass(frozen=True)
class Find:
    """Something that is old enough to go."""

    at: float  # seconds of the wall clock: since when nobody needs it, by itself
    size: int
    files: int
    owners: frozenset[str]  # tasks, events, soldiers and sessions that it belongs to
    remove: Callable[[], int]  # how many files went
    objection: str = ""  # why it must stay all the same


@dataclass
class Tally:
    """What went of one kind, or would."""

    kind: str
    rule: str
    count: int = 0
    size: int = 0
    oldest: float | None = None
    kept: Counter[str] = field(default_factory=Counter)  # how many, by the reason
    trouble: str = ""  # what stood in the way first

    def add(self, find: Find, files: int) -> None:
        if files:
            self.count += files
            self.size += find.size
            self.oldest = find.at if self.oldest is None else min(self.oldest, find.at)
