"""JSON Schemas of everything that is written down, for editors and for `kingdom schema`."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import NoneType
from typing import Any

from kingdom.models.catalogue import CATALOGUE, Entry
from kingdom.models.event import Event
from kingdom.models.internal_event import InternalEvent
from kingdom.models.manifest import Manifest
from kingdom.models.message import MESSAGE
from kingdom.models.result import RESULT
from kingdom.models.task import Task
from kingdom.settings.model import FILES
from kingdom.settings.rendering import render_yaml

DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    NoneType: "null",
}


def schema_for(name: str) -> dict[str, Any]:
    """The schema of one of `SCHEMA_NAMES`."""
    return {"$schema": DIALECT, **_MAKERS[name](), "title": name}


def config_files() -> dict[str, str]:
    """The shipped `config/`: each file's path inside it, and its content."""
    yaml_files = {f"{name}.yaml": render_yaml(name) for name in FILES}
    schemas = {
        f"schema/{name}.schema.json": json.dumps(schema_for(name), indent=2) + "\n"
        for name in (*FILES, "manifest")
    }
    return yaml_files | schemas


def _internal_event() -> dict[str, Any]:
    schema = InternalEvent.model_json_schema()
    schema["oneOf"] = [_of_entry(entry) for entry in CATALOGUE.values()]
    return schema


def _of_entry(entry: Entry) -> dict[str, Any]:
    data = {
        name: {"type": [JSON_TYPES[kind] for kind in kinds]} for name, kinds in entry.data.items()
    }
    return {
        "properties": {
            "type": {"const": entry.type},
            "data": {"properties": data, "required": list(data), "additionalProperties": False},
        }
    }


_MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "event": Event.model_json_schema,
    "task": Task.model_json_schema,
    "message": MESSAGE.json_schema,
    "result": RESULT.json_schema,
    "internal-event": _internal_event,
    "manifest": Manifest.model_json_schema,
    **{name: model.model_json_schema for name, model in FILES.items()},
}
SCHEMA_NAMES = tuple(_MAKERS)
