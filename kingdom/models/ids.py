"""Ids become file names, so each is checked where it enters. No pydantic: listing needs none."""

from __future__ import annotations

import re

from kingdom.errors import InvalidFile

MAX_LENGTH = 200
# "No two dots in a row" is spelled without a look-ahead, which pydantic's regular expressions lack.
ID_PATTERN = r"^[A-Za-z0-9](?:\.?[A-Za-z0-9_:-])*\.?$"
TASK_ID = re.compile(r"task-(?P<date>[0-9]{8})-(?P<seq>[0-9]{3,18})")
MESSAGE_ID = re.compile(r"msg-(?P<date>[0-9]{8})-(?P<seq>[0-9]{3,18})")

_ID = re.compile(ID_PATTERN[:-1] + r"\Z")
_SEQUENCE = re.compile(r"(?:task|msg)-[0-9]{8}-(?P<seq>[0-9]{3,18})\Z")
_ALLOWED = re.compile(r"[A-Za-z0-9._:-]")


def is_id(text: object) -> bool:
    return isinstance(text, str) and len(text) <= MAX_LENGTH and _ID.match(text) is not None


def check_id(text: str) -> str:
    """`text` itself, or `InvalidFile` saying what in it cannot be part of a file name."""
    if is_id(text):
        return text
    raise InvalidFile(
        f"{_shortened(text)} is not an id: {reason_against(text)}.",
        remedy="An id has letters, digits and . _ : - only, begins with a letter or digit, "
        f"has no '..' and at most {MAX_LENGTH} characters.",
        code="bad_id",
    )


def reason_against(text: object) -> str:
    """Why `text` is no id; empty when it is one."""
    if not isinstance(text, str):
        return "it is not text"
    if not text:
        return "it is empty"
    if len(text) > MAX_LENGTH:
        return f"it has {len(text)} characters, {MAX_LENGTH} are allowed"
    strange = next((character for character in text if not _ALLOWED.match(character)), None)
    if strange is not None:
        return f"it contains {strange!a}"
    if ".." in text:
        return "it contains '..'"
    return "" if is_id(text) else f"it begins with {text[0]!r}"


def sequence_number(identifier: str) -> int:
    """The number at the end of a task or message id; 0 for every other id."""
    match = _SEQUENCE.match(identifier)
    return int(match["seq"]) if match else 0


def _shortened(text: object) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
