"""From bytes in a file to a record: the one place that reads old forms and refuses bad ones.

A refusal is an `InvalidFile` that names the file, the field, and what to do about it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import from_json

from kingdom.errors import InvalidFile
from kingdom.models.base import SCHEMA_VERSION, Record
from kingdom.models.event import Event
from kingdom.models.ids import reason_against
from kingdom.models.message import MESSAGE
from kingdom.models.result import RESULT
from kingdom.models.task import Task
from kingdom.settings.wording import describe, shown
from kingdom.topology import Kind

READERS: dict[str, Callable[[Any], Record]] = {
    "event": Event.model_validate,
    "task": Task.model_validate,
    "message": MESSAGE.validate_python,
    "result": RESULT.validate_python,
}
ID_FIELDS = frozenset({"id", "task_id", "event_id", "original_task_id"})
DISCRIMINATORS = {"message": "type", "result": "status"}
# A number too large for a float parses as infinity, which JSON cannot say again. It has a long
# exponent or very many digits.
# Two patterns, since each begins with a letter that `re` can look for quickly.
LONG_EXPONENTS = (re.compile(rb"e\+?[0-9]{3}"), re.compile(rb"E\+?[0-9]{3}"))
MANY_DIGITS = b"0" * 200
TO_ZEROS = bytes.maketrans(b"123456789", b"000000000")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse(
    kind: Kind, data: bytes, *, path: str, status: str | tuple[str, ...] | None = None
) -> Record:
    """The record in `data`.

    The directory is believed: `status` replaces the word inside before anything is checked. Of
    several allowed words the one inside stays if it is among them, else the first is taken.
    """
    raw = upgrade(decode(data, path=path), path=path)
    if isinstance(status, str):
        raw["status"] = status
    elif status and raw.get("status") not in status:
        raw["status"] = status[0]
    try:
        return READERS[kind](raw)
    except ValidationError as error:
        _refuse(kind, error, path)
    except Exception as error:  # whatever a file holds, it costs that file alone
        raise InvalidFile(
            f"{path}: it cannot be read as {kind} ({type(error).__name__}).",
            remedy=f"Compare it with: kingdom schema {kind}.",
            code="invalid_field",
        ) from error


def decode(data: bytes, *, path: str) -> dict[str, Any]:
    """One JSON object in UTF-8, and nothing that could not be written back as it is."""
    try:
        raw = from_json(data, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise _undecodable(data, error, path) from None
    if not isinstance(raw, dict):
        raise InvalidFile(
            f"{path}: it holds {shown(raw)} where one JSON object is expected.",
            remedy="Wrap it in braces: { ... }.",
            code="not_json",
        )
    if _may_have_infinity(data) and _has_infinity(raw):
        raise InvalidFile(
            f"{path}: it holds a number that is too large.",
            remedy="Write such a number as text.",
            code="not_json",
        )
    return raw


def upgrade(raw: dict[str, Any], *, path: str) -> dict[str, Any]:
    """`raw` in today's form. Files without a version are the oldest form, or typed by hand.

    Version 0 had the same fields and no `delivery`; the models' defaults supply what it lacked.
    """
    version = raw.get("schema_version", 0)
    if type(version) is not int or version < 0:
        raise InvalidFile(
            f"{path}: field `schema_version`: must be a whole number, not {shown(version)}.",
            remedy=f"Leave it out, or write {SCHEMA_VERSION}.",
            code="invalid_field",
        )
    if version > SCHEMA_VERSION:
        raise InvalidFile(
            f"{path}: field `schema_version`: {version} is newer than {SCHEMA_VERSION}, "
            "the newest this program knows.",
            remedy="Upgrade kingdom on this machine, then try again.",
            code="newer_format",
        )
    raw["schema_version"] = SCHEMA_VERSION
    return raw


def _undecodable(data: bytes, error: ValueError, path: str) -> InvalidFile:
    if not data.strip():
        return _not_json(path, "it is empty", "Write one JSON object into it")
    if data.startswith(BYTE_ORDER_MARK):
        return _not_json(path, "it begins with a byte order mark", "Save it as UTF-8 without one")
    if "recursion limit" in str(error):
        return _not_json(path, "it is nested too deeply", "Flatten it", code="too_deep")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as fault:
        what = f"it is not UTF-8 (byte {fault.start})"
        return _not_json(path, what, "Save it as UTF-8", code="not_utf8")
    if b"\0" in data:
        return _not_json(path, f"it has a NUL byte at {data.index(0)}", "Write it as plain text")
    if _is_json_for_others(data):
        what = "it has half a character (a lone surrogate such as \\ud800)"
        return _not_json(path, what, "Write the whole character, or leave it out", code="not_utf8")
    return _not_json(path, f"it is not JSON: {error}", f"Check it with: jq . {path}")


def _is_json_for_others(data: bytes) -> bool:
    """Python, jq and others accept an escape that no UTF-8 can spell."""
    try:
        json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return b"\\ud" in data.lower()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _not_json(path: str, what: str, remedy: str, *, code: str = "not_json") -> InvalidFile:
    return InvalidFile(f"{path}: {what}.", remedy=f"{remedy}.", code=code)


def _may_have_infinity(data: bytes) -> bool:
    if any(exponent.search(data) for exponent in LONG_EXPONENTS):
        return True
    return MANY_DIGITS in data.translate(TO_ZEROS)


def _has_infinity(value: object) -> bool:
    if isinstance(value, float):
        return math.isinf(value)
    if isinstance(value, dict):
        return any(map(_has_infinity, value.values()))
    return isinstance(value, list) and any(map(_has_infinity, value))


def _refuse(kind: Kind, error: ValidationError, path: str) -> NoReturn:
    fault = error.errors(include_url=False)[0]
    tag = DISCRIMINATORS.get(kind)
    place = fault["loc"][1:] if tag and fault["loc"] else fault["loc"]
    if fault["type"].startswith("union_tag"):
        place = (tag or "",)
    field = ".".join(map(str, place))
    code, what = _judge(kind, fault, field)
    where = f"field `{field}`: " if field else ""
    raise InvalidFile(
        f"{path}: {where}{what}.",
        remedy=f"Correct it and move the file back; kingdom schema {kind} shows the form.",
        code=code,
    ) from None


def _judge(kind: Kind, fault: Any, field: str) -> tuple[str, str]:
    if fault["type"] == "contradictory":
        return "contradictory", fault["msg"]
    if (
        field in ID_FIELDS
        and fault["type"].startswith("string_")
        and fault["type"] != "string_type"
    ):
        value = fault["input"]
        return "bad_id", f"{shown(value)} is not an id: {reason_against(value)}"
    if kind == "result" and field in ("error", "question", "reason"):
        status = fault["loc"][0]
        if fault["type"] in ("missing", "string_too_short") or fault["input"] is None:
            return "contradictory", f"a result that is {status} needs one"
    return "invalid_field", describe(fault)
