"""The record: one file in `queue/` or `state/results/`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from kingdom.models.delivery import Delivery, fresh
from kingdom.models.fields import Timestamp
from kingdom.models.part import Part

__all__ = ["SCHEMA_VERSION", "Record", "Timestamp"]

SCHEMA_VERSION = 1


class Record(Part):
    """One file in `queue/` or `state/results/`."""

    # The seed's keys come first in a file, then a kind's additions, then what all kinds share.
    written_last: ClassVar[tuple[str, ...]] = ("trace_id", "schema_version", "delivery")

    trace_id: str | None = Field(
        default=None, description="Born with the external event, follows it everywhere."
    )
    schema_version: Annotated[int, Field(ge=1)] = SCHEMA_VERSION
    delivery: Delivery = Field(default_factory=fresh)

    if TYPE_CHECKING:
        # Every record has these; a result spells its id `task_id`.
        @property
        def id(self) -> str: ...

        @property
        def status(self) -> str: ...

        @property
        def created_at(self) -> datetime | None: ...
