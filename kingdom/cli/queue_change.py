"""`kingdom queue retry` and `kingdom queue drop`."""

from __future__ import annotations

from contextlib import closing

from kingdom.cli.call import Call
from kingdom.cli.opening import settings_from
from kingdom.cli.parser import IDS, Parser
from kingdom.errors import EXIT_DONE
from kingdom.ops.choosing import find, find_one
from kingdom.ops.listing import ENDED, Listed, states
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD

TEXTS = {
    "retry": (
        "Puts a dead message back to pending, with clean counts. A file that went to dead/ because "
        "it was invalid is read again first: mend it where it lies, then retry it.",
        "kingdom queue retry evt-github-12345678",
        "kingdom queue ls --state dead     # then, for one of them:",
    ),
    "drop": (
        "Moves a message to dead/ with the reason `dropped`, so that nobody handles it. One that a "
        "living worker holds is refused, and so is an event whose task has not ended: kingdom "
        "cancel ends that. kingdom queue retry puts it back. For a task of which actions are held "
        "it decides against those.",
        "kingdom queue drop evt-github-12345678",
        "kingdom queue drop results/task-20260207-001",
    ),
}
LIVE = {state for state in states() if state not in (*ENDED, DEAD)}


def parser(verb: str) -> Parser:
    made = Parser(f"queue {verb}", *TEXTS[verb])
    made.takes("id", offers=IDS, metavar="ID", help="its id, or STREAM/ID")
    return made


def run(call: Call, verb: str) -> int:
    options = parser(verb).read(call)
    base = call.base()
    from kingdom.ops.steering import refusal_to_drop, refusal_to_retry

    if verb == "drop":
        from kingdom.ops.releasing import drop_actions

        if drop_actions(base, options.id):
            print(f"What was held of {options.id} will not be done.")
            return EXIT_DONE
    entry = find_one(base, options.id, {DEAD} if verb == "retry" else LIVE, verb)
    if entry is None:
        refusal = refusal_to_retry if verb == "retry" else refusal_to_drop
        raise refusal(find(base, options.id)[0])
    print(_change(call, base, entry, verb))
    return EXIT_DONE


def _change(call: Call, base: BaseDir, entry: Listed, verb: str) -> str:
    from kingdom.bus.files.caretaker import Caretaker
    from kingdom.bus.opening import open_bus
    from kingdom.ops.steering import drop, retry

    settings = settings_from(call, base, "system")
    caretaker = Caretaker(base)
    with closing(open_bus(base, settings)) as bus:
        if verb == "retry":
            return f"{retry(bus, caretaker, entry)} is pending again."
        drop(bus, caretaker, entry)
        return f"{entry.id} lies in {entry.stream}/{DEAD} now."
