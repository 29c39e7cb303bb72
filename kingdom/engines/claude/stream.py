"""Reads what the program prints: one JSON object a line, written while it runs.

Lines that are none (a half-written last one, garbage) are passed over, and so is whatever has
another form than expected: versions differ, and a run is judged by what can be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kingdom.engines.json_lines import Entry, number, part, text

TOKENS = {
    "input": ("input_tokens", "inputTokens"),
    "output": ("output_tokens", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_creation": ("cache_creation_input_tokens", "cacheCreationInputTokens"),
}
SYNTHETIC = "<synthetic>"  # the program's own words in the model's place
# Tool results are most of a log and tell nothing here; they are not taken apart.
_TELLING = re.compile(rb'"type":\s*"(?:assistant|result|rate_limit_event|system)"')


@dataclass
class Account:
    """What a run has told of itself."""

    version: str = ""
    session_id: str = ""
    results: list[Entry] = field(default_factory=list)  # more than one after background work
    error: str = ""  # the program's word for what the API refused, at the end of the run
    last_text: str = ""
    retry: Entry = field(default_factory=dict)
    limit: Entry = field(default_factory=dict)  # the last news of a usage limit
    usage: dict[str, dict[str, int]] = field(default_factory=dict)  # per message of the model
    models: dict[str, None] = field(default_factory=dict)
    last_written: float = 0.0  # seconds of the wall clock
    is_empty: bool = True

    @property
    def result(self) -> Entry:
        return self.results[-1] if self.results else {}


def read(path: str) -> Account:
    """All of it, line by line."""
    account = Account()
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            account.last_written, account.is_empty = facts.st_mtime, facts.st_size == 0
            for line in file:
                _take(account, entry_of(line))
    except FileNotFoundError:
        pass
    return account


def entry_of(line: bytes) -> Entry:
    """Empty for what tells nothing."""
    if _TELLING.search(line) is None:
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _take(account: Account, entry: Entry) -> None:
    kind = entry.get("type")
    if kind == "result":
        account.results.append(entry)
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
        account.usage[text(message, "id")] = tokens(part(message, "usage"))
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
