"""A command line in the plain part of the shell's language: words, quotes, pipes, sequences.

Whatever else the shell knows (variables, substitutions, files to read or write, jobs, groups) is
refused, so that what is understood here is all there is to it. Nothing is expanded: `spelled` says
a line so that the shell reads exactly these words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SEPARATOR = re.compile(r"&&|\|\||;(?!;)|\|(?!&)|\n")
_SILENCED = re.compile(r"2>&1|2> ?/dev/null(?=[\s;|&]|$)")
_PLAIN = re.compile(r"[\w@%+=:,./^~*?\[\]{}!#-]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\$`]|\\[^\n])*)"')
_ESCAPED = re.compile(r"\\([^\n])")
_NOTHING_TO_ANY = re.compile(r"[A-Za-z0-9_./-]+")


class NotPlain(Exception):
    """Something of the shell's that is not read here."""


@dataclass
class Command:
    """`separator` stands before it; `silenced` is what becomes of its errors."""

    separator: str = ""
    words: list[str] = field(default_factory=list)
    silenced: str = ""


def read(text: str) -> list[Command]:
    commands, at = [Command()], 0
    text = text.strip()
    while at < len(text):
        current = commands[-1]
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif silenced := _SILENCED.match(text, at):
            current.silenced, at = silenced[0], silenced.end()
        elif separator := _SEPARATOR.match(text, at):
            commands.append(Command(separator[0]))
            at = separator.end()
        else:
            word, at = _word(text, at)
            current.words.append(word)
    return _without_empty(commands)


def _word(text: str, at: int) -> tuple[str, int]:
    if text[at] == "#":
        raise NotPlain("a comment")
    parts, begun = [], at
    while at < len(text):
        if found := _PLAIN.match(text, at):
            parts.append(found[0])
        elif found := _SINGLE.match(text, at) or _ESCAPED.match(text, at):
            parts.append(found[1])
        elif found := _DOUBLE.match(text, at):
            parts.append(re.sub(r'\\([\\"$`])', r"\1", found[1]))
        else:
            break
        at = found.end()
    if at == begun:
        raise NotPlain(text[at])
    return "".join(parts), at


def _without_empty(commands: list[Command]) -> list[Command]:
    """Lines may be empty; a pipe that begins or ends nowhere is none."""
    found = [one for one in commands if one.words or one.separator not in ("", ";", "\n")]
    if not all(one.words for one in found):
        raise NotPlain("an incomplete line")
    if found:
        found[0].separator = ""
    return found


def spelled(commands: list[Command]) -> str:
    parts = []
    for one in commands:
        parts += [one.separator, " ".join(map(_quoted, one.words)), one.silenced]
    return " ".join(filter(None, parts))


def _quoted(word: str) -> str:
    """For any shell: zsh takes `=ls` for where `ls` lies."""
    return word if _NOTHING_TO_ANY.fullmatch(word) else "'" + word.replace("'", "'\"'\"'") + "'"
