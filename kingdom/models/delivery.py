"""The delivery record of `delivery.md`, kept inside each file."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Annotated, Any

from pydantic import Field

from kingdom.models.fields import Count, Timestamp, spell_timestamp
from kingdom.models.part import Part


class Delivery(Part):
    """What the bus notes about one message: who holds it, how often it failed, when it is due."""

    revision: Count = 0
    attempt_count: Count = 0
    crash_count: Count = 0
    max_attempts: Annotated[int, Field(ge=1)] | None = None
    next_retry_at: Timestamp | None = None
    last_attempt_at: Timestamp | None = None
    locked_by: str | None = None
    locked_until: Timestamp | None = None
    last_error_code: str | None = None
    last_error_message: str | None = None
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    processed_at: Timestamp | None = None

    def first_written(self, max_attempts: int, now: datetime) -> dict[str, Any]:
        """What the file shows once the message is published."""
        attempts = self.max_attempts or max_attempts
        if self is fresh():  # the usual case, at a third of the cost
            moment = spell_timestamp(now)
            return {
                "revision": 1,
                "attempt_count": 0,
                "crash_count": 0,
                "max_attempts": attempts,
                "created_at": moment,
                "updated_at": moment,
            }
        return self.written(revision=1, max_attempts=attempts, created_at=now, updated_at=now)


@cache
def fresh() -> Delivery:
    """What every new record carries: one for all, since it never changes."""
    return Delivery()
