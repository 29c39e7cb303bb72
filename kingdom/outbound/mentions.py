"""Takes the call out of a mention: the words stay, nobody is notified. Pure.

In Slack everything that is not the kingdom's own is escaped anyway; what is left is a plain
`@channel`, which some clients take for one. On GitHub a name with an `@` calls a person or a team.

What GitHub takes for code calls nobody, but where code begins and ends is not easily told: quotes,
lists, HTML and stray backticks change it. So only blocks are left as they are which stand at the
margin, with nothing doubtful before them; an `@` anywhere else gets a character behind it that does
not show.
"""

from __future__ import annotations

import re

JOINER = "\u2060"  # shows nothing, and is no part of a name
_EVERYBODY = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")
# Not in a mail address. An entity is an @ as well; and a name behind it may begin with one.
_GITHUB = re.compile(r"(?<![A-Za-z0-9])(?:@|&#0*64;|&#x0*40;|&commat;)", re.IGNORECASE)
_FENCE = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)")
_DOUBTFUL = re.compile(r"[ \t]+(?:`{3}|~{3})|[ \t]*<")  # a block in a list; HTML


def without_calls_of_everybody(text: str) -> str:
    return _EVERYBODY.sub(f"@{JOINER}", text)


def without_github_mentions(text: str) -> str:
    lines, fence, is_sure = [], "", True
    for line in text.split("\n"):
        lines.append(line if fence else _quiet(line))
        if fence:
            fence = "" if _closes(line, fence) else fence
        else:
            is_sure = is_sure and not _DOUBTFUL.match(line)
            opening = _FENCE.fullmatch(line) if is_sure else None
            fence = (opening[1] or opening[2]) if opening else ""
    return "\n".join(lines)


def _closes(line: str, fence: str) -> bool:
    return re.fullmatch(rf" {{0,3}}{fence}{fence[0]}*[ \t]*", line) is not None


def _quiet(line: str) -> str:
    """An address keeps leading where it led."""
    kept = _ADDRESS.sub(lambda found: found[0].replace("@", "%40"), line)
    return _GITHUB.sub(f"@{JOINER}", kept)
