"""The seam: what a watcher of some place outside offers, so that another place is one more module.

A round is fetch → parse → emit → acknowledge, page by page (`kingdom.sentinel.rounds`). It runs in
a thread of the watcher's own and may be cut off anywhere: what a watcher remembers is written in
such an order that the next round looks again at whatever was not emitted yet.

    fetch        asks outside; `afresh` for one who only wants to see, when nothing is written
    parse        what one of the things found would become, from what is known; asks nobody
    complete     adds what takes a further question; only for what is new
    remember     durable notes that must be there before the events are
    acknowledge  the events are durable: tell the place outside, if that is wanted
    finish       every page was dealt with: the next round begins after this one
    break_off    something failed before that, and is told by others
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

from kingdom.models.event import Event

# A place that was noted further ahead than that was noted by a clock that was wrong; then so much
# is looked at again. What was seen is known.
CLOCKS_APART, LOOK_BACK = timedelta(hours=1), timedelta(days=7)


@dataclass(frozen=True)
class Sighting:
    """One thing found outside: the event that it would become, or why it becomes none."""

    about: str  # as a person would call it: acme/web#42 review_requested
    event: Event | None = None
    reason: str = ""
    is_odd: bool = False  # it was not understood
    version: str = ""  # of something odd that stays where it is: another one when it changes
    raw: Any = field(default=None, repr=False)

    def left_alone(self, reason: str) -> Sighting:
        return replace(self, event=None, reason=reason)


@dataclass(frozen=True)
class Finish:
    """How a round ended, and in how many seconds the next one is wanted."""

    again: bool = False  # at once, since this one may have missed something
    at_least: float = 0.0  # as the place outside asks for
    at_most: float | None = None  # if something will be ready before the next round is due

    def pause(self, interval: float) -> float:
        pause = max(interval, self.at_least)
        return pause if self.at_most is None else min(pause, self.at_most)


class Watcher(Protocol):
    name: str

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[Any]]:
        """`afresh`: also what would be passed over because nothing about it changed."""

    def parse(self, raw: Any) -> Sighting: ...

    def complete(self, sighting: Sighting) -> Sighting:
        """`TryLater` leaves it, and the place in the listing, to the next round."""

    def remember(self, fresh: Sequence[Sighting]) -> None: ...

    def acknowledge(self, done: Sequence[Sighting]) -> None:
        """All of a page that needs no further look: emitted, known already, or left alone."""

    def finish(self, *, emitted: int) -> Finish: ...

    def break_off(self) -> float:
        """How many seconds the place outside asked to be left alone for, if it did."""

    def close(self) -> None: ...
