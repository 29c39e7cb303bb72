"""What `freeze`, `thaw`, `cancel` and `retry` have in common: a command to the king."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import open_for
from kingdom.cli.output import harmless
from kingdom.cli.parser import TASKS, Parser
from kingdom.errors import EXIT_DONE, EXIT_FAILED
from kingdom.store.paths import BaseDir


def about_one_or_all(made: Parser) -> Parser:
    made.takes(
        "task", nargs="?", offers=TASKS, metavar="TASK", help="one task instead of everything"
    )
    return made


def command_one_or_all(call: Call, made: Parser) -> int:
    """The command that this parser is of, about the task typed or else about everything."""
    options = made.read(call)
    base = call.base()
    about = {"task_id": task_meant(base, options.task)} if options.task else {}
    return command(call, base, {"command": made.command, **about})


def command(call: Call, base: BaseDir, payload: dict[str, Any]) -> int:
    """Sends it, and says what became of it."""
    from kingdom.ops.commanding import command as give
    from kingdom.store.formats import write_format

    write_format(base)
    with closing(open_for(call, base)) as bus:
        answer = give(bus, base, payload)
    if answer.refused:
        say(answer.said)
        return EXIT_FAILED
    if answer.said:
        print(harmless(answer.said))
        return EXIT_DONE
    if answer.waits:
        say(f"It waits: {answer.waits} See: kingdom why {answer.event_id}")
        return EXIT_DONE
    if not answer.king_runs:
        say(f"{answer.event_id} waits for the king, who does not run. Start: kingdom start")
        return EXIT_DONE
    say(f"The king has not come to it yet. See: kingdom why {answer.event_id}")
    return EXIT_FAILED


def task_meant(base: BaseDir, typed: str) -> str:
    from kingdom.ops.whereabouts import task_of

    return task_of(base, typed)
