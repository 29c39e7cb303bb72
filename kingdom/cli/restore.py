"""`kingdom restore`."""

from __future__ import annotations

import os
import shlex

from kingdom.cli.call import Call
from kingdom.cli.output import count
from kingdom.cli.parser import DIRECTORIES, FILES, Parser
from kingdom.errors import EXIT_DONE, UsageError
from kingdom.store.paths import BASE_DIR_VARIABLE


def parser() -> Parser:
    made = Parser(
        "restore",
        "Makes a base directory from an archive, into a place that does not exist or is empty. The "
        "archive is checked as a whole before anything is put there.",
        "kingdom restore kingdom-monday.tar.gz ~/kingdom",
        "mv ~/kingdom ~/kingdom.old && kingdom restore kingdom-monday.tar.gz ~/kingdom",
    )
    made.takes("file", offers=FILES, metavar="FILE", help="an archive that kingdom backup wrote")
    made.takes(
        "dir",
        nargs="?",
        offers=DIRECTORIES,
        metavar="DIR",
        help=f"where to (default: --base-dir, else {BASE_DIR_VARIABLE})",
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    place = options.dir or call.base_dir or call.environment.get(BASE_DIR_VARIABLE)
    if not place:
        raise UsageError(
            "restore: it does not say where to.",
            remedy=f"Name a directory: kingdom restore {shlex.quote(options.file)} DIR",
        )
    from kingdom.ops.restore import restore

    target = os.path.abspath(os.path.join(call.working_dir, os.path.expanduser(place)))
    manifest = restore(os.path.join(call.working_dir, options.file), target)
    print(
        f"{target} is the kingdom of {manifest.created_at}: {count(len(manifest.files), 'file')}."
    )
    print(f"Next:\n  cd {shlex.quote(target)}\n  kingdom fsck")
    return EXIT_DONE
