"""`kingdom backup`."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import settings_from
from kingdom.cli.output import count
from kingdom.cli.parser import FILES, Parser
from kingdom.errors import EXIT_DONE, EXIT_FAILED, ConfigurationError
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.bus.files.bus import FileBus
    from kingdom.ops.backup import Written

LISTED = 20  # of what is missing; the rest is counted


def parser() -> Parser:
    made = Parser(
        "backup",
        "Writes an archive of config/, queue/, state/ and memory/, consistent while everything "
        "runs. logs/ and workspace/ are left out. It holds what people wrote, so only this user "
        "may read it. kingdom restore makes a kingdom of it again. What cannot be read is left out "
        "and named: exit code 1 with an archive means that.",
        "kingdom backup",
        "kingdom backup /backups/kingdom-monday.tar.gz --with-logs",
    )
    made.takes(
        "file",
        nargs="?",
        offers=FILES,
        metavar="FILE",
        help="where to (default: a name with the date, in this directory)",
    )
    made.takes("--with-logs", action="store_true", help="logs/ as well")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.backup import backup, default_name

    target = os.path.join(call.working_dir, options.file or "")
    if os.path.isdir(target):
        target = os.path.join(target, default_name(base))
    with closing(_bus(call, base)) as bus:
        written = backup(base, bus, target, with_logs=options.with_logs)
    print(written.path)
    left_out = "workspace/" if options.with_logs else "logs/ and workspace/"
    say(f"{count(written.files, 'file')}, {written.size:,} bytes; {left_out} left out.")
    say_what_is_not_in_it(written)
    return EXIT_FAILED if written.missing else EXIT_DONE


def _bus(call: Call, base: BaseDir) -> FileBus:
    """Settings that cannot be read are the last reason to be without a backup."""
    from kingdom.bus.opening import open_bus
    from kingdom.settings.loading import Settings

    try:
        settings = settings_from(call, base, "system")
    except ConfigurationError as fault:
        say(f"{fault} The backup is made all the same.")
        settings = Settings()
    return open_bus(base, settings)


def say_what_is_not_in_it(written: Written) -> None:
    for name in written.skipped:
        say(f"{name} is not a plain file and was left out.")
    for one in written.missing[:LISTED]:
        say(f"{one.sentence} {one.remedy}")
    more = len(written.missing) - LISTED
    if more > 0:
        say(f"{more:,} more could not be read and are not in the archive.")
