"""When a message is due and how long its lease lasts, as far as its file can be believed. Pure.

Moments in a file are of the wall clock that wrote them. One that was ahead, be it for a moment,
would silence a message until that time comes. So a file that was written in the future is due now,
and no wait is longer than the longest that its rule knows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kingdom.clock import is_ahead

if TYPE_CHECKING:  # listings ask here, and import nothing that takes long
    from kingdom.bus.backoff import Backoff
    from kingdom.models.base import Record
    from kingdom.models.delivery import Delivery

DEFERRED = "deferred"
LONGEST_DEFERRAL = timedelta(days=8)  # an engine's weekly limit is the longest that is waited for
LONGEST_LEASE = timedelta(days=1)


class Wait(NamedTuple):
    """What a file says of when it is due."""

    written: datetime | None  # last
    wished: datetime | None  # `not_before`
    tried: bool  # whether it is its general that wishes so, after an attempt
    retry: datetime | None  # `next_retry_at`
    deferred: bool  # else an attempt failed

    def until(self, now: datetime, longest: timedelta) -> datetime | None:
        """None if it need not wait; `longest`: after a failed attempt. What a person puts off
        stays so, however far that is."""
        written = self.written or now
        if is_ahead(written, now):
            return None
        moments = []
        if self.wished is not None:
            most = written + LONGEST_DEFERRAL
            moments.append(min(self.wished, most) if self.tried else self.wished)
        if self.retry is not None:
            most = written + (LONGEST_DEFERRAL if self.deferred else longest)
            moments.append(min(self.retry, most))
        return max(moments, default=None)


def due_at(record: Record, now: datetime, longest: timedelta) -> datetime | None:
    delivery, values = record.delivery, record.__dict__
    wait = Wait(
        delivery.updated_at or record.created_at,
        values.get("not_before"),
        bool(values.get("retry_count")),
        delivery.next_retry_at,
        delivery.last_error_code == DEFERRED,
    )
    return wait.until(now, longest)


def longest_retry(backoff: Backoff) -> timedelta:
    return timedelta(seconds=max(backoff.max_seconds, backoff.base_seconds) * (1 + backoff.jitter))


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
