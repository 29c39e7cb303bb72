"""`kingdom doctor`: what this machine lacks for a kingdom, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.output import count, harmless, print_json
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE, EXIT_FAILED, ConfigurationError
from kingdom.words.columns import padded

if TYPE_CHECKING:
    from kingdom.ops.doctor.finding import Finding


def parser() -> Parser:
    made = Parser(
        "doctor",
        "Looks at Python, git, tmux, gh, the base directory and its disk, the configuration, every "
        "general, and each engine: program, version, login, and whether it rests. It changes "
        "nothing and spends no money. Exit code 1 means that something is in the way.",
        "kingdom doctor",
        "kingdom doctor --json | jq '.checks[] | select(.state != \"ok\")'",
    )
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    from kingdom.ops.doctor.examine import examine
    from kingdom.ops.doctor.finding import PROBLEM

    try:
        findings = examine(call.base_of_any_format(), call.environment)
    except ConfigurationError as missing:
        findings = examine(None, call.environment, missing)
    problems = sum(one.state == PROBLEM for one in findings)
    if options.json:
        print_json({"healthy": not problems, "checks": [_plain(one) for one in findings]})
    else:
        _print(findings)
    return EXIT_FAILED if problems else EXIT_DONE


def _plain(finding: Finding) -> dict[str, str | None]:
    return {
        "state": finding.state,
        "what": finding.what,
        "sentence": finding.sentence,
        "remedy": finding.remedy or None,
    }


def _print(findings: list[Finding]) -> None:
    from kingdom.ops.doctor.finding import PROBLEM, WARNING

    column = max(len(one.what) for one in findings) + 2
    for one in findings:
        what = padded(harmless(one.what, keep=""), column)
        print(f"{one.state:<9}{what}{harmless(one.sentence, keep='')}")
        if one.remedy:
            print(f"{'':<9}{'':<{column}}{harmless(one.remedy, keep='')}")
    told = {state: sum(one.state == state for one in findings) for state in (PROBLEM, WARNING)}
    listed = ", ".join(count(number, state) for state, number in told.items() if number)
    print(f"{listed}." if listed else "Nothing is missing.")
