"""`state/sentinel/github-state.json`: what the listing was recognised by, how far it was read, and
which update of each thread was the first that was seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from kingdom.clock import isoformat
from kingdom.models.fields import read_timestamp
from kingdom.store.state import read_json, write_json

_FORGET_AFTER = timedelta(days=1)  # longer than any overlap


@dataclass
class Known:
    api_url: str = ""  # of the GitHub that all this is of
    asked: dict[str, str] = field(default_factory=dict)  # the listing that the etag is of
    scope: dict[str, Any] = field(default_factory=dict)  # that was in force then
    etag: str = ""
    last_modified: str = ""
    cursor: datetime | None = None
    first: dict[str, str] = field(default_factory=dict)  # by thread

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
                first={str(thread): str(moment) for thread, moment in kept["first"].items()},
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            return cls(api_url)  # none, or one that is damaged: what is unread is looked at again

    def write(self, path: str) -> None:
        write_json(path, asdict(self) | {"cursor": self.cursor and isoformat(self.cursor)})

    def forget_old(self) -> None:
        """Those that no listing will show any more as they were then: the seen index has them."""
        assert self.cursor is not None
        oldest = isoformat(self.cursor - _FORGET_AFTER)
        self.first = {one: moment for one, moment in self.first.items() if moment >= oldest}
