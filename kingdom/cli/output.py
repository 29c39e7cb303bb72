"""Printing: tables, JSON, ages. What came from outside must not steer the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from kingdom.words.columns import cut as cut
from kingdom.words.columns import padded, width
from kingdom.words.harmless import harmless as harmless
from kingdom.words.spans import age as age

_WIDEST = 500  # columns of one cell: every row of the table is padded to it


def print_json(value: Any) -> None:
    print(harmless(json.dumps(value, ensure_ascii=False, indent=2)))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as they need to be; on a terminal the last one is cut to fit."""
    limit = terminal_width()
    for line in aligned(headings, rows):
        print(cut(line, limit) if limit else line)


def aligned(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[harmless(cut(one, _WIDEST), keep="") for one in row] for row in (headings, *rows)]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(padded, row, widths)).rstrip() for row in cells]


def terminal_width() -> int:
    """0 when nobody looks: then nothing is cut."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 0


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
