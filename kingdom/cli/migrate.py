"""`kingdom migrate`."""

from __future__ import annotations

import os
from contextlib import closing

from kingdom.cli.backup import say_what_is_not_in_it
from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import settings_from
from kingdom.cli.output import count
from kingdom.cli.parser import FILES, Parser
from kingdom.errors import EXIT_DONE
from kingdom.store.paths import BaseDir


def parser() -> Parser:
    made = Parser(
        "migrate",
        "Upgrades the files in queue/ and state/ to the version this program works with. A backup "
        "is written first. Stop everything that uses them before.",
        "kingdom migrate --dry-run",
        "kingdom migrate --backup /backups/before-migration.tar.gz",
    )
    made.takes("--dry-run", action="store_true", help="only say what would be done")
    made.takes(
        "--backup",
        offers=FILES,
        metavar="FILE",
        help="where the backup goes (default: a name with the date, in this directory)",
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base_of_any_format()
    from kingdom.store.formats import FORMAT, check_format, format_of

    found = format_of(base)
    if found >= FORMAT:
        check_format(base)
        print(f"{base.root} is of format {FORMAT}, the current one; there is nothing to do.")
        return EXIT_DONE
    from kingdom.ops.migration import plan

    planned = plan(base)
    for path in planned.invalid:
        say(f"{path} cannot be read and stays as it is; kingdom fsck says why.")
    if options.dry_run:
        print(
            f"Would write a backup and bring {count(planned.count, 'message')} to format {FORMAT}."
        )
    else:
        archive = _migrate(call, base, planned, options.backup)
        print(f"The backup is {archive}.")
        print(f"{count(planned.count, 'message')} brought to format {FORMAT}.")
    return EXIT_DONE


def _migrate(call: Call, base: BaseDir, planned: object, named: str | None) -> str:
    from kingdom.bus.opening import open_bus
    from kingdom.ops.backup import backup, default_name
    from kingdom.ops.migration import Plan, migrate

    assert isinstance(planned, Plan)
    target = os.path.join(call.working_dir, named or default_name(base))
    settings = settings_from(call, base, "system")
    with closing(open_bus(base, settings)) as bus:
        written = backup(base, bus, target)
        say_what_is_not_in_it(written)
        migrate(base, bus, planned)
    return written.path
