"""`kingdom stop`: everything ends in order."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.output import count
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE
from kingdom.store.paths import BaseDir

NO_SOLDIERS = "No soldier is at work."


def parser() -> Parser:
    made = Parser(
        "stop",
        "Ends the warden and all roles, each after the step it is in. Soldiers go on, and what "
        "they finish meanwhile is taken in at the next start; --soldiers ends them too, and their "
        "tasks are tried again then.",
        "kingdom stop",
        "kingdom stop --soldiers",
    )
    made.takes("--soldiers", action="store_true", help="end running soldiers as well")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base_of_any_format()
    if not stop(call, base):
        print("Nothing runs here.")
    if options.soldiers:
        _end_soldiers(call, base)
    return EXIT_DONE


def _end_soldiers(call: Call, base: BaseDir) -> None:
    from kingdom.ops.stopping import end_soldiers

    ended = end_soldiers(base, call.environment)
    print(f"Ended {count(len(ended), 'soldier')}: {', '.join(ended)}." if ended else NO_SOLDIERS)


def stop(call: Call, base: BaseDir) -> bool:
    """Says what was ended, if anything; whether there was."""
    from kingdom.cli import by_systemd
    from kingdom.ops.stopping import stop as end
    from kingdom.ops.systemd.manager import holder
    from kingdom.runtime.processes import WARDEN, Seat

    manager = holder(base, call.environment)
    if manager and not manager.is_there():
        if not Seat(base, WARDEN).is_taken():
            raise manager.unreachable()
        manager = None  # a warden can be ended all the same
    stopped = by_systemd.stop(base, manager) if manager else end(base)
    for name in stopped.killed:
        say(f"{name} would not end and was killed. See why: kingdom logs {name}")
    for name in stopped.left:
        say(f"{name} cannot even be killed; it waits for the disk or the network: dmesg says more.")
    ended = [*stopped.ended, *stopped.killed]
    if ended:
        print(f"Ended: {', '.join(reversed(ended))}.")
    return bool(ended or stopped.left)
