"""Words for what is wrong with a value, so that no person has to read pydantic's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JSON_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "an object",
    "NoneType": "null",
}
WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
}
LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def describe(error: Mapping[str, Any]) -> str:
    """One clause for one of pydantic's error entries, without the field's name."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind in WANTED:
        return f"must be {WANTED[kind]}, not {_json_name(value)}"
    if kind in LIMITS:
        key, words = LIMITS[kind]
        return f"must be {words} {context[key]:g}, not {shown(value)}"
    if kind == "finite_number":
        return f"must be a finite number, not {shown(value)}"
    if kind == "literal_error":
        return f"{shown(value)} is not one of {_listed(context['expected'])}"
    return _of_text(kind, value, context) or str(error["msg"])


def _of_text(kind: str, value: object, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "is missing"
        case "string_too_short":
            return "must not be empty"
        case "string_too_long":
            return f"may have at most {context['max_length']} characters, not {len(str(value))}"
        case "string_pattern_mismatch":
            return f"{shown(value)} does not have the form {context['pattern']}"
        case "union_tag_invalid":
            return f"{shown(context['tag'])} is not one of {_listed(context['expected_tags'])}"
        case "union_tag_not_found":
            return "is missing"
        case _:
            return ""


def shown(value: object) -> str:
    """A value as a person may have typed it, cut short; never a control character."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json_name(value: object) -> str:
    return JSON_NAMES.get(type(value).__name__, f"a {type(value).__name__}")


def _listed(expected: str) -> str:
    return expected.replace("'", "").replace(" or ", ", ")
