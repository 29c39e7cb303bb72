"""`kingdom top`: the whole kingdom on one screen, while it works."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import terminal_width
from kingdom.cli.parser import Parser
from kingdom.cli.top_page import page
from kingdom.errors import EXIT_DONE, KingdomError, UsageError
from kingdom.store.paths import BaseDir

EVERY = 1.0
LEAST, MOST = 0.1, 3600.0


def parser() -> Parser:
    made = Parser(
        "top",
        "Shows roles, engine, queues and soldiers with what each is doing, again and again; q "
        "leaves. SPENT is what earlier attempts at the task cost, with ~ if part of it is a guess. "
        "Without a terminal it prints one round; for programs: kingdom status --json.",
        "kingdom top",
        "kingdom top --every 5",
        "kingdom top --once",
    )
    made.takes(
        "--every", type=float, default=EVERY, metavar="SECONDS", help=f"how often ({EVERY:g})"
    )
    made.takes("--once", action="store_true", help="one round, then leave")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    if not LEAST <= options.every <= MOST:
        raise UsageError(
            f"top: --every {options.every:g} is not between {LEAST:g} and {MOST:g} seconds.",
            remedy="See: kingdom top --help",
        )
    base = call.base()
    from kingdom.ops.status import status

    def look() -> dict[str, Any]:
        return status(base, call.environment)

    if options.once or not _has_terminal(call.environment):
        for line in page(look(), terminal_width()):
            print(line.text)
        return EXIT_DONE
    from kingdom.cli.top_screen import watch

    return watch(look, options.every, _zone(call, base))


def _zone(call: Call, base: BaseDir) -> tzinfo | None:
    from kingdom.settings.loading import load_some

    try:
        return load_some(["system"], base.config, call.environment).system.zone
    except KingdomError:
        return None  # the page says what is wrong


def _has_terminal(environment: Mapping[str, str]) -> bool:
    """One that can move its cursor; the others are printers."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        import curses
    except ImportError:  # a Python that was built without
        return False
    try:
        curses.setupterm(environment.get("TERM", "dumb"), sys.stdout.fileno())
    except curses.error:
        return False
    return bool(curses.tigetstr("cup"))
