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
        "Looks at Python, git, tmux, gh, the base directory and its disk, who may read and change "
        "it, what killed processes left, the configuration, every general, the accounts that are "
        "in use (GitHub, Jira, Slack: whose token, what it may do, and whether the clocks agree), "
        "and each engine: program, version, login, and whether it rests. It changes nothing unless "
        "asked to, and spends no money. Exit code 1 means that something is in the way.",
        "kingdom doctor",
        "kingdom doctor --fix",
        "kingdom doctor --json | jq '.checks[] | select(.state != \"ok\")'",
    )
    made.takes("--fix", action="store_true", help="mend what is safe to, and say what was done")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    from kingdom.ops.doctor.examine import mend
    from kingdom.ops.doctor.finding import PROBLEM

    findings = _examined(call)
    mended = mend(findings) if options.fix else []
    if mended:
        findings = _examined(call)
    problems = sum(one.state == PROBLEM for one in findings)
    if options.json:
        fixed = [_plain(one) | {"done": done} for one, done in mended]
        checks = [_plain(one) for one in findings]
        print_json({"healthy": not problems, "checks": checks, "fixed": fixed})
    else:
        for one, done in mended:
            print(harmless(f"fixed    {one.what}: {one.sentence} {done}", keep=""))
        _print(findings)
    return EXIT_FAILED if problems else EXIT_DONE


def _examined(call: Call) -> list[Finding]:
    from kingdom.ops.doctor.examine import examine

    try:
        return examine(call.base_of_any_format(), call.environment)
    except ConfigurationError as missing:
        return examine(None, call.environment, missing)


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
