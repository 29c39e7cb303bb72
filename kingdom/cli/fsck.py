"""`kingdom fsck`: what is wrong, in a sentence each, and the exact repair."""

from __future__ import annotations

from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.opening import settings_from
from kingdom.cli.output import count, harmless, print_json
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE, EXIT_FAILED
from kingdom.store.paths import BaseDir


def parser() -> Parser:
    made = Parser(
        "fsck",
        "Checks every invariant of the directories: names, contents, ids that lie twice, what a "
        "crash left behind, sequences, rights, the version of the files. It changes nothing unless "
        "asked to, and is safe while everything runs. Exit code 1 means that findings are left.",
        "kingdom fsck",
        "kingdom fsck --fix",
        "kingdom fsck --json | jq -r '.findings[].path'",
    )
    made.takes("--fix", action="store_true", help="do the repairs, and say what was done")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base_of_any_format()
    from kingdom.ops.fsck.examine import examine

    repaired = _repair(call, base, aloud=not options.json) if options.fix else []
    tried = {one.finding: one.sentence for one in repaired}
    findings = [_with_what_was_tried(finding, tried) for finding in examine(base)]
    left = [finding for finding in findings if not finding.note]
    if options.json:
        print_json(
            {
                "clean": not left,
                "findings": [_plain(finding) for finding in findings],
                "repaired": [_plain(one.finding) | {"done": one.sentence} for one in repaired],
            }
        )
    else:
        _print(findings, len(left), options.fix)
    return EXIT_FAILED if left else EXIT_DONE


def _repair(call: Call, base: BaseDir, *, aloud: bool) -> list[Any]:
    from kingdom.bus.opening import open_bus
    from kingdom.ops.fsck.repair import repair

    repaired = []
    # Only when one is needed: what makes a setting readable again works without it.
    for done in repair(base, lambda: open_bus(base, settings_from(call, base, "system"))):
        repaired.append(done)
        if aloud:
            print(harmless(f"{done.finding.path}: {done.finding.sentence} {done.sentence}"))
    return repaired


def _with_what_was_tried(finding: Any, tried: dict[Any, str]) -> Any:
    """What was repaired and is still so is not told to be repaired in the same way."""
    from dataclasses import replace

    said = tried.get(finding)
    return finding if said is None else replace(finding, repair=f"--fix did not help: {said}")


def _plain(finding: Any) -> dict[str, Any]:
    return {
        "check": finding.check,
        "path": finding.path,
        "sentence": finding.sentence,
        "repair": finding.repair,
        "fixable": finding.fix is not None,
        "note": finding.note,
    }


def _print(findings: list[Any], left: int, fixed: bool) -> None:
    for finding in findings:
        mark = "note: " if finding.note else ""
        print(harmless(f"{finding.path}: {mark}{finding.sentence}"))
        print(harmless(f"    repair: {finding.repair}"))
    if left:
        print(f"{count(left, 'finding')} {'left' if fixed else 'in all'}.")
    else:
        print("Everything is as it should be.")
