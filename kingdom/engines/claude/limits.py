"""Usage limits: whether a run met one, and when it can be tried again.

Structured fields come first (`rate_limit_event`, with the moment of the reset). Where there is only
a sentence, it is one of the forms that versions of the program have used:

    You've hit your 5-hour limit · resets 8:47am (UTC)
    You've hit your weekly limit · resets Nov 18, 8:59am (Europe/Berlin)
    Claude AI usage limit reached|1794732449
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from kingdom.engines.claude.stream import Account
from kingdom.engines.json_lines import number, text

_LIMIT = re.compile(
    r"\s*(?:you['’]ve (?:hit|reached) your [^\n]{0,60}?limit\b"
    r"|(?:claude ai )?(?:usage|[\w-]{1,20}) limit reached\b)",
    re.IGNORECASE,
)
_AT_SECOND = re.compile(r"limit reached\|(\d{9,13})")
_AT_TIME = re.compile(
    r"\bresets?(?: at| on)? "
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (?P<day>\d{1,2}),? "
    r"(?:(?P<year>\d{4}),? )?(?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm)?(?: \((?P<zone>[\w/+-]{1,60})\))?",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LONGEST_SENTENCE = 300


def is_limit(sentence: str) -> bool:
    """Whether this is all there is: a soldier may well write about limits."""
    return len(sentence) <= _LONGEST_SENTENCE and _LIMIT.match(sentence) is not None


def until(account: Account, sentence: str) -> datetime | None:
    """When it may be tried again; None if nothing tells."""
    return _told(account) or reset_in(sentence, datetime.fromtimestamp(account.last_written, UTC))


def _told(account: Account) -> datetime | None:
    seconds = number(account.limit, "resetsAt")
    is_refused = text(account.limit, "status") == "rejected"
    return _moment(seconds) if is_refused and seconds else None


def reset_in(sentence: str, now: datetime) -> datetime | None:
    """The moment that a sentence names; `now` is when it was said."""
    if found := _AT_SECOND.search(sentence):
        digits = found[1]
        return _moment(int(digits) / (1000 if len(digits) > 11 else 1))
    match = _AT_TIME.search(sentence)
    if match is None:
        return None
    try:
        return _next(match, now.astimezone(_zone(match["zone"]))).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _next(match: re.Match[str], now: datetime) -> datetime:
    """The next moment at which a clock and a calendar there show this."""
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    moment = now.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if match["month"] is None:
        return moment if moment > now else moment + timedelta(days=1)
    month = _MONTHS.index(match["month"].lower()) + 1
    moment = moment.replace(year=int(match["year"] or now.year), month=month, day=int(match["day"]))
    is_past = match["year"] is None and moment < now - timedelta(days=1)
    return moment.replace(year=now.year + 1) if is_past else moment


def _zone(name: str | None) -> tzinfo | None:
    """None is where this machine is: what the program assumes as well."""
    if name is None:
        return None
    from zoneinfo import ZoneInfo  # few limits name a zone, and `status` is to answer at once

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _moment(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
