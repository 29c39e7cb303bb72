"""`kingdom restart`: all of it, or one role."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.parser import ROLES, Parser
from kingdom.cli.start import start, suite_of
from kingdom.cli.stop import stop
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    made = Parser(
        "restart",
        "Ends all roles and starts them again, or only one. Soldiers go on and are taken over. "
        "Changed settings need no restart: roles read them anew by themselves.",
        "kingdom restart",
        "kingdom restart king",
    )
    made.takes("role", nargs="?", offers=ROLES, metavar="ROLE", help="only this one")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    if options.role:
        from kingdom.ops.restarting import restart_role

        print(f"{options.role} runs anew (pid {restart_role(base, options.role)}).")
        return EXIT_DONE
    from kingdom.ops.restarting import limited_to

    only = limited_to(base)
    suite_of(call, base, only)  # what could not start again is not stopped
    stop(base)
    return start(call, base, only)
