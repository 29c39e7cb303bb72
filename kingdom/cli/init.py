"""`kingdom init`: says what it made, what was there, and what to type next."""

from __future__ import annotations

import os
import shlex

from kingdom.cli.call import Call
from kingdom.cli.output import count
from kingdom.cli.parser import DIRECTORIES, Parser
from kingdom.errors import EXIT_DONE
from kingdom.store.paths import BaseDir


def parser() -> Parser:
    made = Parser(
        "init",
        "Makes a base directory: commented default configuration, empty queues, places for state, "
        "logs, workspaces and memory. Whatever is there already stays as it is; run it again after "
        "an upgrade to get the files that are new.",
        "kingdom init ~/kingdom",
        "kingdom init            # in this directory",
    )
    made.takes(
        "dir",
        nargs="?",
        offers=DIRECTORIES,
        metavar="DIR",
        help="where (default: --base-dir, else this directory)",
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    from kingdom.ops.init import init

    place = options.dir or call.base_dir or call.working_dir
    base = BaseDir(os.path.join(call.working_dir, os.path.expanduser(place)))
    outcome = init(base)
    if outcome.made:
        print(f"Made in {base.root}:")
        _list(outcome.made)
    if outcome.kept:
        print(f"There already, and left as it was: {count(len(outcome.kept), 'file')}.")
    print("\n".join(_next_steps(call, base, outcome.format)))
    return EXIT_DONE


def _list(names: list[str]) -> None:
    """One line per directory, so that twenty files do not hide each other."""
    by_directory: dict[str, list[str]] = {}
    for name in names:
        by_directory.setdefault(os.path.dirname(name), []).append(os.path.basename(name))
    for directory, made in by_directory.items():
        print(f"  {directory + '/':<14} {', '.join(made)}")


def _next_steps(call: Call, base: BaseDir, found_format: int) -> list[str]:
    from kingdom.cli.launcher import typed_first
    from kingdom.store.formats import FORMAT

    lines = typed_first(call)
    if base.root != call.working_dir:
        lines.append(f"  cd {shlex.quote(base.root)}")
    if found_format != FORMAT:
        lines.append("  kingdom migrate        # its messages are of an older version")
    else:
        lines.append("  kingdom send github.pr.review_requested --payload '{\"number\": 7}'")
        lines.append("  kingdom queue ls")
        lines.append("  kingdom start              # kingdom status says what is still missing")
    return ["Next:", *lines]
