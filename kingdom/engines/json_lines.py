"""What engines print: one JSON object a line, written while they run.

Whatever is missing or of another form reads as empty: versions differ, and a run is judged by what
can be read. Only the standard library, since the wrapper reads results here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]
_LONGEST_MESSAGE = 64 * 1024
_MOST_OBJECTS = 200
_CHUNK = 4 * 1024 * 1024
_MOST_FOLLOWED = 256


def part(entry: Entry, key: str) -> Entry:
    found = entry.get(key)
    return found if isinstance(found, dict) else {}


def text(entry: Entry, key: str) -> str:
    found = entry.get(key)
    return found if isinstance(found, str) else ""


def number(entry: Entry, key: str) -> float:
    found = entry.get(key)
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return found if is_number else 0  # type: ignore[return-value]  # mypy does not look back


def object_in(message: str) -> dict[str, Any] | None:
    """The last JSON object in a text that has a status."""
    said, decoder = message[-_LONGEST_MESSAGE:], json.JSONDecoder()
    found, at = None, said.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            break
        try:
            one, end = decoder.raw_decode(said, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found = one if isinstance(one.get("status"), str) else found
        at = said.find("{", end)
    return found


class Distinct:
    """How many different things a growing file names, each file read once and no further back."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self._followed: dict[str, tuple[int, set[bytes]]] = {}

    def count(self, path: str) -> int:
        if len(self._followed) > _MOST_FOLLOWED:
            self._followed.clear()
        offset, found = self._followed.get(path, (0, set()))
        with open(path, "rb") as file:
            file.seek(offset)
            while chunk := file.read(_CHUNK):
                whole = chunk.rfind(b"\n") + 1
                if not whole and len(chunk) < _CHUNK:
                    break
                found.update(self._pattern.findall(chunk, 0, whole or len(chunk)))
                offset += whole or len(chunk)
                file.seek(offset)
        self._followed[path] = offset, found
        return len(found)
