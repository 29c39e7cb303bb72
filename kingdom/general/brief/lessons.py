"""Lessons as lines of a file: how one is spelled, which are the same, which go first. Pure.

A line that a soldier learned begins with a date: `- 2026-11-15 Tests run with make check.` One that
was learned from work which no member asked for says so: `- 2026-11-15 (untrusted) ...`. Every other
line is a person's, and no program drops it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

LARGEST = 32 * 1024
LONGEST = 500
MOST_AT_ONCE = 20
UNTRUSTED = "(untrusted)"

_LEARNED = re.compile(
    r"- (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}) (?P<mark>\(untrusted\) ?)?(?P<text>.*)"
)
_BULLET = re.compile(r"\s*(?:[-*+]\s+)?")
_MARKUP = re.compile(r"(?:[#>*+-]+\s+)+")
_FENCE = re.compile(r"`{3,}|~{3,}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPACE = ("Zs", "Zl", "Zp", "Cc")
_UNSEEN = ("Cf", "Cs", "Co", "Cn")


@dataclass(frozen=True)
class Line:
    """One line of a memory file. Without a date it is a person's."""

    raw: str
    text: str
    date: str = ""
    trusted: bool = True

    @property
    def is_learned(self) -> bool:
        return bool(self.date)

    @property
    def key(self) -> str:
        """Equal for lines that say the same: case, spaces, punctuation and date do not count."""
        folded = unicodedata.normalize("NFKC", self.text).casefold()
        return "".join(filter(str.isalnum, folded))


def spelled(text: str, learned_on: date, *, trusted: bool) -> Line:
    mark = "" if trusted else f"{UNTRUSTED} "
    day = learned_on.isoformat()
    return Line(f"- {day} {mark}{text}", text, day, trusted)


def read(text: str) -> list[Line]:
    kept = text.rstrip()
    return [_line(raw) for raw in kept.split("\n")] if kept else []


def _line(raw: str) -> Line:
    found = _LEARNED.fullmatch(raw)
    if found is None or not _is_date(found["date"]):
        return Line(raw, _BULLET.sub("", raw, count=1).strip())
    return Line(raw, found["text"].strip(), found["date"], found["mark"] is None)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def write(lines: Iterable[Line]) -> str:
    text = "\n".join(line.raw for line in lines).strip("\n")
    return f"{text}\n" if text else ""


def clean(lesson: str) -> str:
    """One line of plain words, which can pose as nothing else: no heading, no fence, no tag."""
    normal = unicodedata.normalize("NFC", lesson[: 8 * LONGEST])
    words = " ".join("".join(map(_seen, normal)).split())
    words = _MARKUP.sub("", words, count=1) if _MARKUP.match(words) else words
    words = _TAG.sub("‹", _FENCE.sub(lambda run: run[0][0], words))
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _seen(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in _SPACE:
        return " "
    return "" if kind in _UNSEEN else character


def with_lessons(
    lines: Sequence[Line], lessons: Iterable[str], today: date, *, trusted: bool
) -> list[Line]:
    """The lines with what is new among these lessons, and not more than a file may hold.

    What is learned again is dated anew, so that it is not the next to go; outsiders cannot do that
    to what a member's work taught, and a member's work takes the mark off what theirs did.
    """
    known = list(lines)
    places = {line.key: place for place, line in enumerate(known) if line.key}
    for text in list(filter(None, map(clean, lessons)))[:MOST_AT_ONCE]:
        fresh = spelled(text, today, trusted=trusted)
        if not fresh.key:
            continue
        place = places.get(fresh.key)
        if place is None:
            places[fresh.key] = len(known)
            known.append(fresh)
        else:
            known[place] = _again(known[place], fresh)
    return capped(known, LARGEST)


def _again(line: Line, fresh: Line) -> Line:
    if not line.is_learned or (line.trusted and not fresh.trusted):
        return line
    day = max(line.date, fresh.date)
    return spelled(line.text, date.fromisoformat(day), trusted=fresh.trusted or line.trusted)


def capped(lines: Sequence[Line], largest: int) -> list[Line]:
    """Without the first to go, until the rest fits or only people's lines are left."""
    size = sum(map(_size, lines))
    gone = set()
    for place in first_to_go(lines):
        if size <= largest:
            break
        size -= _size(lines[place])
        gone.add(place)
    return [line for place, line in enumerate(lines) if place not in gone]


def first_to_go(lines: Sequence[Line]) -> list[int]:
    """The learned ones: what outsiders caused before the rest, so that they can push nothing out;
    then by age."""
    learned = (place for place, line in enumerate(lines) if line.is_learned)
    return sorted(learned, key=lambda place: (lines[place].trusted, lines[place].date, place))


def _size(line: Line) -> int:
    return len(line.raw.encode("utf-8", "replace")) + 1


def merged(before: Sequence[Line], mine: Sequence[Line], theirs: Sequence[Line]) -> list[Line]:
    """What a person made of `before`, with what happened to the file meanwhile.

    The person decides about every line they touched; lines they left alone are as they are now.
    """
    was = {line.raw for line in before}
    kept = {line.raw for line in theirs}
    renewed = {line.key: line for line in theirs if line.raw not in was and line.key}
    touched = {line.key for line in before} - {line.key for line in mine if line.raw in was}
    result = []
    for line in mine:
        if line.raw not in was or line.raw in kept or not line.text:
            result.append(line)
        elif line.key in renewed:
            result.append(renewed[line.key])
    said = {line.key for line in result} | touched
    result += [line for key, line in renewed.items() if key not in said]
    return result
