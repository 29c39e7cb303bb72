"""The decision on one command line of a soldier that may run some commands.

The program asks before it runs anything (`PreToolUse`). By itself it would also run what it takes
for harmless, named or not, and `grep -R` follows whatever link a repository brings along. So a line
that is not understood, or has a command that no rule names, is refused.

A line with git in it runs if all of it is git commands as `forms` admits them, and what shortens
their output. It then runs as it was understood, on the repository of this workspace whatever the
directory says it is, and with nothing that a configuration would start. Lines of other commands are
left to the program's own rules, of which none is about the git commands that are decided here.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from kingdom.engines.claude.shell import line
from kingdom.engines.claude.shell.forms import FORMS, Refused, arguments, is_within
from kingdom.engines.claude.shell.line import Command, NotPlain

GIT = "git"
_NO_PAGER = "--no-pager"
_STARTS_NOTHING = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.editor=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "diff.submodule=short",
)
_AT_MOST = r"(?:-\d+|-[nc] ?[-+]?\d+)?"
# All that they are given; with a word more they would read or write a file.
_FILTERS = {
    "head": _AT_MOST,
    "tail": _AT_MOST,
    "wc": r"(?: ?-[lwcm]+)*",
    "sort": r"(?: ?-[bdfghinrRuV]+)*",
    "uniq": r"(?: ?-[cdu]+)*",
    "cat": r"(?:-n)?",
    "cut": r"(?: ?(?:-[fc][\d,-]+|-d.))+",
    "sed": r"-n \d+(?:,\d+)?p",
}
_GREP_OPTIONS = r"-[EFivcnowx]+|-[ABCm]\d+"
_LOOKING_AROUND = ("cd", "ls", "pwd")  # for the program to judge
_OF_GIT = "git with the usual options, each spelled in full, and paths within the workspace; "
_HELP = (
    "alone or piped into head, tail, wc, sort, uniq, cut, grep or sed -n; without variables, "
    "substitutions and files to read from or write to. Other tools read files and search them."
)


@dataclass(frozen=True)
class Gate:
    """`grants` are beginnings of git's command lines, such as `git log`; `whole`, such lines to
    their end; `others`, what else is named, for the program to judge."""

    workspace: str
    repository: str  # git's own directory of it; empty without one
    grants: tuple[tuple[str, ...], ...]
    whole: tuple[tuple[str, ...], ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, text: str) -> Gate:
        raw = json.loads(text)
        grants, whole = (tuple(map(tuple, raw[name])) for name in ("grants", "whole"))
        return cls(raw["workspace"], raw["repository"], grants, whole, tuple(raw["others"]))

    def answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What the program is told; None leaves it to its rules."""
        given = asked["tool_input"]
        try:
            commands = line.read(given["command"])
            if not any(self._decides(one.words) for one in commands):
                self._check_named(commands)
                return None
            allowed = self._admitted(commands, os.path.realpath(asked["cwd"]))
        except (NotPlain, Refused) as refusal:
            reason = f"Not allowed here: {refusal}. {self._help()}"
            return _decision(permissionDecision="deny", permissionDecisionReason=reason)
        told = {**given, "command": line.spelled(allowed)}
        return _decision(permissionDecision="allow", updatedInput=told)

    def _decides(self, words: list[str]) -> bool:
        """Not on git commands that are not known here, unless git is all that is named."""
        if words[0] != GIT:
            return False
        is_other = re.match(r"\w", "".join(words[1:2])) is not None
        return not is_other or words[1] in FORMS or (GIT,) in self.grants

    def _check_named(self, commands: list[Command]) -> None:
        beginnings = tuple(map(_beginning, self.others))
        for one in commands:
            if one.words[0] in _LOOKING_AROUND or " ".join(one.words).startswith(beginnings):
                continue
            _check_filter(one.words)

    def _admitted(self, commands: list[Command], directory: str) -> list[Command]:
        workspace, found = os.path.realpath(self.workspace), []
        if commands[0].words[0] == "cd":
            directory = _moved(commands, directory)
            found, commands = [Command(words=["cd", "--", directory])], commands[1:]
        if not is_within(directory, workspace):
            raise Refused(f"a directory outside of {self.workspace}")
        for one in commands:
            if one.words[0] == GIT:
                words = self._git(one.words, workspace, directory)
                found.append(Command(one.separator, words, one.silenced))
            else:
                _check_filter(one.words)
                found.append(one)
        return found

    def _git(self, words: list[str], workspace: str, directory: str) -> list[str]:
        if words[1:2] == [_NO_PAGER]:
            words = [GIT, *words[2:]]
        if not self._is_granted(tuple(words)) or "".join(words[1:2]) not in FORMS:
            raise Refused(" ".join(words[:2]))
        if not self.repository:
            raise Refused("git where there is no repository")
        name, given = words[1], [self._spelled_as_real(word, workspace) for word in words[2:]]
        settings = [word for one in _STARTS_NOTHING for word in ("-c", one)]
        place = [f"--git-dir={self.repository}", f"--work-tree={workspace}"]
        given = arguments(name, given, workspace, directory)
        # As a command: whatever the user's shell calls git besides.
        return ["command", GIT, _NO_PAGER, *place, *settings, name, *given]

    def _is_granted(self, words: tuple[str, ...]) -> bool:
        return words in self.whole or any(words[: len(one)] == one for one in self.grants)

    def _spelled_as_real(self, word: str, workspace: str) -> str:
        """The workspace may be known by a name with links in it."""
        is_below = word == self.workspace or word.startswith(self.workspace + os.sep)
        return workspace + word.removeprefix(self.workspace) if is_below else word

    def _help(self) -> str:
        of_git = [" ".join(one) for one in (*self.grants, *self.whole)]
        names = ", ".join(f"`{one}`" for one in (*of_git, *self.others))
        return f"You may run {names}; {_OF_GIT if of_git else ''}{_HELP}"


def _beginning(named: str) -> str:
    """Of the lines that a rule is about, without quotes."""
    return re.sub(r"['\"]", "", named.partition("*")[0]).removesuffix(":").rstrip()


def _moved(commands: list[Command], directory: str) -> str:
    """Where a line goes that begins with going there; all else must depend on that."""
    words, others = commands[0].words, commands[1:]
    separators = [one.separator for one in others]
    if len(words) != 2 or separators[:1] != ["&&"] or not {*separators} <= {"&&", "|"}:
        raise Refused(" ".join(words))
    return os.path.realpath(os.path.join(directory, words[1]))


def _check_filter(words: list[str]) -> None:
    name, given = words[0], words[1:]
    if name == "echo":
        return
    if name == "grep":
        given = [word for word in given if not re.fullmatch(_GREP_OPTIONS, word)]
        if len(given) == 1 and not given[0].startswith("-"):
            return
    elif name in _FILTERS and re.fullmatch(_FILTERS[name], " ".join(given)):
        return
    raise Refused(" ".join(words)[:80])


def _decision(**answer: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}
