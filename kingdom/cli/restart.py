"""`kingdom restart`: all of it, or one role."""

from __future__ import annotations

from kingdom.cli import by_systemd
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
    from kingdom.ops.systemd.manager import keeper

    manager = keeper(base, call.environment)
    if options.role:
        from kingdom.ops.restarting import restart_role

        name = options.role
        anew = by_systemd.restart_role(base, manager, name) if manager else restart_role(base, name)
        print(f"{name} runs anew (pid {anew}).")
        return EXIT_DONE
    from kingdom.ops.restarting import limited_to
    from kingdom.ops.starting import refuse_unfit_disk

    refuse_unfit_disk(base)
    only = limited_to(base)
    suite = suite_of(call, base, only)  # what could not start again is not stopped
    if manager:
        return by_systemd.restart(base, suite, manager)
    stop(call, base)
    return start(call, base, only)
