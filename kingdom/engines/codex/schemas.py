"""A result's form as the API takes it: every property required, and no others allowed.

What need not be there may be null instead, and is left out of the result again. A schema that
cannot be put that way (the API takes no alternatives at its root) is not passed on: the soldier
writes its file then, as always.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOT_TAKEN = ("allOf", "oneOf", "not", "if", "patternProperties", "dependentRequired")
_IDLE = ("title", "examples", "default")


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """None: the API would refuse it."""
    if schema.get("type") != "object" or "anyOf" in schema:
        return None
    try:
        found: dict[str, Any] = _put(schema)
    except ValueError:
        return None
    return found


def _put(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_put(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    if any(word in schema for word in _NOT_TAKEN):
        raise ValueError
    found = {key: _part(key, value) for key, value in schema.items() if key not in _IDLE}
    return _closed(found) if found.get("type") == "object" else found


def _part(key: str, value: Any) -> Any:
    if key in ("properties", "$defs") and isinstance(value, Mapping):  # names, not words
        return {name: _put(one) for name, one in value.items()}
    return value if key in ("enum", "const", "required") else _put(value)


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    if not properties or schema.get("additionalProperties"):
        raise ValueError  # any names at all: there is no strict way to say so
    needed = schema.get("required", ())
    spelled = {
        name: one if name in needed else {"anyOf": [one, {"type": "null"}]}
        for name, one in properties.items()
    }
    return {
        **schema,
        "properties": spelled,
        "required": list(properties),
        "additionalProperties": False,
    }


def without_nulls(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _without(value) for name, value in found.items() if value is not None}


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(one) for one in value]
    return without_nulls(value) if isinstance(value, Mapping) else value
