"""The decision on one command of a soldier that may run some of git.

The program asks before it runs anything (`PreToolUse`). A line with git in it runs if all of it is
understood: git commands as `forms` admits them, and what shortens their output. It then runs as it
was understood, on the repository of this workspace whatever the directory says it is, and with
nothing that a configuration would start. All other lines are left to the program's own rules, of
which none is about the git commands that are decided here: without this, they do not run at all.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from kingdom.engines.claude.git import line
from kingdom.engines.claude.git.forms import FORMS, Refused, arguments, is_within
from kingdom.engines.claude.git.line import Command, NotPlain

GIT = "git"
_STARTS_NOTHING = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.editor=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "diff.submodule=short",
)
_RUNS_GIT = re.compile(r"(?:^|[\s;&|({`])git(?:\s|$)")
_NUMBER = r"-?\d+|-[nc]\d*|\+\d+"
_FILTERS = {
    "head": _NUMBER,
    "tail": _NUMBER,
    "wc": r"-[lwcm]+",
    "sort": r"-[bdfghinrRuV]+",
    "uniq": r"-[cdu]+",
    "cat": r"-n",
    "cut": r"-[fc][\d,-]+|-d.",
    "sed": r"-n|\d+(?:,\d+)?p",
}
_GREP_OPTIONS = r"-[EFivcnowx]+|-[ABCm]\d+"
_HELP = (
    "with the usual options, each spelled in full, and paths within the workspace, alone or piped "
    "into head, tail, wc, sort, uniq, cut, grep or sed -n; without variables, substitutions and "
    "files to read from or write to."
)


@dataclass(frozen=True)
class Gate:
    """`grants` are beginnings of command lines, such as `git log`; `whole`, lines as they are."""

    workspace: str
    repository: str  # git's own directory of it; empty without one
    grants: tuple[tuple[str, ...], ...]
    whole: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def from_json(cls, text: str) -> Gate:
        raw = json.loads(text)
        grants, whole = (tuple(map(tuple, raw[name])) for name in ("grants", "whole"))
        return cls(raw["workspace"], raw["repository"], grants, whole)

    def answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What the program is told; None leaves it to its rules."""
        given = asked["tool_input"]
        if not _RUNS_GIT.search(given["command"]):
            return None
        try:
            commands = line.read(given["command"])
            if not any(self._decides(one.words) for one in commands):
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
        if not self._is_granted(tuple(words)) or "".join(words[1:2]) not in FORMS:
            raise Refused(" ".join(words[:2]))
        if not self.repository:
            raise Refused("git where there is no repository")
        name, given = words[1], [self._spelled_as_real(word, workspace) for word in words[2:]]
        settings = [word for one in _STARTS_NOTHING for word in ("-c", one)]
        place = [f"--git-dir={self.repository}", f"--work-tree={workspace}"]
        given = arguments(name, given, workspace, directory)
        # As a command: whatever the user's shell calls git besides.
        return ["command", GIT, "--no-pager", *place, *settings, name, *given]

    def _is_granted(self, words: tuple[str, ...]) -> bool:
        return words in self.whole or any(words[: len(one)] == one for one in self.grants)

    def _spelled_as_real(self, word: str, workspace: str) -> str:
        """The workspace may be known by a name with links in it."""
        is_below = word == self.workspace or word.startswith(self.workspace + os.sep)
        return workspace + word.removeprefix(self.workspace) if is_below else word

    def _help(self) -> str:
        names = ", ".join(f"`{' '.join(one)}`" for one in (*self.grants, *self.whole))
        return f"You may run {names} {_HELP}"


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
    elif name in _FILTERS and all(re.fullmatch(_FILTERS[name], word) for word in given):
        return
    raise Refused(" ".join(words)[:80])


def _decision(**answer: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}
