"""`kingdom clean`: what has had its time, why, and what stays because somebody needs it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import settings_from
from kingdom.cli.output import age, count, harmless, print_json, print_table
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE

if TYPE_CHECKING:
    from kingdom.chamberlain.cleaning.finds import Tally
    from kingdom.ops.cleaning import Cleaned, Lying

_UNITS = ("B", "KB", "MB", "GB")
MOST_REASONS = 5  # that are shown of one kind
NOBODY = "{general} is not installed: remove it yourself, if nothing in it is wanted"


def parser() -> Parser:
    made = Parser(
        "clean",
        "Removes what has had its time by chamberlain.yaml's retention, as the chamberlain does "
        "every night. What a task, a question or an event still needs stays, and is named. "
        "Worktrees and clones are only shown: their general removes them within the hour.",
        "kingdom clean --dry-run",
        "kingdom clean",
        "kingdom clean --dry-run --json | jq '.kinds[] | {kind, count, bytes}'",
    )
    made.takes("--dry-run", action="store_true", help="only show what would go, and why")
    made.takes(
        "--clock-is-right",
        action="store_true",
        help="do not wait until the clock has run for a day, at first or after it was moved",
    )
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.cleaning import clean

    done = clean(
        base,
        settings_from(call, base, "system", "chamberlain"),
        call.environment,
        dry=options.dry_run,
        clock_is_right=options.clock_is_right,
    )
    if options.json:
        print_json(_plain(done, options.dry_run))
    else:
        _print(done, options.dry_run)
    for sentence in done.trouble + [one.trouble for one in done.tallies if one.trouble]:
        say(sentence)
    return EXIT_DONE


def _plain(done: Cleaned, dry: bool) -> dict[str, Any]:
    from datetime import UTC, datetime

    from kingdom.clock import isoformat

    def moment(at: float | None) -> str | None:
        return None if at is None else isoformat(datetime.fromtimestamp(at, UTC))

    return {
        "dry_run": dry,
        "count": sum(one.count for one in done.tallies),
        "bytes": sum(one.size for one in done.tallies),
        "kinds": [
            {
                "kind": one.kind,
                "rule": one.rule,
                "count": one.count,
                "bytes": one.size,
                "oldest": moment(one.oldest),
                "kept": [{"reason": why, "count": n} for why, n in one.kept.items()],
            }
            for one in done.tallies
        ],
        "workspaces": [
            {
                "general": one.general,
                "kind": one.kind,
                "path": one.path,
                "why": one.why,
                "is_installed": one.is_installed,
            }
            for one in done.workspaces
        ],
    }


def _print(done: Cleaned, dry: bool) -> None:
    going = [one for one in done.tallies if one.count]
    if going:
        print_table(("KIND", "FILES", "SIZE", "OLDEST", "KEPT FOR"), map(_row, going))
    for one in done.tallies:
        for reason, number in one.kept.most_common(MOST_REASONS):
            print(harmless(f"{one.kind}: {count(number, 'file')} kept. {reason}"))
        if len(one.kept) > MOST_REASONS:
            print(f"{one.kind}: more is kept, for {len(one.kept) - MOST_REASONS} other reasons.")
    for lying in done.workspaces:
        print(harmless(_line(lying)))
    files, size = sum(one.count for one in going), sum(one.size for one in going)
    verb = "would go" if dry else "removed"
    print(
        f"{count(files, 'file')} {verb}, {_size(size)}." if files else "Nothing has had its time."
    )


def _row(one: Tally) -> tuple[str, ...]:
    oldest = age(time.time() - one.oldest) if one.oldest is not None else ""
    return one.kind, str(one.count), _size(one.size), oldest, one.rule


def _line(one: Lying) -> str:
    who = f"{one.general} removes it within the hour"
    if not one.is_installed:
        who = NOBODY.format(general=one.general)
    return f"{one.kind} {one.path}: {one.why} ({who})"


def _size(number: float) -> str:
    for unit in _UNITS[:-1]:
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} {_UNITS[-1]}"
