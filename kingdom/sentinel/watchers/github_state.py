"""`state/sentinel/github-state.json`: what the listing was recognised by, how far it was read, and
which threads are still to be marked as read.

Formerly it also said which update of each thread was the first, in `first`. Where that is found it
is heeded, until a listing was read and second marks are in its place (`github_ids`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from kingdom.clock import isoformat
from kingdom.models.fields import read_timestamp
from kingdom.sentinel.watcher import CLOCKS_APART, LOOK_BACK
from kingdom.store.state import read_json, write_json


@dataclass
class Known:
    api_url: str = ""  # of the GitHub that all this is of
    asked: dict[str, str] = field(default_factory=dict)  # the listing that the etag is of
    scope: dict[str, Any] = field(default_factory=dict)  # that was in force then
    etag: str = ""
    last_modified: str = ""
    floor: datetime | None = None  # the very first look: what was read before it stays so
    cursor: datetime | None = None
    unmarked: set[str] = field(default_factory=set)  # threads
    limited_until: datetime | None = None  # GitHub wants to be left alone
    first: dict[str, str] | None = None  # by thread

    def believe(self, now: datetime) -> bool:
        """Whether all of it is from before now, by GitHub's clock. What a clock that was ahead
        noted is put right: the last days are looked at again, and what was seen is known."""
        is_right = self.cursor is None or self.cursor <= now + CLOCKS_APART
        if not is_right:
            self.cursor, self.etag, self.asked = now - LOOK_BACK, "", {}
        if self.floor is not None:
            self.floor = min(self.floor, self.cursor or now)
        return is_right

    @property
    def since(self) -> datetime | None:
        """From when on the listing was asked for."""
        try:
            return read_timestamp(self.asked["since"])
        except (LookupError, ValueError):
            return None

    def was_first(self, thread: str, updated: datetime, marked_at: float) -> bool:
        """Whether this update bears the thread's plain id, by the former notes; where those lack
        it, a mark is younger than the update that it is of."""
        if self.first is None:
            return False
        if thread in self.first:
            return self.first[thread] == isoformat(updated)
        is_passed = self.cursor is not None and updated <= self.cursor
        return is_passed and updated.timestamp() <= marked_at

    @classmethod
    def read(cls, path: str, api_url: str) -> Self:
        kept = read_json(path, {}, needed=True)
        try:
            if kept["api_url"] != api_url:
                return cls(api_url)
            return cls(
                api_url,
                asked=dict(kept["asked"]),
                scope=dict(kept["scope"]),
                etag=str(kept["etag"]),
                last_modified=str(kept["last_modified"]),
                floor=_moment(kept.get("floor")),
                cursor=_moment(kept["cursor"]),
                unmarked=set(map(str, kept.get("unmarked", []))),
                limited_until=_moment(kept.get("limited_until")),
                first=_first(kept),
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            return cls(api_url)  # none, or one that is damaged: what is unread is looked at again

    def write(self, path: str) -> None:
        moments = {name: getattr(self, name) for name in ("floor", "cursor", "limited_until")}
        spelled = asdict(self) | {name: one and isoformat(one) for name, one in moments.items()}
        spelled["unmarked"] = sorted(self.unmarked)
        if self.first is None:
            del spelled["first"]
        write_json(path, spelled)


def _moment(kept: Any) -> datetime | None:
    return read_timestamp(kept) if kept else None


def _first(kept: dict[str, Any]) -> dict[str, str] | None:
    found = kept.get("first", None if "unmarked" in kept else {})
    return None if found is None else {str(thread): str(one) for thread, one in found.items()}
