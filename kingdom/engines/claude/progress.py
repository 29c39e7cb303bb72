"""What a soldier is doing now, in a few words, from the end of what the program has printed."""

from __future__ import annotations

import re

from kingdom.engines.claude.stream import blocks, entry_of, said
from kingdom.engines.json_lines import Distinct, Entry, number, part, text
from kingdom.engines.masked import Masked
from kingdom.store import disk
from kingdom.words.harmless import at_a_glance

_TAIL = 256 * 1024
# What tells most of a tool's use, the first that is there.
_TELLING = (
    "file_path",
    "notebook_path",
    "command",
    "pattern",
    "url",
    "query",
    "path",
    "description",
)
_MESSAGE = re.compile(rb'"id":"(msg_[^"]{1,100})"')


class Progress:
    """Remembers how far it has counted, so that a long log is read once."""

    def __init__(self, masked: Masked) -> None:
        self._masked = masked
        self._turns = Distinct(_MESSAGE)  # how often the model has answered

    def of(self, path: str) -> str:
        lines = disk.tail(path, _TAIL).split(b"\n")
        doing, warning = "", ""
        for line in reversed(lines):
            entry = entry_of(line)
            warning = warning or _warning(entry)
            if _doing(entry):
                doing = _doing(self._masked(entry))
                break
        if not doing:
            return warning
        turn = self._turns.count(path)
        where = f" (turn {turn})" if turn else ""
        return f"{doing}{where}{'; ' if warning else ''}{warning}"


def _doing(entry: Entry) -> str:
    kind, subtype = entry.get("type"), entry.get("subtype")
    if kind == "assistant":
        return _at_work(part(entry, "message"))
    if kind == "result":
        return "ended"
    if kind == "system" and subtype == "api_retry":
        return _retry(entry)
    return "starts" if kind == "system" and subtype == "init" else ""


def _at_work(message: Entry) -> str:
    used = [
        f"{text(block, 'name')}{_of(part(block, 'input'))}" for block in blocks(message, "tool_use")
    ]
    return used[-1] if used else at_a_glance(said(message))


def _of(given: Entry) -> str:
    found = next((text(given, key) for key in _TELLING if text(given, key)), "")
    return f": {at_a_glance(found)}" if found else ""


def _retry(entry: Entry) -> str:
    why = int(number(entry, "error_status")) or text(entry, "error") or "an error"
    of = f"{number(entry, 'attempt'):.0f} of {number(entry, 'max_retries'):.0f}"
    return f"retry {of} after {'no answer' if why == 'unknown' else why}"


def _warning(entry: Entry) -> str:
    if entry.get("type") != "rate_limit_event":
        return ""
    news = part(entry, "rate_limit_info")
    limit = text(news, "rateLimitType").replace("_", "-") or "usage"
    if text(news, "status") == "rejected":
        return f"{limit} limit reached"
    share = number(news, "utilization")
    return f"{share:.0%} of the {limit} limit used" if share else ""
