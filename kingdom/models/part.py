"""What everything written shares: frozen, strict about types, keeps unknown keys, quick."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from kingdom.models.fields import spell_timestamp

AS_THEY_ARE = frozenset({str, int, float, bool, dict, list})


class Part(BaseModel):
    """A record or a piece of one. Keys it does not know are kept, so that versions can meet."""

    # Built when first used: a command that handles events does not pay for results.
    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    written_last: ClassVar[tuple[str, ...]] = ()
    written_order: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        first = (name for name in cls.model_fields if name not in cls.written_last)
        cls.written_order = (*first, *cls.written_last)

    def revised(self, **changes: Any) -> Self:
        """A copy with these values instead, taken as they are. What pydantic's own copy does, at
        a fraction of its cost: this runs several times for each message."""
        copy = type(self).__new__(type(self))
        object.__setattr__(copy, "__dict__", self.__dict__ | changes)
        object.__setattr__(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        object.__setattr__(copy, "__pydantic_extra__", self.__pydantic_extra__)
        object.__setattr__(copy, "__pydantic_private__", None)
        return copy

    def written(self, **changes: Any) -> dict[str, Any]:
        """What a file shows: absent values left out, unknown keys after ours, `delivery` last.

        With `changes`, what it would show with those values instead.
        """
        held = self.__dict__ | changes if changes else self.__dict__
        values: dict[str, Any] = {}
        for name in self.written_order:
            value = held[name]
            if value is None:
                continue
            if value.__class__ in AS_THEY_ARE:
                values[name] = value
            elif isinstance(value, datetime):
                values[name] = spell_timestamp(value)
            else:
                values[name] = value.written() if isinstance(value, Part) else value
        if self.__pydantic_extra__:
            delivery = values.pop("delivery", None)
            values.update(self.__pydantic_extra__)
            if delivery is not None:
                values["delivery"] = delivery
        return values

    def to_json(self, **changes: Any) -> bytes:
        """UTF-8 for people: indented, not escaped. JSON has no NaN, so one becomes null."""
        return to_json(self.written(**changes), indent=2, inf_nan_mode="null") + b"\n"
