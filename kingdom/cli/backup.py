"""`kingdom backup`."""

from __future__ import annotations

import os
from contextlib import closing

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import settings_from
from kingdom.cli.output import count
from kingdom.cli.parser import FILES, Parser
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    made = Parser(
        "backup",
        "Writes an archive of config/, queue/, state/ and memory/, consistent while everything "
        "runs. logs/ and workspace/ are left out. It holds what people wrote, so only this user "
        "may read it. kingdom restore makes a kingdom of it again.",
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
    from kingdom.bus.opening import open_bus
    from kingdom.ops.backup import backup, default_name

    target = os.path.join(call.working_dir, options.file or "")
    if os.path.isdir(target):
        target = os.path.join(target, default_name(base))
    settings = settings_from(call, base, "system")
    with closing(open_bus(base, settings)) as bus:
        written = backup(base, bus, target, with_logs=options.with_logs)
    print(written.path)
    left_out = "workspace/" if options.with_logs else "logs/ and workspace/"
    say(f"{count(written.files, 'file')}, {written.size:,} bytes; {left_out} left out.")
    for name in written.skipped:
        say(f"{name} is not a plain file and was left out.")
    return EXIT_DONE
