"""Text as Slack spells it: escaped, so that nobody is called by accident, and cut into pieces.

Soldiers write the Markdown that people write on GitHub. Of that, headings, bold words, list marks,
links and code are kept; the rest stands as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = "```"
_ROOM = 2 * len(FENCE) + 2  # for a fence that is opened again, and closed
_WIDE = {"&": 5, "<": 4, ">": 4, "\n": 2, '"': 2, "\\": 2, "\t": 2}
_CODE = re.compile(r"(`[^`\n]+`)")
_URL = re.compile(r"https?://[^\s<>|\"'`\\]+")
_NAMED_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\((https?://[^\s()<>|]+)\)")
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^(\s*)[-*+]\s+")
_AFTER_URL = ".,;:!?)]}*_"


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mrkdwn(text: str) -> str:
    """At most as long as `width` says."""
    lines, in_code = [], False
    for line in text.split("\n"):
        opens = line.count(FENCE) % 2 == 1
        if in_code or FENCE in line:
            is_mark = opens and line.lstrip().startswith(FENCE)
            lines.append(FENCE if is_mark else escaped(line))  # Slack knows no languages
        else:
            lines.append(_line(line))
        in_code ^= opens
    return "\n".join(lines)


def _line(line: str) -> str:
    if heading := _HEADING.fullmatch(line):
        words = heading[1].replace("*", "")
        return f"*{escaped(words)}*" if words else ""
    line = _ITEM.sub(r"\1• ", line)
    parts = _CODE.split(line)
    return "".join(
        escaped(part) if number % 2 else _spoken(part) for number, part in enumerate(parts)
    )


def _spoken(text: str) -> str:
    text = _BOLD.sub(r"*\1*", _NAMED_LINK.sub(r"\1 (\2)", text))
    found, start = [], 0
    for match in _URL.finditer(text):
        url = match[0].rstrip(_AFTER_URL)
        found += [escaped(text[start : match.start()]), f"<{escaped(url)}>"]
        start = match.start() + len(url)
    return "".join([*found, escaped(text[start:])])


def width(text: str) -> int:
    """How many characters of Slack's limits it takes, at most."""
    marks = 2 * text.count("://") + 2 * text.count("](")
    return marks + sum(map(_cost, text))


def _cost(character: str) -> int:
    return _WIDE.get(character) or (2 if character > "\uffff" else 1)


def pieces(text: str, limit: int) -> Iterator[str]:
    """At most so wide each, cut between lines if it can be; code that is cut stays code."""
    lines: list[str] = []
    used, in_code = 0, False
    for line in _short_lines(text, limit - _ROOM):
        size = width(line) + 2
        if lines and used + size > limit - _ROOM:
            yield from _joined(lines, in_code)
            lines, used = ([FENCE], len(FENCE) + 2) if in_code else ([], 0)
        lines.append(line)
        used += size
        in_code ^= line.count(FENCE) % 2 == 1
    yield from _joined(lines, in_code)


def _joined(lines: list[str], in_code: bool) -> Iterator[str]:
    text = "\n".join([*lines, FENCE] if in_code else lines).strip("\n")
    if text.strip():
        yield text


def _short_lines(text: str, limit: int) -> Iterator[str]:
    for line in text.split("\n"):
        if width(line) + 2 <= limit:
            yield line
        else:
            yield from _cut(line, limit - 40)


def _cut(line: str, limit: int) -> Iterator[str]:
    """Between words if there are any."""
    start, used, gap = 0, 0, 0
    for at, character in enumerate(line):
        cost = _cost(character) + (2 if character in "/(" else 0)  # as a link may have it
        if used + cost > limit:
            end = gap if gap > start else at
            yield line[start:end]
            used = sum(_cost(c) + (2 if c in "/(" else 0) for c in line[end:at])
            start = end
        used += cost
        if character == " ":
            gap = at + 1
    yield line[start:]
