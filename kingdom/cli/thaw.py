"""`kingdom thaw`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import about_one_or_all, command_one_or_all
from kingdom.cli.parser import Parser


def parser() -> Parser:
    made = Parser(
        "thaw",
        "Lets frozen soldiers go on where they were. Without a TASK it ends a freeze of all; "
        "a task that was frozen by itself stays so until it is thawed.",
        "kingdom thaw",
        "kingdom thaw task-20260207-001",
    )
    return about_one_or_all(made)


def run(call: Call) -> int:
    return command_one_or_all(call, parser())
