"""Reads what the program prints: one JSON object a line, written while it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kingdom.engines import account as accounts
from kingdom.engines.json_lines import Entry, number, part, text
from kingdom.engines.same_call import Call

TOKENS = {
    "input": ("input_tokens", "inputTokens"),
    "output": ("output_tokens", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheCreationInputTokens"),
}
SYNTHETIC = "<synthetic>"  # the program's own words in the model's place
_WAITING = ("BashOutput", "TaskOutput")  # for something that runs; its time is limited otherwise
# Tool results are most of a log and tell nothing here; they are not taken apart.
_TELLING = re.compile(rb'"type":\s*"(?:assistant|result|rate_limit_event|system)"')


@dataclass
class Account(accounts.Account):
    """`error` is the program's word for what the API refused, at the end of the run."""

    version: str = ""
    results: list[Entry] = field(default_factory=list)  # more than one after background work
    retry: Entry = field(default_factory=dict)
    limit: Entry = field(default_factory=dict)  # the last news of a usage limit
    usage: dict[str, dict[str, int]] = field(default_factory=dict)  # per message of the model
    unbilled: dict[str, dict[str, int]] = field(default_factory=dict)  # since the last result line
    models: dict[str, None] = field(default_factory=dict)

    @property
    def result(self) -> Entry:
        return self.results[-1] if self.results else {}

    @property
    def is_cut(self) -> bool:
        """Whether the model was asked something that no result line tells the cost of. Before its
        first answer it was if the program has begun, and does not complain that there is none."""
        waits = bool(self.version) and not self.retry
        return bool(self.unbilled) or (not self.results and waits)


def read(path: str) -> Account:
    return accounts.read(path, Account(), lambda account, line: _take(account, entry_of(line)))


def entry_of(line: bytes) -> Entry:
    """Empty for what tells nothing."""
    return accounts.entry_of(line) if _TELLING.search(line) else {}


def _take(account: Account, entry: Entry) -> None:
    kind = entry.get("type")
    if kind == "result":
        account.results.append(entry)
        account.unbilled.clear()
    elif kind == "rate_limit_event":
        account.limit = part(entry, "rate_limit_info")
    elif kind == "assistant":
        _take_message(account, entry)
    elif kind == "system" and entry.get("subtype") == "api_retry":
        account.retry = entry
    elif kind == "system" and entry.get("subtype") == "init":
        account.version = text(entry, "claude_code_version")
    if kind is not None:
        account.session_id = text(entry, "session_id") or account.session_id


def _take_message(account: Account, entry: Entry) -> None:
    message = part(entry, "message")
    model = text(message, "model")
    if model and model != SYNTHETIC:
        account.models[model] = None
        used = tokens(part(message, "usage"))
        account.usage[text(message, "id")] = account.unbilled[text(message, "id")] = used
    if entry.get("parent_tool_use_id") is not None:
        return  # a helper of the soldier's
    account.error = text(entry, "error")
    account.last_text = said(message) or account.last_text


def said(message: Entry) -> str:
    return "\n".join(text(block, "text") for block in blocks(message, "text")).strip()


def blocks(message: Entry, kind: str) -> Iterator[Entry]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def tokens(usage: Entry) -> dict[str, int]:
    return {
        name: int(next((number(usage, key) for key in keys if key in usage), 0))
        for name, keys in TOKENS.items()
    }


def calls(line: bytes) -> Iterator[Call]:
    """What a line tells of the tools that are used."""
    entry = entry_of(line) if b'"tool_use"' in line else {}
    if entry.get("type") != "assistant":
        return
    for block in blocks(part(entry, "message"), "tool_use"):
        name = text(block, "name")
        what = "" if name in _WAITING else json.dumps([name, block.get("input")], sort_keys=True)
        yield Call(text(entry, "parent_tool_use_id"), text(block, "id"), what)
