"""`kingdom run`: one role in this process, which is what a service manager calls."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.parser import ROLES, Parser
from kingdom.cli.start import suite_of


def parser() -> Parser:
    made = Parser(
        "run",
        "Runs one role here until it is asked to end (Ctrl-C, SIGTERM). This is what systemd "
        "calls; kingdom start runs all of them and restarts what dies.",
        "kingdom run king",
        "kingdom run gen-pr",
    )
    made.takes("role", offers=ROLES, metavar="ROLE", help="king, envoy, or a general's name")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    suite = suite_of(call, base, [])
    make = suite.make_of(options.role)
    from kingdom.ops.starting import prepare_limits
    from kingdom.ops.trusted_files import refuse_to_obey_another
    from kingdom.runtime.role import run as run_role

    refuse_to_obey_another(base)
    prepare_limits()
    return run_role(base, options.role, make, dict(call.environment), config=suite.config)
