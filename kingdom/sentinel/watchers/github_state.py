"""`state/sentinel/github-state.json`: what the listing was recognised by, how far it was read, and
which threads are still to be marked as read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from kingdom.clock import isoformat
from kingdom.models.fields import read_timestamp
from kingdom.store.state import read_json, write_json


@dataclass
class Known:
    api_url: str = ""  # of the GitHub that all this is of
    asked: dict[str, str] = field(default_factory=dict)  # the listing that the etag is of
    scope: dict[str, Any] = field(default_factory=dict)  # that was in force then
    etag: str = ""
    last_modified: str = ""
    cursor: datetime | None = None
    unmarked: set[str] = field(default_factory=set)  # threads

    @property
    def since(self) -> datetime | None:
        """From when on the listing was asked for."""
        try:
            return read_timestamp(self.asked["since"])
        except (LookupError, ValueError):
            return None

    @classmethod
    def read(cls, path: str, api_url: str) -> Self:
        kept = read_json(path, {})
        try:
            if kept["api_url"] != api_url:
                return cls(api_url)
            return cls(
                api_url,
                asked=dict(kept["asked"]),
                scope=dict(kept["scope"]),
                etag=str(kept["etag"]),
                last_modified=str(kept["last_modified"]),
                cursor=kept["cursor"] and read_timestamp(kept["cursor"]),
                unmarked=set(map(str, kept["unmarked"])),
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            return cls(api_url)  # none, or one that is damaged: what is unread is looked at again

    def write(self, path: str) -> None:
        cursor = self.cursor and isoformat(self.cursor)
        write_json(path, asdict(self) | {"cursor": cursor, "unmarked": sorted(self.unmarked)})
