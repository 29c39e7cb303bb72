"""The seen index: an empty file for every event that ever was emitted, so that none is again.

`state/sentinel/seen/{event-id}`, removed by the chamberlain after `retention.seen_days`. An event
is marked once it is durable in the queue. Should the mark be lost with the power, the queue itself
knows the event, and the next look marks it anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kingdom.bus.port import EventBus
from kingdom.clock import Clock
from kingdom.store import disk
from kingdom.store.paths import BaseDir

ACTIVE = ("pending", "dispatched")
FRESH_SECONDS = 86_400.0


class Seen:
    def __init__(self, base: BaseDir, bus: EventBus, clock: Clock) -> None:
        self.directory = base.path("state", "sentinel", "seen")
        self._bus = bus
        self._clock = clock
        self._is_settled = True

    def make(self) -> None:
        disk.make_directory(self.directory)

    def marked_at(self, event_id: str) -> float | None:
        facts = disk.facts_of(self._path(event_id))
        return None if facts is None else facts.st_mtime

    def is_duplicate(self, event_id: str, *, keep_fresh: bool = True) -> bool:
        """Whether it waits, is being worked on, or was once."""
        if self._is_marked(event_id, keep_fresh):
            return True
        found = self._bus.look("events", event_id)
        return found is not None and found[0] in ACTIVE

    def _is_marked(self, event_id: str, keep_fresh: bool) -> bool:
        """What is still listed outside must not be forgotten here: its mark is kept fresh."""
        marked_at = self.marked_at(event_id)
        if marked_at is None:
            return False
        if keep_fresh and self._clock.now().timestamp() - marked_at > FRESH_SECONDS:
            disk.touch(self._path(event_id))
        return True

    def mark(self, event_ids: Iterable[str]) -> None:
        for event_id in event_ids:
            disk.touch(self._path(event_id))
            self._is_settled = False

    def keep(self, name: str) -> None:
        """A mark of a watcher's own, beside those of events: there from now on, and fresh."""
        if not self.freshen(name):
            self.mark([name])

    def freshen(self, name: str) -> bool:
        """Whether there is one."""
        return self._is_marked(name, keep_fresh=True)

    def names(self) -> Iterator[str]:
        return (entry.name for entry in disk.entries(self.directory))

    def settle(self) -> None:
        """What was marked survives a power loss, before a listing is passed over for good."""
        if not self._is_settled:
            disk.sync_directory(self.directory)
            self._is_settled = True

    def _path(self, event_id: str) -> str:
        return os.path.join(self.directory, event_id)
