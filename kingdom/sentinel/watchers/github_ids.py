"""Which id an update of a thread bears: the first that was seen the thread's plain one, each later
one that with its moment.

A plain id does not tell which update it was, nor of which GitHub: threads are numbers, and another
server has the same ones. So beside its mark lies a second one that does, `{id}:{server}-{moment}`,
durable before the event is published. A plain id that was given to something else is given to
nothing more, and what is seen then counts as a later update.

Marks go when they are old, and what is listed again must still be known: the plain mark stays as
long as its thread has news, and all of them as long as a listing may show what they are of.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

from kingdom.bus.port import EventBus
from kingdom.clock import isoformat
from kingdom.models.event import Event
from kingdom.models.ids import is_id
from kingdom.sentinel.seen import Seen
from kingdom.sentinel.watchers.github_state import Known

SOURCE = "github"
_DATED = re.compile(rf"(?P<plain>evt-{SOURCE}-.+?)(?::[0-9a-f]{{8}})?-(?P<moment>[0-9]{{14}})")


class Ids:
    def __init__(self, seen: Seen, bus: EventBus, known: Known) -> None:
        self._seen = seen
        self._bus = bus
        self._known = known
        self._server = hashlib.sha256(known.api_url.encode()).hexdigest()[:8]

    def of(self, thread: str, updated: datetime) -> str:
        plain = f"evt-{SOURCE}-{thread}"
        later = f"{plain}-{_digits(updated)}"
        if not is_id(later):
            raise ValueError("its number is none")
        return plain if self._is_first(plain, later, updated) else later

    def _is_first(self, plain: str, later: str, updated: datetime) -> bool:
        if self._seen.marked_at(self._mark(plain, updated)) is not None:
            return True
        if self._seen.marked_at(later) is not None:
            return False  # though the plain mark may be gone
        found = self._bus.look("events", plain)
        if found is not None and isinstance(found[1], Event):
            return self._is_that(found[1], updated)
        marked_at = self._seen.marked_at(plain)
        if marked_at is None:
            return self._bus.look("events", later) is None
        return self._known.was_first(plain.removeprefix(f"evt-{SOURCE}-"), updated, marked_at)

    def _is_that(self, event: Event, updated: datetime) -> bool:
        address = event.payload.get("api_url")
        is_here = not isinstance(address, str) or address.startswith(f"{self._known.api_url}/")
        return is_here and event.payload.get("updated_at") == isoformat(updated)

    def keep(self, event_id: str, thread: str, updated: datetime) -> None:
        """That it was this update; or, of a later one, that the plain id is given away."""
        plain = f"evt-{SOURCE}-{thread}"
        self._seen.keep(self._mark(plain, updated) if event_id == plain else plain)

    def keep_all_since(self, oldest: datetime) -> None:
        """What a listing from then on may show again, be it looked at meanwhile or not: GitHub may
        say for weeks that nothing changed, or say nothing at all."""
        dated = filter(None, map(_DATED.fullmatch, self._seen.names()))
        for one in [one for one in dated if one["moment"] >= _digits(oldest)]:
            self._seen.freshen(one[0])
            self._seen.freshen(one["plain"])  # if there is one: its event may never have come

    def _mark(self, plain: str, updated: datetime) -> str:
        return f"{plain}:{self._server}-{_digits(updated)}"


def _digits(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%d%H%M%S}"
