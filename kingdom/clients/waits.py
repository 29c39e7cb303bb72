"""How long a server asks to be left alone: `Retry-After`, in seconds or as a date, and other pauses
that a header names in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_LIMIT = timedelta(hours=2)  # a moment beyond this is not believed; limits last an hour


def named_wait(headers: Mapping[str, str], now: datetime, longest: timedelta) -> timedelta | None:
    """None if it names none. `headers` have their names in lower case."""
    named = headers.get("retry-after", "").strip()
    if named.isdecimal() and len(named) < 8:
        return min(timedelta(seconds=int(named)), longest)
    moment = http_date(named)
    if moment is None:
        return None
    wait = moment - (http_date(headers.get("date", "")) or now)
    return min(wait, longest) if wait > timedelta(0) else None


def pause_in(text: str, longest: timedelta) -> float:
    """Seconds; none if it is no number of them."""
    most = longest.total_seconds()
    return min(float(text), most) if text.isascii() and text.isdecimal() else 0.0


def http_date(text: str) -> datetime | None:
    """None also for a year that would break whoever reckons with it."""
    try:
        moment = parsedate_to_datetime(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if 1970 <= moment.year < 9000 else None
