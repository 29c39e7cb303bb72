"""`kingdom cancel`."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.command import command, task_meant
from kingdom.cli.parser import TASKS, Parser


def parser() -> Parser:
    made = Parser(
        "cancel",
        "Ends a task: its soldier is ended with everything it started, and nothing is tried again. "
        "kingdom retry makes a new task of it.",
        "kingdom cancel task-20260207-001",
        "kingdom cancel evt-github-12345678   # the task of that event",
    )
    made.takes("task", offers=TASKS, metavar="TASK", help="its id, its event's or its soldier's")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    task = task_meant(base, options.task)
    return command(call, base, {"command": "cancel", "task_id": task})
