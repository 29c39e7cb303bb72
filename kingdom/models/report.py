"""What a soldier may say in its result, as a plain schema that engines can hand to a model.

Narrower than what is read: one flat object, no alternatives, nothing but names, types and words to
choose from, since that is all that every model's API takes. What belongs together is checked when
the result is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from kingdom.models.action import KINDS, Comment, PullRequest, Push, Review
from kingdom.models.result import SAID_BY_SOLDIERS, ResultBase

STATUSES = ("success", "skipped", "needs_human", "failed")
_KEPT = ("type", "enum", "description")
Schema = Mapping[str, Any]


@cache
def report_schema() -> Schema:
    """Without the task's id: whose result it is, is not for the soldier to say."""
    said = _properties(ResultBase)
    do = {"type": "string", "enum": list(KINDS)}
    actions = {name: one for kind in _BY_KIND for name, one in _properties(kind).items()}
    actions_of = _object({**actions, "do": do}, ["do"])
    known = {
        "status": {"type": "string", "enum": list(STATUSES)},
        **{name: said[name] for name in SAID_BY_SOLDIERS},
        "actions": {**said["actions"], "items": actions_of},
    }
    return _object(known, ["status", "summary"])


_BY_KIND: tuple[type[BaseModel], ...] = (Review, Comment, Push, PullRequest)


def _properties(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    found: dict[str, Any] = _plain(schema, schema.get("$defs", {}))["properties"]
    return found


def _plain(schema: Schema, parts: Schema) -> dict[str, Any]:
    if "$ref" in schema:
        return _plain(parts[schema["$ref"].rpartition("/")[2]], parts)
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            described = {key: schema[key] for key in ("description",) if key in schema}
            return {**_plain(one, parts), **described}
    found = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in schema:
        found["items"] = _plain(schema["items"], parts)
    if "properties" in schema:
        inner = {name: _plain(one, parts) for name, one in schema["properties"].items()}
        return _object(inner, schema.get("required", ()))
    return found


def _object(properties: Schema, required: Iterable[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
