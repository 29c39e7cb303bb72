"""What everything written shares: frozen, strict about types, keeps unknown keys, quick."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, ClassVar, Self, get_args

import orjson
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from kingdom.models.fields import spell_timestamp

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DEEPEST = 150
_FOR_PEOPLE = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


class Part(BaseModel):
    """A record or a piece of one. Keys it does not know are kept, so that versions can meet."""

    # Built when first used: a command that handles events does not pay for results.
    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    written_last: ClassVar[tuple[str, ...]] = ()
    written_order: ClassVar[tuple[str, ...]] = ()
    written_in_words: ClassVar[tuple[str, ...]] = ()  # moments and parts, which JSON does not know

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        first = (name for name in cls.model_fields if name not in cls.written_last)
        cls.written_order = (*first, *cls.written_last)
        fields = cls.model_fields.items()
        cls.written_in_words = tuple(name for name, one in fields if _needs_words(one.annotation))

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
        values = {name: v for name in self.written_order if (v := held[name]) is not None}
        for name in self.written_in_words:
            value = values.get(name)
            kind = value.__class__
            if value is None or kind is dict:
                continue  # asking whether something is a model is dear
            if kind is datetime:
                values[name] = spell_timestamp(value)
            elif isinstance(value, Part):
                values[name] = value.written()
        if self.__pydantic_extra__:
            delivery = values.pop("delivery", None)
            values.update(self.__pydantic_extra__)
            if delivery is not None:
                values["delivery"] = delivery
        return values

    def to_json(self, **changes: Any) -> bytes:
        """UTF-8 for people: indented, not escaped. JSON has no NaN, so one becomes null."""
        values = self.written(**changes)
        try:
            return orjson.dumps(values, option=_FOR_PEOPLE)
        except TypeError:  # what only the slower one can spell: a number beyond 64 bits, a set
            return spelled(values, indent=2) + b"\n"


def spelled(values: Any, indent: int | None = None) -> bytes:
    """JSON of whatever came from outside, such that `reading` can read it again."""
    try:
        return to_json(values, indent=indent, inf_nan_mode="null")
    except ValueError:
        return to_json(_readable(values), indent=indent, inf_nan_mode="null")


def _readable(value: Any, depth: int = 0) -> Any:
    """Without half characters, and nested no deeper than a reader follows."""
    if isinstance(value, str):
        return _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == _DEEPEST:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {_readable(k, depth): _readable(one, depth + 1) for k, one in value.items()}
    return [_readable(one, depth + 1) for one in value]


def _needs_words(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, datetime | Part):
        return True
    return any(map(_needs_words, get_args(annotation)))
