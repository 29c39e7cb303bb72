"""`kingdom release`: what the outbound gate holds leaves as it is; what a limit stopped goes on."""

from __future__ import annotations

from contextlib import closing

from kingdom.cli.call import Call
from kingdom.cli.command import command
from kingdom.cli.opening import open_for
from kingdom.cli.parser import IDS, Parser
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    made = Parser(
        "release",
        "Lets pass what was held because it may hold a secret: a message is sent as it is, the "
        "actions of a task are done. Look at it first: kingdom queue show ID. It holds for exactly "
        "these words and commits. kingdom queue drop ID decides against it. An event that met a "
        "limit of its conversation, or that a bot started, is taken up, and the counts of the "
        "conversation begin anew.",
        "kingdom release msg-20260207-004",
        "kingdom release task-20260207-001",
        "kingdom release evt-github-42",
    )
    made.takes("id", offers=IDS, metavar="ID", help="of a held message, a task or an event")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.releasing import held_message, is_event, release_message
    from kingdom.runtime import held_actions

    if held_actions.read(base, options.id) is not None:
        return command(call, base, {"command": "release", "task_id": options.id})
    if is_event(base, options.id):
        return command(call, base, {"command": "release", "event_id": options.id})
    entry = held_message(base, options.id)
    with closing(open_for(call, base)) as bus:
        release_message(bus, entry)
    print(f"{entry.id} is pending again, and is sent as it is.")
    return EXIT_DONE
