"""The types of single fields: ids, names, moments. Each refuses what it is not, with the reason."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from kingdom.clock import isoformat
from kingdom.models.ids import ID_PATTERN, MAX_LENGTH

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=MAX_LENGTH)]
GeneralName = Annotated[
    str, StringConstraints(pattern=r"^gen-[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)
]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
# Counts become parts of file names, so none may be longer than a name has room for.
MOST = 1_000_000_000
Count = Annotated[int, Field(ge=0, le=MOST)]
EventType = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+$", max_length=100)
]
TaskType = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*$", max_length=100)
]
Source = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=64)]
Priority = Literal["normal", "high", "low"]
Urgency = Literal["normal", "high", "urgent"]
Trust = Literal["member", "outside", "fork", "bot"]
Network = Literal["none", "engine", "full"]
NetworkChoice = bool | Network | None


# Every moment can be shown in every time zone, and a little be added to it or taken from it.
EARLIEST_YEAR, LATEST_YEAR = 2, 9998

# One moment is read and written many times on a message's way; the conversions cost more than that.
MOMENTS_REMEMBERED = 4096

spell_timestamp = lru_cache(MOMENTS_REMEMBERED)(isoformat)


def read_timestamp(value: object) -> datetime:
    """Any ISO 8601 moment with a zone, as UTC and to the millisecond that files carry."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, datetime):
        return _in_utc(value)
    raise _not_a_moment(value)


@lru_cache(MOMENTS_REMEMBERED)
def _from_text(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _not_a_moment(text) from None
    return _in_utc(moment)


def _in_utc(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise PydanticCustomError(
            "naive_timestamp",
            "{shown} names no time zone; end it with Z (UTC) or an offset such as +09:00",
            {"shown": moment.isoformat()},
        )
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise _not_a_moment(moment.isoformat()) from None
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise _not_a_moment(moment.isoformat())
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _not_a_moment(value: object) -> PydanticCustomError:
    return PydanticCustomError(
        "timestamp",
        "{shown} is not a moment like 2026-02-07T10:00:00.000Z",
        {"shown": repr(value)[:60]},
    )


Timestamp = Annotated[
    datetime,
    PlainValidator(read_timestamp),
    PlainSerializer(spell_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
