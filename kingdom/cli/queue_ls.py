"""`kingdom queue ls`: a table in the order in which messages would be claimed."""

from __future__ import annotations

from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import age, count, print_json, print_table
from kingdom.cli.parser import STREAMS as OFFER_STREAMS
from kingdom.cli.parser import Parser
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE, UsageError
from kingdom.ops.listing import ENDED, Listed, counts, listing, seconds, states
from kingdom.topology import STREAMS

HEADINGS = ("ID", "WHERE", "TYPE", "PRIORITY", "AGE", "TRIES", "NOTE")


def parser(verb: str = "ls") -> Parser:
    made = Parser(
        f"queue {verb}",
        "Lists messages: those that wait, are under way or are dead, in the order they would be "
        "claimed. How many have ended is told below the table; --all lists them too.",
        "kingdom queue ls",
        "kingdom queue ls tasks --state dead",
        "kingdom queue ls --json | jq -r '.messages[].id'",
    )
    made.takes(
        "stream",
        nargs="?",
        offers=OFFER_STREAMS,
        metavar="STREAM",
        help=f"only this one of {', '.join(STREAMS)}",
    )
    made.takes("--state", metavar="S", choices=states(), help=f"only these: {', '.join(states())}")
    made.takes("--all", action="store_true", help="those that have ended as well")
    made.takes_json()
    return made


def run(call: Call, verb: str) -> int:
    options = parser(verb).read(call)
    streams = _streams(options.stream)
    wanted = _wanted(options.state, options.all)
    base = call.base()
    entries = listing(base, streams, wanted)
    left_out = counts(base, streams, set(states()) - wanted)
    now = SystemClock().now().timestamp()
    if options.json:
        print_json({"messages": [_plain(e, now) for e in entries], "not_listed": left_out})
    else:
        _print(entries, left_out, now)
    return EXIT_DONE


def _streams(name: str | None) -> tuple[str, ...]:
    if name is None:
        return tuple(STREAMS)
    if name in STREAMS:
        return (name,)
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(name, STREAMS) or f"There are: {', '.join(STREAMS)}."
    raise UsageError(f"queue ls: {name!r} is not a stream.", remedy=hint)


def _wanted(state: str | None, everything: bool) -> set[str]:
    if state:
        return {state}
    return {one for one in states() if everything or one not in ENDED}


def _print(entries: list[Listed], left_out: dict[str, dict[str, int]], now: float) -> None:
    if entries:
        print_table(HEADINGS, (_row(entry, now) for entry in entries))
    else:
        print("Nothing of that kind is there." if left_out else "The queues are empty.")
    rest = [
        f"{count(number, stream.removesuffix('s'))} {state}"
        for stream, of_state in left_out.items()
        for state, number in of_state.items()
    ]
    if rest:
        print(f"Not listed: {', '.join(rest)}.")


def _row(entry: Listed, now: float) -> tuple[str, ...]:
    made = seconds(entry.created_at)
    return (
        entry.id,
        f"{entry.stream}/{entry.state}",
        entry.type,
        entry.priority,
        "" if made is None else age(now - made),
        str(entry.attempts),
        note(entry, now),
    )


def note(entry: Listed, now: float) -> str:
    """The one thing most worth knowing about it, and what went wrong last."""
    parts = [_holder(entry), _wait(entry, now)]
    if entry.damaged:
        parts.append(f"damaged: {entry.damaged}")
    if entry.crashes:
        parts.append(f"lost {count(entry.crashes, 'worker')}")
    if entry.error_code:
        parts.append(f"{entry.error_code}: {entry.error}")
    return "; ".join(part for part in parts if part)


def _holder(entry: Listed) -> str:
    if not entry.held_by:
        return ""
    from kingdom.bus.lease import Holder

    holder = Holder.parse(entry.held_by)
    if holder is None:
        return f"held by {entry.held_by}"
    what = "was held by" if holder.is_gone() else "held by"
    return f"{what} {holder.worker} (pid {holder.pid})"


def _wait(entry: Listed, now: float) -> str:
    due = seconds(entry.due_at)
    return f"due in {age(due - now + 1)}" if due is not None and due > now else ""


def _plain(entry: Listed, now: float) -> dict[str, Any]:
    made = seconds(entry.created_at)
    return entry._asdict() | {
        "age_seconds": None if made is None else round(max(now - made, 0.0), 3),
        "damaged": entry.damaged or None,
    }
