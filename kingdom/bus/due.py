"""When a message is due and how long its lease lasts, as far as its file can be believed. Pure.

Moments in a file are of the wall clock that wrote them. One that was ahead, be it for a moment,
would silence a message until that time comes. So a file that was written in the future is due now,
and no wait is longer than the longest that its rule knows.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kingdom.bus.backoff import Backoff
from kingdom.clock import is_ahead
from kingdom.models.base import Record
from kingdom.models.delivery import Delivery

DEFERRED = "deferred"
LONGEST_DEFERRAL = timedelta(days=8)  # an engine's weekly limit is the longest that is waited for
LONGEST_LEASE = timedelta(days=1)


def longest_retry(backoff: Backoff) -> timedelta:
    return timedelta(seconds=max(backoff.max_seconds, backoff.base_seconds) * (1 + backoff.jitter))


def due_at(record: Record, now: datetime, longest: timedelta) -> datetime | None:
    """None if it need not wait; `longest`: the stream's own for a failed attempt. What a person
    puts off stays so, however far that is."""
    delivery = record.delivery
    wished: datetime | None = getattr(record, "not_before", None)
    if wished is None and delivery.next_retry_at is None:
        return None
    written = delivery.updated_at or record.created_at or now
    if is_ahead(written, now):
        return None
    moments = []
    if wished is not None:
        of_general = bool(getattr(record, "retry_count", 0))  # who tries again names the moment
        moments.append(min(wished, written + LONGEST_DEFERRAL) if of_general else wished)
    if delivery.next_retry_at is not None:
        most = LONGEST_DEFERRAL if delivery.last_error_code == DEFERRED else longest
        moments.append(min(delivery.next_retry_at, written + most))
    return max(moments)


def lease_length(delivery: Delivery, usual: timedelta) -> timedelta:
    """For how long it was taken, by whatever clock."""
    if delivery.locked_until is None or delivery.updated_at is None:
        return usual
    length = delivery.locked_until - delivery.updated_at
    return length if timedelta(0) < length <= LONGEST_LEASE else usual


def lease_left(delivery: Delivery, now: datetime, usual: timedelta) -> timedelta:
    """By the wall clock, for a holder that cannot be asked: nothing beyond its whole length."""
    if delivery.locked_until is None:
        return timedelta(0)
    left = max(delivery.locked_until - now, timedelta(0))
    return min(left, lease_length(delivery, usual))
