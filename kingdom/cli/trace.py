"""`kingdom trace`: the story of an event, task, message or soldier, in order, with times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json, print_table
from kingdom.cli.parser import ANY_ID, Parser
from kingdom.errors import EXIT_DONE

if TYPE_CHECKING:
    from kingdom.ops.tracing import Moment, Story

HEADINGS = ("TIME", "AFTER", "WHO", "ABOUT", "WHAT")


def parser() -> Parser:
    made = Parser(
        "trace",
        "Tells the story that an event, task, message or soldier belongs to, from the first thing "
        "that is known of it: what happened, when, and who did it. A trace id is fine too.",
        "kingdom trace evt-github-12345678",
        "kingdom trace task-20260207-001 --json | jq -r '.moments[].text'",
    )
    made.takes("id", offers=ANY_ID, metavar="ID", help="its id, or a trace id")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.tracing import trace

    story = trace(base, options.id)
    if options.json:
        print_json(_plain(story))
    else:
        _print(story)
    return EXIT_DONE


def _print(story: Story) -> None:
    from kingdom.ops.listing import seconds

    begin = seconds(story.moments[0].at) or 0.0
    print_table(HEADINGS, [_row(one, (seconds(one.at) or begin) - begin) for one in story.moments])
    for one in story.waiting:
        where = f"{one.stream}/{one.state}"
        print(harmless(f"{one.id} lies in {where} now: kingdom why {one.id}", keep=""))


def _row(one: Moment, after: float) -> tuple[str, ...]:
    from kingdom.ops.tracing import in_utc

    return in_utc(one.at), f"+{after:.2f}s", one.who, one.about, one.text


def _plain(story: Story) -> dict[str, Any]:
    return {
        "id": story.name,
        "names": sorted(story.journey.names),
        "moments": [one._asdict() for one in story.moments],
        "waiting": [{"id": one.id, "where": f"{one.stream}/{one.state}"} for one in story.waiting],
    }
