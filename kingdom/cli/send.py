"""`kingdom send`: makes an event, prints its id."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.failure import did_you_mean, say
from kingdom.cli.given import content_of, name_of
from kingdom.cli.opening import open_for
from kingdom.cli.parser import FILES, TYPES, Parser
from kingdom.errors import EXIT_DONE, InvalidFile, UsageError
from kingdom.models.priority import EVENT_TYPES, PRIORITIES

EXAMPLE = "It has to be a JSON object, as in: --payload '{\"number\": 7}'"


def parser() -> Parser:
    made = Parser(
        "send",
        "Makes an event, as if it had come from outside, and prints its id. It is safe on disk "
        "when the command ends. An id that is known already is not sent a second time.",
        "kingdom send github.pr.review_requested --repo acme/web --payload '{\"number\": 7}'",
        "kingdom send kingdom.command --payload @command.json --id evt-cli-freeze-1",
        "kingdom send --file event.json",
        "jq '.id = \"evt-cli-again\"' event.json | kingdom send --file -",
    )
    made.takes(
        "type",
        nargs="?",
        offers=TYPES,
        metavar="TYPE",
        help="dotted lower-case words: github.pr.review_requested",
    )
    made.takes("--repo", metavar="R", help="the repository it is about: owner/name")
    made.takes("--payload", metavar="JSON", help="what the source said: a JSON object, or @FILE")
    made.takes(
        "--priority",
        choices=PRIORITIES,
        help="default: by the type; a waiting human and commands are high, comments low",
    )
    made.takes("--id", metavar="ID", help="default: evt-cli-... of its own")
    made.takes(
        "--file",
        offers=FILES,
        metavar="F",
        help="a whole event as JSON (- is standard input); what it lacks is filled in",
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.clock import SystemClock
    from kingdom.ops.sending import event_from, send
    from kingdom.ops.takers import nobody_takes
    from kingdom.store.formats import write_format

    now = SystemClock().now()
    fields, name = _fields(call, options)
    try:
        event = event_from(fields, now, name=name)
    except InvalidFile as fault:
        raise fault if options.file else _mistyped(fault, options.type) from None
    write_format(base)
    with closing(open_for(call, base)) as bus:
        fresh = send(bus, event)
    print(event.id)
    if not fresh:
        say(f"{event.id} was known already; nothing was sent.")
    elif doubt := nobody_takes(fields["type"], base, call.environment, now.timestamp()):
        say(doubt)
    return EXIT_DONE


def _fields(call: Call, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """What was typed or lies in the file, and how to call it when it is wrong."""
    typed = {
        "type": options.type,
        "repo": options.repo,
        "priority": options.priority,
        "id": options.id,
    }
    if options.file:
        return _from_file(call, options.file, {**typed, "payload": options.payload})
    if not options.type:
        raise UsageError("send: a TYPE or --file F is needed.", remedy="See: kingdom send --help")
    if options.payload is not None:
        typed["payload"] = _payload(call, options.payload)
    return typed, "send"


def _from_file(call: Call, path: str, typed: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from kingdom.ops.sending import payload_from

    both = [key for key, value in typed.items() if value is not None]
    if both:
        raise UsageError(
            f"send: --file gives the whole event, so {both[0]} cannot be given beside it.",
            remedy="Write it into the file instead.",
        )
    name = name_of(path)
    return payload_from(content_of(call, path), name), name


def _payload(call: Call, typed: str) -> dict[str, Any]:
    from kingdom.ops.sending import payload_from

    if typed.startswith("@"):
        return payload_from(content_of(call, typed[1:]), name_of(typed[1:]))
    try:
        return payload_from(os.fsencode(typed), "--payload")
    except InvalidFile as fault:
        remedy = EXAMPLE if fault.code == "not_json" else fault.remedy
        raise UsageError(fault.sentence, remedy=remedy) from None


def _mistyped(fault: InvalidFile, event_type: str) -> UsageError:
    if "`type`" not in fault.sentence:
        return UsageError(fault.sentence, remedy=fault.remedy)
    hint = did_you_mean(event_type, EVENT_TYPES)
    return UsageError(
        f"send: {event_type!r} is not an event type: those are dotted lower-case words.",
        remedy=hint or "For example: github.pr.review_requested",
    )
