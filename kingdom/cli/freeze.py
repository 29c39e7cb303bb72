"""`kingdom freeze`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import about_one_or_all, command_one_or_all
from kingdom.cli.parser import Parser


def parser() -> Parser:
    made = Parser(
        "freeze",
        "Suspends soldiers where they are, with all they have in mind; their clocks stand still. "
        "Without a TASK everything is frozen: no new work is started either.",
        "kingdom freeze",
        "kingdom freeze task-20260207-001",
    )
    return about_one_or_all(made)


def run(call: Call) -> int:
    return command_one_or_all(call, parser())
