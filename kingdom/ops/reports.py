"""Reports of days and weeks, as they were sent or as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from kingdom.chamberlain import daily
from kingdom.chamberlain.ledger import LEDGER, read_ledger
from kingdom.chamberlain.telling import told
from kingdom.clock import Clock
from kingdom.errors import NotFound, UsageError
from kingdom.ops.budget import Terms, terms
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.words import Words

TODAY, YESTERDAY = "today", "yesterday"
KNOWN_YEARS = range(1970, 9000)  # of others nothing is known, and calendars end near them


class Found(NamedTuple):
    report: dict[str, Any]
    text: str


def report(
    base: BaseDir, environment: Mapping[str, str], clock: Clock, typed: str | None, *, week: bool
) -> Found:
    """Of this day, or of the week it lies in; without one, the last that is over and known."""
    now = clock.now()
    known = terms(base, environment, now)
    today = now.astimezone(known.zone).date()
    day = _day(typed, today) if typed else None
    found = _Shelf(base, known, now).find(day, today, daily.WEEKLY if week else daily.DAILY)
    return Found(found, told(found, Words(known.language), known.zone))


class _Shelf:
    def __init__(self, base: BaseDir, known: Terms, now: datetime) -> None:
        self._base, self._zone = base, known.zone
        path = base.path("state", "chamberlain", LEDGER)
        self._ledger = read_ledger(path, now, known.zone).data
        self._spending = daily.spending_of(base)

    def find(self, day: date | None, today: date, kind: str) -> dict[str, Any]:
        back = 7 if kind == daily.WEEKLY else 1
        wanted = [day] if day else [today - timedelta(days=back), today]
        for one in wanted:
            found = self._of(one, today, kind) if one.year in KNOWN_YEARS else None
            if found is not None:
                return found
        raise NotFound(
            f"Nothing is known of {'that week' if back == 7 else wanted[0]}.",
            remedy=self._remedy(),
        )

    def _of(self, day: date, today: date, kind: str) -> dict[str, Any] | None:
        days = daily.week_of(day) if kind == daily.WEEKLY else [day]
        if days[-1] < today:
            kept = read_json(daily.report_file(self._base, kind, days[0]))
            if isinstance(kept, dict) and kept.get("type") == kind:
                return kept
        if not daily.knows(self._ledger, days, self._spending):
            return None
        make = daily.weekly if kind == daily.WEEKLY else daily.daily
        return make(self._ledger, days[0], self._spending, self._zone)

    def _remedy(self) -> str:
        days = sorted(self._ledger["days"])
        if not days:
            return "The chamberlain has read no events yet. Start it with: kingdom start"
        return f"Days are known from {days[0]} to {days[-1]}."


def _day(typed: str, today: date) -> date:
    if typed in (TODAY, YESTERDAY):
        return today if typed == TODAY else today - timedelta(days=1)
    try:
        return date.fromisoformat(typed)
    except ValueError:
        raise UsageError(
            f"report: {typed!r} is not a date.",
            remedy="Write it as 2026-02-07, today or yesterday.",
        ) from None
