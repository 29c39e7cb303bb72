"""When a day's work is due, by the kingdom's wall clock. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo


def latest_slot(now: datetime, at: str, zone: tzinfo) -> date:
    """The day whose moment came last. Days of 23 or 25 hours have one as well, and only one: an
    hour that the clock shows twice counts the first time, one that it leaps over an hour later."""
    today = now.astimezone(zone).date()
    return next(day for day in _back_from(today) if moment_of(day, at, zone) <= now)


def moment_of(day: date, at: str, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.fromisoformat(at), zone).astimezone(UTC)


def _back_from(today: date) -> list[date]:
    return [today - timedelta(days=back) for back in range(3)]
