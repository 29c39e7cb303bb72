"""What Claude Code and Codex run for us while a soldier works, in the form both of them read.

Paths are spelled out, so that a hook needs nothing of the soldier's environment but its PATH.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

_SECONDS = 10
_ASKED_FOR = (
    "Your result is missing. Write it now, as one JSON object in the form your instructions name, "
    "to {path} and then stop."
)


def heartbeat(path: str) -> dict[str, Any]:
    """A sign of life, after whichever tool."""
    return {"matcher": "*", **_hook(f"touch -- {shlex.quote(path)}")}


def question(path: str) -> dict[str, Any]:
    """For a missing result, before it stops; once, since the program says in what it tells the hook
    whether it goes on because of it."""
    answer = {"decision": "block", "reason": _ASKED_FOR.format(path=path)}
    lines = (
        'case "$(cat)" in',
        """*'"stop_hook_active":true'* | *'"stop_hook_active": true'*) exit 0 ;;""",
        "esac",
        f"[ -s {shlex.quote(path)} ] || printf '%s' {shlex.quote(json.dumps(answer))}",
    )
    return _hook("\n".join(lines))


def _hook(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": _SECONDS}]}
