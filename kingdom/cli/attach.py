"""`kingdom attach`: a soldier's own terminal."""

from __future__ import annotations

import os
import sys

from kingdom.cli.call import Call
from kingdom.cli.parser import SOLDIERS, Parser
from kingdom.errors import EXIT_DONE, NotFound


def parser() -> Parser:
    made = Parser(
        "attach",
        "Shows the tmux session of a soldier on this terminal; Ctrl-B D leaves it, and the soldier "
        "goes on. Without a terminal it prints the tmux command that would do so.",
        "kingdom attach soldier-1770458521-1",
        "kingdom attach task-20260207-001    # the soldier that is at it",
    )
    made.takes("soldier", offers=SOLDIERS, metavar="SOLDIER", help="its id, or its task's")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.clients.tmux import Tmux, socket_name
    from kingdom.ops.whereabouts import soldier_of

    soldier = soldier_of(base, options.soldier)
    tmux = Tmux(base, call.environment)
    if soldier not in tmux.sessions():
        raise NotFound(
            f"{soldier} is not at work any more.",
            remedy=f"See what it said: kingdom logs {soldier}",
        )
    if sys.stdin.isatty() and sys.stdout.isatty():
        argv = tmux.attach_argv(soldier)
        os.execv(argv[0], argv)
    print(f"tmux -L {socket_name(base)} attach-session -t ={soldier}")
    return EXIT_DONE
