"""When a schedule is due: cron in the kingdom's time zone, and what is caught up. Pure.

A slot is one moment a schedule names. Clocks that are put forward or back follow cron's own custom:
a fixed time that does not exist is taken as soon as the clock goes on, one that comes twice counts
once; schedules by the minute or the hour keep their rhythm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim

CATCH_UP = timedelta(hours=24)
EARLY = timedelta(hours=3)  # as cron has it: a clock that is put back further was wrong before
MOST_AT_ONCE = 10


@dataclass(frozen=True)
class Due:
    """Slots to make up for, oldest first, and whether older ones were left out."""

    slots: tuple[datetime, ...] = ()
    left_out: bool = False


def slots_after(cron: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Every slot after that moment, in UTC, each once."""
    last = after
    for found in CronSim(cron, after.astimezone(zone)):
        slot = found.astimezone(UTC)
        if slot > last:  # an hour that comes twice would name one before, or the same again
            last = slot
            yield slot


def next_slot(cron: str, zone: tzinfo, after: datetime) -> datetime:
    return next(slots_after(cron, zone, after))


def is_served(cron: str, zone: tzinfo, slot: datetime, now: datetime) -> bool:
    """Whether that can be the last one served. Put back a little, a clock shows the next one once
    more, which does not count twice; what lies further ahead was served by a clock that was."""
    if slot <= now:
        return True
    return slot <= now + EARLY and slot <= next_slot(cron, zone, now)


def due(cron: str, zone: tzinfo, after: datetime, now: datetime) -> Due:
    """The slots after the last one that was served, until now: of the last day, the newest few."""
    start = max(after, now - CATCH_UP)
    found = []
    for slot in slots_after(cron, zone, start):
        if slot > now:
            break
        found.append(slot)
    too_old = after < start and next_slot(cron, zone, after) <= start
    return Due(tuple(found[-MOST_AT_ONCE:]), too_old or len(found) > MOST_AT_ONCE)
