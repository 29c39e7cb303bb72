"""What a run has told of itself, read out of what its program printed: one JSON object a line.

Lines that are none (a half-written last one, garbage) are passed over, and so is whatever has
another form than expected: versions differ, and a run is judged by what can be read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kingdom.engines.json_lines import Entry


@dataclass
class Account:
    """What all engines tell; each has more of its own."""

    session_id: str = ""
    error: str = ""  # what the run gave up on, in the program's words
    last_text: str = ""
    last_written: float = 0.0  # seconds of the wall clock
    is_empty: bool = True


_A = TypeVar("_A", bound=Account)


def read(path: str, account: _A, take: Callable[[_A, bytes], None]) -> _A:
    """All of it, line by line; without a file the account stays as it is."""
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            account.last_written, account.is_empty = facts.st_mtime, facts.st_size == 0
            for line in file:
                take(account, line)
    except FileNotFoundError:
        pass
    return account


def entry_of(line: bytes) -> Entry:
    """Empty for what is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
