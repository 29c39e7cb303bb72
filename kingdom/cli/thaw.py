"""`kingdom thaw`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import command, task_meant
from kingdom.cli.parser import TASKS, Parser


def parser() -> Parser:
    made = Parser(
        "thaw",
        "Lets frozen soldiers go on where they were. Without a TASK it ends a freeze of all; "
        "a task that was frozen by itself stays so until it is thawed.",
        "kingdom thaw",
        "kingdom thaw task-20260207-001",
    )
    made.takes(
        "task", nargs="?", offers=TASKS, metavar="TASK", help="one task instead of everything"
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    about = {"task_id": task_meant(base, options.task)} if options.task else {}
    return command(call, base, {"command": "thaw", **about})
