"""A soldier's own settings file: signs of life, the question for a missing result, permissions.

The program runs each hook with `/bin/sh` in the soldier's environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from kingdom.engines import hooks
from kingdom.engines.claude.shell import rules
from kingdom.engines.claude.shell.gate import Gate
from kingdom.engines.port import Order

# Whoever gives no list of tools gets these: work in the workspace, and nothing outside of it.
DEFAULT_TOOLS = (
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Task",
    "TodoWrite",
    "Write",
)
# One permission in the program: a rule for Edit holds for all of them.
_EDITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")
# What nobody's work needs, and what must not end up in a comment on a pull request.
_NOT_READ = (
    "~/.ssh/**",
    "~/.aws/**",
    "~/.config/gh/**",
    "~/.config/gcloud/**",
    "~/.kube/**",
    "~/.azure/**",
    "~/.docker/config.json",
    "~/.gnupg/**",
    "~/.npmrc",
    "~/.pypirc",
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.claude/.credentials.json",
    "~/.codex/auth.json",
    "//proc/**",
)
# The same within a base directory: specs hold the environments of other soldiers.
_NOT_READ_OF_BASE = (
    "state/soldiers/**",
    "state/engines/**/.credentials.json",
    "config/local/**",
)
# Whoever writes there decides what git runs; its own commands know the way.
_OF_GIT = (".git", ".git/**", "**/.git", "**/.git/**")


def settings(order: Order, root: str) -> str:
    """The file's content; `root` is the base directory."""
    gate = rules.gate_for(order.tools, order.workspace)
    permissions = {"allow": _allowed(order), "deny": [*_denied(order, root)]}
    return json.dumps({"hooks": _hooks(order, gate), "permissions": permissions}, indent=2)


def tool_names(order: Order) -> tuple[str, ...]:
    """All tools the model is shown; a result can always be written."""
    named = DEFAULT_TOOLS if order.tools is None else order.tools
    return tuple(dict.fromkeys([*(_name(rule) for rule in named), "Write", "Edit"]))


def mode(order: Order) -> str:
    """Neither ever asks: nobody would answer. What neither mode nor rule allows is denied."""
    return "acceptEdits" if order.tools is None else "dontAsk"


def _denied(order: Order, root: str) -> Iterator[str]:
    for pattern in _NOT_READ:
        yield f"Read({pattern})"
    for place in _spellings(root):
        for pattern in _NOT_READ_OF_BASE:
            yield f"Read(/{_escaped(place)}/{pattern})"
    if not rules.may_run_everything(order.tools):
        for place in _spellings(order.workspace):
            yield from (f"Edit(/{_escaped(place)}/{pattern})" for pattern in _OF_GIT)
    if order.home:
        yield _rule("Read", f"{order.home}/.credentials.json")


def _allowed(order: Order) -> list[str]:
    named = DEFAULT_TOOLS if order.tools is None else order.tools
    allowed = [rule for rule in rules.for_program(named) if rule not in _EDITING]
    if any(rule in _EDITING for rule in named):
        # Without a place they would hold for the whole disk.
        allowed += [_rule("Edit", f"{place}/**") for place in _spellings(order.workspace)]
    return allowed + [_rule("Edit", path) for path in _spellings(order.result_path)]


def _spellings(path: str) -> list[str]:
    """The program compares names before and after it follows links; both must be allowed."""
    return list(dict.fromkeys((path, os.path.realpath(path))))


def _rule(tool: str, path: str) -> str:
    """For this path exactly; `/**` at its end means all below. A second slash: from the root."""
    stem, below = (path[:-3], "/**") if path.endswith("/**") else (path, "")
    return f"{tool}(/{_escaped(stem)}{below})"


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[\]!#])", r"\\\1", path)


def _name(rule: str) -> str:
    return rule.partition("(")[0].strip()


def _hooks(order: Order, gate: Gate | None) -> dict[str, Any]:
    wanted = {
        name: [hooks.heartbeat(order.heartbeat_path)]
        for name in ("PostToolUse", "PostToolUseFailure")
    }
    if gate:
        wanted["PreToolUse"] = [rules.hook(gate)]
    if not order.result_schema:  # with a schema the program itself asks, once
        wanted["Stop"] = [hooks.question(order.result_path)]
    return wanted
