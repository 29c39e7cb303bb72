"""The delivery record of `delivery.md`, kept inside each file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kingdom.models.fields import Count, Timestamp
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
