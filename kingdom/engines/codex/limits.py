"""Usage limits: whether a run met one, and when it can be tried again.

The program prints nothing but sentences, in the time zone of the machine:

    You’ve hit your usage limit. Visit … or try again at 9:54 AM.
    You’ve hit your usage limit. Upgrade to Pro (…), visit … or try again at Nov 18th, 2026 8:54 AM.
    You’ve hit your usage limit. Try again later.
    rate limit exceeded: Rate limit reached for … Please try again in 1m3.5s.
    exceeded retry limit, last status: 429 Too Many Requests
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

_LIMIT = re.compile(
    r"you['’]ve hit your usage limit|rate limit (?:exceeded|reached)|\bstatus:? 429\b",
    re.IGNORECASE,
)
_AT = re.compile(
    r"try again at (?:(?P<date>[A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th)?, (?P<year>\d{4}),? )?"
    r"(?P<time>\d{1,2}:\d\d [AP]M)",
    re.IGNORECASE,
)
_IN = re.compile(
    r"try again in (?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m(?!s))?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)s)?(?:(?P<milliseconds>\d+)ms)?",
    re.IGNORECASE,
)


def is_limit(error: str) -> bool:
    return _LIMIT.search(error) is not None


def until(error: str, said: datetime, zone: tzinfo | None = None) -> datetime | None:
    """When it may be tried again; None if nothing tells. `zone` is where the program ran, None:
    here."""
    try:
        return _at(error, said.astimezone(zone)) or _in(error, said)
    except (ValueError, OverflowError):
        return None


def _at(error: str, said: datetime) -> datetime | None:
    found = _AT.search(error)
    if found is None:
        return None
    day = said.strftime("%b %d %Y") if found["date"] is None else f"{found['date']} {found['year']}"
    moment = datetime.strptime(f"{day} {found['time']}", "%b %d %Y %I:%M %p")
    moment = moment.replace(tzinfo=said.tzinfo)
    # It shows no seconds: one that seems to be over by less than a minute is not.
    if found["date"] is None and moment <= said - timedelta(minutes=1):
        moment += timedelta(days=1)
    return moment.astimezone(UTC)


def _in(error: str, said: datetime) -> datetime | None:
    found = _IN.search(error)
    if found is None:
        return None
    given = {name: float(value) for name, value in found.groupdict().items() if value}
    return said + timedelta(**given) if given else None
