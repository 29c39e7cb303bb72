"""Which of a general's rules are about commands, and how they are kept.

`Bash(git log:*)` lets any option through, and options of git read, write and run anything. And with
any rule at all the program runs commands that none names. So the `gate` decides on every line,
unless the soldier may run all of them anyway.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kingdom.engines.claude.shell import asked, line
from kingdom.engines.claude.shell.forms import FORMS
from kingdom.engines.claude.shell.gate import GIT, Gate
from kingdom.engines.git_place import git_directory

_EVERYTHING = ("Bash", "Bash()", "Bash(*)", "Bash(:*)")
_RULE = re.compile(r"\s*Bash\((.*)\)\s*", re.DOTALL)
# Above all that it could take: one that is late is passed over.
_SECONDS = 60


def gate_for(tools: Sequence[str] | None, workspace: str) -> Gate | None:
    """None if there is nothing to decide."""
    if tools is None or may_run_everything(tools):
        return None
    grants = tuple(dict.fromkeys(one for rule in tools if (one := _beginning(rule))))
    whole = tuple(dict.fromkeys(one for rule in tools if (one := _whole(rule))))
    others = tuple(filter(None, map(_inside, for_program(tools))))
    if not (grants or whole or others):
        return None
    return Gate(workspace, git_directory(workspace), grants, whole, others)


def may_run_everything(tools: Sequence[str] | None) -> bool:
    return tools is None or any(rule.strip() in _EVERYTHING for rule in tools)


def for_program(tools: Sequence[str]) -> list[str]:
    """The rules that the program itself goes by."""
    if may_run_everything(tools):
        return [*tools]
    return [rule for rule in tools if not (_beginning(rule) or _whole(rule))]


def hook(gate: Gate) -> dict[str, Any]:
    words = (sys.executable, "-I", "-S", os.path.abspath(asked.__file__), json.dumps(asdict(gate)))
    # Any other code than 2 would be passed over.
    asking = f"{shlex.join(words)} || exit 2"
    command = {"type": "command", "command": asking, "timeout": _SECONDS}
    return {"matcher": "Bash", "hooks": [command]}


def _beginning(rule: str) -> tuple[str, ...]:
    """The words that a line begins with, of a rule that leaves open how it goes on. Empty for a
    rule about anything else, a git command among them that is not known here."""
    text = _inside(rule)
    if "*" not in text:
        return ()
    words = text[: text.index("*")].removesuffix(":").split()
    return tuple(words) if words == [GIT] or _is_known(words) else ()


def _whole(rule: str) -> tuple[str, ...]:
    """The same for a rule that names a line to its end."""
    text = _inside(rule)
    try:
        commands = [] if "*" in text else line.read(text)
    except line.NotPlain:
        return ()
    return tuple(commands[0].words) if len(commands) == 1 and _is_known(commands[0].words) else ()


def _is_known(words: list[str]) -> bool:
    return words[:1] == [GIT] and "".join(words[1:2]) in FORMS


def _inside(rule: str) -> str:
    found = _RULE.fullmatch(rule)
    return found[1].strip() if found else ""
