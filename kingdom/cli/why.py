"""`kingdom why`: why something happened, or has not happened yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import ANY_ID, Parser
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE

if TYPE_CHECKING:
    from kingdom.ops.reasons import Explanation


def parser() -> Parser:
    made = Parser(
        "why",
        "Says why an event, task, message or soldier is where it is: what brought it there, what "
        "it waits for, and what helps. Of a trace id, all that has not come to its end. Of a pull "
        "request, an issue or a ticket, what was seen of it, or why nothing was.",
        "kingdom why evt-github-12345678",
        "kingdom why https://github.com/acme/web/pull/42",
        "kingdom why task-20260207-001 --json | jq -r '.[].reasons[].remedy'",
    )
    made.takes("id", offers=ANY_ID, metavar="ID", help="its id, a trace id, or an address")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.subjects import why_anything

    found = why_anything(base, options.id, call.environment, SystemClock())
    if options.json:
        print_json([_plain(one) for one in found])
    else:
        print(harmless("\n\n".join(map(_page, found))))
    return EXIT_DONE


def _page(one: Explanation) -> str:
    lines = [f"{one.about}  ({one.where})"]
    for reason in one.reasons:
        lines.append(f"  {harmless(reason.sentence, keep='')}")
        lines += [f"    {harmless(reason.remedy, keep='')}"] if reason.remedy else []
    return "\n".join(lines)


def _plain(one: Explanation) -> dict[str, Any]:
    return {
        "id": one.about,
        "where": one.where,
        "reasons": [reason._asdict() for reason in one.reasons],
    }
