"""Takes the call out of a mention: the words stay, nobody is notified. Pure.

In Slack everything that is not the kingdom's own is escaped anyway; what is left is a plain
`@channel`, which some clients take for one. On GitHub a name with an `@` calls a person or a team.
"""

from __future__ import annotations

import re

JOINER = "\u2060"  # shows nothing, and is no part of a name
_EVERYBODY = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_GITHUB = re.compile(r"(?<![\w`@/.-])@(?=[A-Za-z0-9])([A-Za-z0-9-]{1,80}(?:/[\w-]{1,80})?)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")


def without_calls_of_everybody(text: str) -> str:
    return _EVERYBODY.sub(f"@{JOINER}", text)


def without_github_mentions(text: str) -> str:
    """Each as code, where it is none already."""
    lines, fence = [], ""
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if opening and (not fence or opening[1].startswith(fence)):
            fence = "" if fence else opening[1]
            lines.append(line)
        else:
            lines.append(line if fence else _quiet(line))
    return "\n".join(lines)


def _quiet(line: str) -> str:
    found, start = [], 0
    for code in _CODE.finditer(line):
        found += [_GITHUB.sub(r"`@\1`", line[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*found, _GITHUB.sub(r"`@\1`", line[start:])])
