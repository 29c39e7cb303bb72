"""`kingdom queue show`: where a message lies, who holds it, and what is in it."""

from __future__ import annotations

import json
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import IDS, Parser
from kingdom.cli.queue_ls import note
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE
from kingdom.ops.choosing import find
from kingdom.ops.listing import LARGEST, Listed, read_reason
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX


def parser(verb: str = "show") -> Parser:
    made = Parser(
        f"queue {verb}",
        "Shows where a message lies and its content; of one in dead/ also the reason file.",
        "kingdom queue show evt-github-12345678",
        "kingdom queue show results/task-20260207-001",
        "kingdom queue show evt-cli-1 --json | jq .content.payload",
    )
    made.takes("id", offers=IDS, metavar="ID", help="its id, or STREAM/ID")
    made.takes_json()
    return made


def run(call: Call, verb: str) -> int:
    options = parser(verb).read(call)
    found = find(call.base(), options.id)
    if options.json:
        print_json([_plain(entry) for entry in found])
    else:
        print("\n".join(_page(entry) for entry in found))
    return EXIT_DONE


def _plain(entry: Listed) -> dict[str, Any]:
    try:
        content: Any = json.loads(_content(entry))
    except (ValueError, RecursionError):
        content = None
    return entry._asdict() | {"content": content, "reason": read_reason(entry.path) or None}


def _page(entry: Listed) -> str:
    lines = [entry.path]
    about = note(entry, SystemClock().now().timestamp())
    lines += [about] if about else []
    lines.append(_content(entry).rstrip("\n"))
    reason = read_reason(entry.path)
    if reason:
        spelled = json.dumps(reason, ensure_ascii=False, indent=2)
        lines += [entry.path + REASON_SUFFIX, spelled]
    return harmless("\n".join(lines))


def _content(entry: Listed) -> str:
    """The file as it is; nothing of one that cannot be read."""
    try:
        return disk.read(entry.path, LARGEST)[0].decode("utf-8", "backslashreplace")
    except OSError:
        return ""
