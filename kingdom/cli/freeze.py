"""`kingdom freeze`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import command, task_meant
from kingdom.cli.parser import TASKS, Parser


def parser() -> Parser:
    made = Parser(
        "freeze",
        "Suspends soldiers where they are, with all they have in mind; their clocks stand still. "
        "Without a TASK everything is frozen: no new work is started either.",
        "kingdom freeze",
        "kingdom freeze task-20260207-001",
    )
    made.takes(
        "task", nargs="?", offers=TASKS, metavar="TASK", help="one task instead of everything"
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    about = {"task_id": task_meant(base, options.task)} if options.task else {}
    return command(call, base, {"command": "freeze", **about})
