"""What the kingdom writes on GitHub: a soldier's words made fit for it, and the marker below them.

The marker says whose work a text is, so that one which was posted is known again. It is the last
line, where no soldier can write, and does not show on the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kingdom.clients.github import LineComment

# GitHub takes 65,536 characters; it does not say how it counts them.
LONGEST = 65_000
LONGEST_TITLE = 256
_DIGEST = r"[0-9a-f]{12}"
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def marker(name: str, digest: str) -> str:
    return f"<!-- kingdom:{name}:{digest} -->"


def digest_in(body: str, name: str) -> str:
    """What stands behind our marker of this name at the end of a text; empty without one."""
    found = re.search(rf"<!-- kingdom:{re.escape(name)}:({_DIGEST}) -->\s*\Z", body)
    return found[1] if found else ""


def cleaned(text: str) -> str:
    """Without what no text has: control characters, halves of characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in text if c in "\n\t" or not _is_none(ord(c))).strip()


def _is_none(code: int) -> bool:
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000


def one_line(text: str, longest: int = LONGEST_TITLE) -> str:
    words = " ".join(cleaned(text).split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def bounded(text: str, room: int = LONGEST) -> str:
    """As much of it as there is room for, and what is missing."""
    if len(text) <= room:
        return text
    note = "\n\n*(Shortened: {:,} more characters were left out.)*"
    kept = room - len(note) - 40
    head = _with_fences_closed(text[:kept].rstrip())
    return head + note.format(len(text) - kept)


def signed(text: str, mark: str) -> str:
    """With the marker, which would show inside a block of code that is not closed."""
    closed = _with_fences_closed(bounded(text, LONGEST - len(mark) - 40))
    return f"{closed}\n\n{mark}" if closed else mark


def _with_fences_closed(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return f"{text}\n{fence[:20]}" if fence else text


def with_remarks(text: str, remarks: Iterable[tuple[str, int | None, str]]) -> str:
    """A review's text with the remarks that cannot stand at their lines."""
    parts = [text] if text else []
    for path, line, words in remarks:
        place = path.replace("`", "'") + (f":{line}" if line else "")
        parts.append(f"`{place}`: {words}")
    return "\n\n".join(parts)


def can_stand(comment: LineComment, patches: Mapping[str, str]) -> bool:
    """Whether its line is one that the pull request shows."""
    return comment.line in _lines(patches.get(comment.path, ""), comment.side)


def _lines(patch: str, side: str) -> set[int]:
    """The numbers of a patch's lines: those that are new or unchanged on the right, those that are
    gone or unchanged on the left."""
    shown: set[int] = set()
    passed_over = "-" if side == "RIGHT" else "+"
    number = 0
    for line in patch.split("\n"):
        if match := _HUNK.match(line):
            number = int(match[2] if side == "RIGHT" else match[1])
        elif line[:1] not in (passed_over, "\\"):
            shown.add(number)
            number += 1
    return shown
