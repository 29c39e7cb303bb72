"""`kingdom report`: what happened in a day or a week."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import Parser
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    made = Parser(
        "report",
        "Prints the report of a day, or of the week it lies in: tasks, soldiers, durations, cost, "
        "failures, and what else was noticed. Without a date, the last day or week that is over, "
        "or else the one that is under way.",
        "kingdom report",
        "kingdom report --date today",
        "kingdom report --week --json | jq .costs",
    )
    made.takes("--date", metavar="D", help="2026-02-07, today or yesterday")
    made.takes("--week", action="store_true", help="the week, Monday to Sunday")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.reports import report

    found = report(base, call.environment, SystemClock(), options.date, week=options.week)
    if options.json:
        print_json(found.report)
    else:
        print(harmless(found.text))
    return EXIT_DONE
