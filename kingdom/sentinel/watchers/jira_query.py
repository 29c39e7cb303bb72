"""What Jira is asked: the scope, and since when, in words that Jira cannot take for later ones.

JQL knows minutes, in the zone of the account that asks. A clock that is set back shows an hour
twice, and which one Jira takes is not told; so it is asked from a minute that is early enough
either way.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfoNotFoundError

from kingdom.settings.system import find_zone

# Where it is earliest: whatever the account's zone is, Jira does not read it as later.
WESTERNMOST = timezone(timedelta(hours=-12))
_STEP = timedelta(minutes=30)
# Quoted text, in which nothing counts, or the clause.
_PIECE = re.compile(
    r"""(?is)"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?P<order>\border\s+by\b)""",
)


def composed(base: str, since: datetime, zone: tzinfo) -> str:
    """Oldest first, so that what was dealt with stays behind."""
    moment = f'updated >= "{asked_from(since, zone):%Y/%m/%d %H:%M}"'
    scope = without_order(base)
    bounded = f"({scope}) AND {moment}" if scope else moment
    return f"{bounded} ORDER BY updated ASC, key ASC"


def without_order(jql: str) -> str:
    """As copied from Jira it often has an order, which is ours to give."""
    for piece in _PIECE.finditer(jql):
        if piece["order"]:
            return jql[: piece.start()].strip()
    return jql.strip()


def asked_from(moment: datetime, zone: tzinfo) -> datetime:
    """The last minute on the account's clock that, read either way, is not after the moment."""
    earlier = moment
    while True:
        local = earlier.astimezone(zone).replace(second=0, microsecond=0)
        if all(local.replace(fold=fold).astimezone(UTC) <= moment for fold in (0, 1)):
            return local
        earlier -= _STEP


def zone_of(name: str) -> tzinfo:
    try:
        return find_zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return WESTERNMOST
