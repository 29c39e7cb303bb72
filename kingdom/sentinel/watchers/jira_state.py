"""`state/sentinel/jira-state.json`: how far the tickets were dealt with, and how each stood then.

A ticket is told by its number: its key changes when it is moved to another project. What an event
is going to make of a ticket is written beside before the event is published, and is what is known
once it was; so a crash in between neither loses an assignment nor tells of it twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from kingdom.clock import isoformat
from kingdom.models.fields import read_timestamp
from kingdom.sentinel.watcher import CLOCKS_APART, LOOK_BACK
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

FORGET_AFTER = timedelta(days=400)  # one that is met again after that is new to us
MOST = 20_000


@dataclass(frozen=True)
class Ticket:
    """How one stood when it was dealt with."""

    id: str
    key: str
    updated: datetime
    assignee: str
    is_done: bool

    @property
    def project(self) -> str:
        return self.key.rpartition("-")[0]

    def is_with(self, account: str) -> bool:
        return self.assignee == account and not self.is_done

    def spelled(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "updated": isoformat(self.updated),
            "assignee": self.assignee,
            "done": self.is_done,
        }


@dataclass
class Known:
    url: str
    jql_base: str | None = None  # the scope that all this is of
    began: datetime | None = None  # from when on updates count, as of the first look at that scope
    cursor: datetime | None = None  # the newest update that was dealt with
    zone: str | None = None  # of the account, when it was asked last
    confirmed: datetime | None = None  # the cursor at that time
    limited_until: datetime | None = None  # Jira wants to be left alone
    issues: dict[str, Ticket] = field(default_factory=dict)
    intended: dict[str, Ticket] = field(default_factory=dict)  # by event

    @property
    def position(self) -> tuple[datetime | str | None, ...]:
        return (self.cursor, self.zone, self.confirmed, self.jql_base, self.limited_until)

    def note(self, ticket: Ticket) -> None:
        known = self.issues.get(ticket.id)
        if known is None or known.updated <= ticket.updated:
            self.issues[ticket.id] = ticket

    def settle(self, was_published: Callable[[str], bool]) -> list[str]:
        """What was intended is known, if it came to that. The events of which that holds."""
        published = [id_ for id_ in self.intended if was_published(id_)]
        for id_ in published:
            self.note(self.intended[id_])
        self.intended.clear()
        return published

    def begin(self, jql_base: str, began: datetime, cursor: datetime) -> None:
        """At the very first look, and when the scope is another one: what came into it by that was
        never looked at."""
        if self.cursor is None or self.jql_base not in (None, jql_base):
            self.began = began
            self.cursor = min(self.cursor or cursor, cursor)
        self.jql_base = jql_base

    def believe(self, now: datetime) -> None:
        """By Jira's clock: after one that was ahead, the last days are looked at again. What was
        dealt with is known."""
        if self.began is not None:
            self.began = min(self.began, now)
        if self.cursor is not None and self.cursor > now + CLOCKS_APART:
            self.cursor = now - LOOK_BACK

    def live_in(self, zone: str) -> None:
        """After a move, dates may have been misunderstood ever since the zone was known."""
        if self.zone not in (None, zone) and self.cursor and self.confirmed:
            self.cursor = min(self.cursor, self.confirmed)
        self.zone, self.confirmed = zone, self.cursor

    def forget_old(self, now: datetime) -> None:
        kept = [one for one in self.issues.values() if now - one.updated < FORGET_AFTER]
        if len(kept) > MOST:
            kept = sorted(kept, key=attrgetter("updated"))[-MOST:]
        self.issues = {one.id: one for one in kept}

    def write(self, path: str) -> None:
        names = ("began", "cursor", "confirmed", "limited_until")
        write_json(
            path,
            {
                "url": self.url,
                "jql_base": self.jql_base,
                "zone": self.zone,
                **{name: _spelled(getattr(self, name)) for name in names},
                "known_issues": {id_: one.spelled() for id_, one in self.issues.items()},
                "intended": {
                    id_: {"id": one.id} | one.spelled() for id_, one in self.intended.items()
                },
            },
        )


def state_path(base: BaseDir) -> str:
    return base.path("state", "sentinel", "jira-state.json")


def read(path: str, url: str) -> Known:
    """Nothing is known of another Jira, nor from a file that is damaged."""
    kept = read_json(path, {}, needed=True)
    try:
        if kept["url"] != url:
            return Known(url)
        return Known(
            url,
            jql_base=kept.get("jql_base"),
            began=_moment(kept.get("began")),
            cursor=_moment(kept["cursor"]),
            zone=kept["zone"],
            confirmed=_moment(kept["confirmed"]),
            limited_until=_moment(kept.get("limited_until")),
            issues={id_: _ticket(id_, one) for id_, one in kept["known_issues"].items()},
            intended={id_: _ticket(one["id"], one) for id_, one in kept["intended"].items()},
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return Known(url)


def _moment(kept: Any) -> datetime | None:
    return read_timestamp(kept) if kept else None


def _spelled(moment: datetime | None) -> str | None:
    return isoformat(moment) if moment else None


def _ticket(id_: str, kept: dict[str, Any]) -> Ticket:
    return Ticket(
        str(id_),
        str(kept["key"]),
        read_timestamp(kept["updated"]),
        str(kept["assignee"]),
        bool(kept["done"]),
    )
