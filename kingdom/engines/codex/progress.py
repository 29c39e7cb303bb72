"""What a soldier is doing now, in a few words, from the end of what the program has printed."""

from __future__ import annotations

import re
import shlex

from kingdom.engines.account import entry_of
from kingdom.engines.codex.stream import DEED
from kingdom.engines.json_lines import Distinct, Entry, part, text
from kingdom.engines.masked import Masked
from kingdom.store import disk
from kingdom.words.harmless import at_a_glance

_TAIL = 256 * 1024
_RETRY = re.compile(r"Reconnecting\.\.\. (\d+)/(\d+) \((.*)\)", re.DOTALL)
_STATUS = re.compile(r"\bstatus:? (\d{3})\b")


class Progress:
    """Remembers how far it has counted, so that a long log is read once."""

    def __init__(self, masked: Masked) -> None:
        self._masked = masked
        self._turns = Distinct(DEED)

    def of(self, path: str) -> str:
        for line in reversed(disk.tail(path, _TAIL).split(b"\n")):
            entry = entry_of(line)
            if _doing(entry):
                doing = _doing(self._masked(entry))
                turn = self._turns.count(path)
                return f"{doing} (turn {turn})" if turn else doing
        return ""


def _doing(entry: Entry) -> str:
    kind = text(entry, "type")
    if kind.startswith("item."):
        return _at_work(part(entry, "item"))
    if kind == "error":
        return _retry(text(entry, "message"))
    if kind in ("turn.completed", "turn.failed"):
        return "ended"
    return "starts" if kind in ("thread.started", "turn.started") else ""


def _at_work(item: Entry) -> str:
    kind = text(item, "type")
    if kind == "command_execution":
        return f"command: {at_a_glance(_command(text(item, 'command')))}"
    if kind == "file_change":
        return f"edit: {at_a_glance(_paths(item))}"
    if kind == "web_search":
        return f"web search: {at_a_glance(text(item, 'query'))}"
    if kind == "mcp_tool_call":
        return f"tool: {at_a_glance(text(item, 'tool'))}"
    return at_a_glance(text(item, "text")) if kind == "agent_message" else ""


def _command(spelled: str) -> str:
    """Without the shell that runs it."""
    try:
        words = shlex.split(spelled)
    except ValueError:
        return spelled
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else spelled


def _paths(item: Entry) -> str:
    changes = item.get("changes")
    listed = [one for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []
    paths = [text(one, "path") for one in listed]
    return f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else "".join(paths)


def _retry(message: str) -> str:
    found = _RETRY.match(message)
    if found is None:
        return at_a_glance(message)
    status = _STATUS.search(found[3])
    return f"retry {found[1]} of {found[2]} after {status[1] if status else at_a_glance(found[3])}"
