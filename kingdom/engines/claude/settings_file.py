"""A soldier's own settings file: signs of life, the question for a missing result, permissions.

The program runs each hook with `/bin/sh` in the soldier's environment.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from kingdom.engines import hooks
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
_READING = ("Read", "Grep", "Glob")


def settings(order: Order) -> str:
    """The file's content."""
    permissions = {"allow": _allowed(order)}
    return json.dumps({"hooks": _hooks(order), "permissions": permissions}, indent=2)


def tool_names(order: Order) -> tuple[str, ...]:
    """All tools the model is shown; a result can always be written."""
    named = DEFAULT_TOOLS if order.tools is None else order.tools
    return tuple(dict.fromkeys([*(_name(rule) for rule in named), "Write", "Edit"]))


def mode(order: Order) -> str:
    """Neither ever asks: nobody would answer. What neither mode nor rule allows is denied."""
    return "acceptEdits" if order.tools is None else "dontAsk"


def _allowed(order: Order) -> list[str]:
    named = DEFAULT_TOOLS if order.tools is None else order.tools
    places = dict.fromkeys(
        _spellings(order.workspace) + _spellings(order.guides or order.workspace)
    )
    allowed = [rule for rule in named if rule not in _EDITING]
    if order.isolation == "narrow":  # without a place they would hold for the whole disk
        allowed = [rule for rule in allowed if _name(rule) not in _READING]
        allowed += [_rule("Read", f"{place}/**") for place in places]
    if any(rule in _EDITING for rule in named):
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


def _hooks(order: Order) -> dict[str, Any]:
    wanted = {
        name: [hooks.heartbeat(order.heartbeat_path)]
        for name in ("PostToolUse", "PostToolUseFailure")
    }
    if not order.result_schema:  # with a schema the program itself asks, once
        wanted["Stop"] = [hooks.question(order.result_path)]
    return wanted
