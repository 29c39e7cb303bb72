"""Reads what the program prints: one JSON object a line, written while it runs.

    thread.started {thread_id} · turn.started · item.started, item.updated, item.completed {item}
    error {message}: it tries again, or gives up · turn.completed {usage} or turn.failed {error}

An item of the type `error` is a warning, and no failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kingdom.engines import account as accounts
from kingdom.engines.account import entry_of
from kingdom.engines.json_lines import Entry, number, part, text
from kingdom.engines.same_call import Call

# What a soldier does, each a turn; the program does not tell how often the model answered.
DEEDS = (
    "agent_message",
    "collab_tool_call",
    "command_execution",
    "file_change",
    "mcp_tool_call",
    "web_search",
)
_CALLS = ("command_execution", "mcp_tool_call", "web_search")
_OF_ONE_CALL = ("id", "aggregated_output", "exit_code", "status", "result", "error")
# Written so by the program; inside of a command's output the quotes are escaped.
DEED = re.compile(
    rb'\{"type":"item\.\w+","item":\{"id":"([^"]{1,100})","type":"(?:%s)"'
    % "|".join(DEEDS).encode()
)


@dataclass
class Account(accounts.Account):
    """`error` is why it gave up."""

    usage: Entry = field(default_factory=dict)  # of the session so far
    is_completed: bool = False
    is_failed: bool = False
    deeds: set[str] = field(default_factory=set)

    @property
    def has_ended(self) -> bool:
        return self.is_completed or self.is_failed


def read(path: str) -> Account:
    return accounts.read(path, Account(), lambda account, line: _take(account, entry_of(line)))


def _take(account: Account, entry: Entry) -> None:
    kind = entry.get("type")
    if kind == "thread.started":
        account.session_id = text(entry, "thread_id")
    elif kind == "turn.started":
        account.is_completed = account.is_failed = False
    elif kind == "turn.completed":
        account.is_completed, account.usage = True, part(entry, "usage")
    elif kind == "turn.failed":
        account.is_failed = True
        account.error = text(part(entry, "error"), "message") or account.error
    elif kind == "error":
        account.error = text(entry, "message")
    elif text(entry, "type").startswith("item."):  # not all that begin are told to have ended
        _take_item(account, part(entry, "item"))


def _take_item(account: Account, item: Entry) -> None:
    if text(item, "type") in DEEDS:
        account.deeds.add(text(item, "id"))
    if text(item, "type") == "agent_message":
        account.last_text = text(item, "text") or account.last_text


def tokens(usage: Entry) -> dict[str, int]:
    """Named and counted as for other engines: what came from a cache is not `input` as well."""
    told = {
        "output": int(number(usage, "output_tokens")),
        "cache_read": int(number(usage, "cached_input_tokens")),
        "cache_creation": int(number(usage, "cache_write_input_tokens")),
    }
    cached = told["cache_read"] + told["cache_creation"]
    return {"input": max(int(number(usage, "input_tokens")) - cached, 0), **told}


def spent(account: Account, earlier: Mapping[str, object]) -> dict[str, int]:
    """Tokens of this run alone, with those of killed runs before it that nobody could count."""
    total, known = tokens(account.usage), part(earlier, "session_tokens")
    before = {name: int(number(known, name)) for name in total}
    if any(total[name] < before[name] for name in total):
        return total  # a version that does not add up, or another session
    return {name: total[name] - before[name] for name in total}


def calls(line: bytes) -> Iterator[Call]:
    """What a line tells of the tools that are used."""
    entry = entry_of(line) if b'"item.completed"' in line else {}
    item = part(entry, "item")
    if text(item, "type") in _CALLS:
        what = {name: value for name, value in item.items() if name not in _OF_ONE_CALL}
        yield Call("", text(item, "id"), json.dumps(what, sort_keys=True))
