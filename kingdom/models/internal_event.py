"""One line in `logs/events.log`. One that the catalogue does not allow cannot be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from kingdom.models.catalogue import CATALOGUE, Entry
from kingdom.models.fields import Timestamp
from kingdom.models.part import Part, spelled
from kingdom.topology import role_of


class NotInCatalogue(Exception):
    """Code emits what the catalogue does not allow: a bug in it, so not a `KingdomError`."""


class InternalEvent(Part):
    """Something the kingdom did or noticed about itself."""

    ts: Timestamp
    type: str = Field(description="category.action, from the catalogue.")
    actor: str = Field(description="Who emitted it: king, gen-pr, sentinel, ...")
    data: dict[str, Any]
    trace_id: str | None = None

    @model_validator(mode="after")
    def _is_in_the_catalogue(self) -> Self:
        check(self.type, self.actor, self.data)
        return self

    def to_line(self) -> bytes:
        return spelled(self.written()) + b"\n"


def check(type_: str, actor: str, data: Mapping[str, Any]) -> None:
    """Raise `NotInCatalogue` unless this actor may emit this, with exactly this data."""
    entry = CATALOGUE.get(type_)
    if entry is None:
        raise NotInCatalogue(f"{type_} is not in the catalogue of internal events.")
    if role_of(actor) not in entry.actors:
        raise NotInCatalogue(f"{type_} is not for {actor}, only for {', '.join(entry.actors)}.")
    fault = _fault_in(data, entry)
    if fault:
        raise NotInCatalogue(f"{type_}: {fault}.")


def _fault_in(data: Mapping[str, Any], entry: Entry) -> str:
    if missing := [name for name in entry.data if name not in data]:
        return f"data lacks {', '.join(missing)}"
    if unknown := [name for name in data if name not in entry.data]:
        return f"data has {', '.join(unknown)}, which the catalogue does not know"
    for name, allowed in entry.data.items():
        if type(data[name]) not in allowed:
            wanted = " or ".join(kind.__name__ for kind in allowed)
            return f"data.{name} must be {wanted}, not {type(data[name]).__name__}"
    return ""
