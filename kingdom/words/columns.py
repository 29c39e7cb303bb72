"""How many columns of a terminal a text takes: Korean two a letter, marks above a letter none."""

from __future__ import annotations

_WIDE, _MARKS = ("W", "F"), ("Mn", "Me")


def width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_of, text))


def _of(character: str) -> int:
    from unicodedata import category, east_asian_width  # most text needs neither

    if category(character) in _MARKS:
        return 0
    return 2 if east_asian_width(character) in _WIDE else 1


def padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def cut(text: str, columns: int) -> str:
    """At most so many, with a sign that there was more."""
    if width(text) <= columns:
        return text
    kept, room = 0, max(columns - 1, 0)
    for character in text:
        room -= _of(character)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept]}…" if columns > 0 else ""
