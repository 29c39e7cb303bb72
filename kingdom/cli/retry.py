"""`kingdom retry`: a task that has ended, once more. Dead messages have `kingdom queue retry`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import command, task_meant
from kingdom.cli.parser import TASKS, Parser


def parser() -> Parser:
    made = Parser(
        "retry",
        "Makes a new task of one that has ended, with the same payload. It begins in the workspace "
        "that the first one left; --fresh begins in a clean one. It is new work: while none is let "
        "in, as when health is red, it waits and the command says so. For a message in dead/ use "
        "kingdom queue retry.",
        "kingdom retry task-20260207-001",
        "kingdom retry task-20260207-001 --fresh",
    )
    made.takes("task", offers=TASKS, metavar="TASK", help="its id, its event's or its soldier's")
    made.takes("--fresh", action="store_true", help="in a clean workspace")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    task = task_meant(base, options.task)
    fresh = {"fresh": True} if options.fresh else {}
    return command(call, base, {"command": "retry", "task_id": task, **fresh})
