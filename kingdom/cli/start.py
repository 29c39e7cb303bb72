"""`kingdom start`: the suite, in the background or here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.output import harmless
from kingdom.cli.parser import ROLES, Parser
from kingdom.errors import EXIT_DONE, EXIT_FAILED
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.ops.suite import Suite

UNMEASURED = (
    "Nobody measures this machine, so all work is let in, however busy it is. "
    "To have it measured, add chamberlain to --roles."
)
LINES = 8  # of the log, for a role that did not start


def parser() -> Parser:
    made = Parser(
        "start",
        "Starts all roles and keeps them running: one that dies is started again. Comes back when "
        "every role is up; what went wrong otherwise is said here. Where kingdom systemd "
        "install has put units, systemd starts and keeps them.",
        "kingdom start",
        "kingdom start --foreground          # logs on this terminal, Ctrl-C ends it",
        "kingdom start --roles king,gen-pr   # only these, for example on a second machine",
    )
    made.takes("--foreground", action="store_true", help="stay here, as systemd wants it")
    made.takes(
        "--roles", offers=ROLES, metavar="A,B", help="only these roles; general means all generals"
    )
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    only = [name.strip() for name in (options.roles or "").split(",") if name.strip()]
    return start(call, call.base(), only, foreground=options.foreground)


def start(call: Call, base: BaseDir, only: list[str], *, foreground: bool = False) -> int:
    from kingdom.ops.starting import forget_measurements, refuse_second, refuse_unfit_disk, run_here
    from kingdom.ops.starting import start as start_in_background
    from kingdom.ops.systemd.manager import keeper
    from kingdom.ops.trusted_files import refuse_to_obey_another

    refuse_second(base)
    refuse_unfit_disk(base)
    suite = suite_of(call, base, only)
    if manager := keeper(base, call.environment):
        from kingdom.cli import by_systemd
        from kingdom.ops.doctor.surroundings import judged

        code = by_systemd.start(base, suite, manager, foreground=foreground)
        if forget_measurements(base, suite):
            print(UNMEASURED)
        _name_unusable(suite)
        _say_what_is_missing(suite, judged(base, call.environment), base)
        return code
    refuse_to_obey_another(base)
    if foreground:
        return run_here(base, suite, dict(call.environment))
    started = start_in_background(base, suite, dict(call.environment))
    if started.up:
        print(f"Running (pid {started.pid}): {', '.join(started.up)}.")
    if started.unmeasured:
        print(UNMEASURED)
    for name in started.silent:
        say(f"{name} has not shown life yet. See: kingdom logs {name}")
    for problem in dict.fromkeys(started.failed.values()):
        _explain(base, [name for name, why in started.failed.items() if why == problem], problem)
    unusable = _name_unusable(suite)
    _say_what_is_missing(suite, call.environment, base)
    return EXIT_FAILED if started.failed or started.silent or unusable else EXIT_DONE


def suite_of(call: Call, base: BaseDir, only: list[str]) -> Suite:
    """What is to run; from here on the base directory has files and rights of this version."""
    from kingdom.clock import SystemClock
    from kingdom.ops.starting import close_to_others
    from kingdom.ops.suite import Suite
    from kingdom.ops.trusted_files import refuse_open_program
    from kingdom.runtime.config import LiveConfig
    from kingdom.store.formats import write_format

    refuse_open_program()
    suite = Suite(LiveConfig(base, dict(call.environment), SystemClock()), only)
    write_format(base)
    close_to_others(base, suite.config.current.settings.system)
    return suite


def _name_unusable(suite: Suite) -> bool:
    """Whether there is a general package that cannot be used; events that may be for it wait."""
    unusable = suite.config.current.unusable
    for name, fault in unusable.items():
        say(f"{name} is not started: {fault}")
    return bool(unusable)


def _explain(base: BaseDir, names: list[str], problem: str) -> None:
    """What such a role said last is worth a look, if it lived to say anything."""
    from kingdom.ops.logs import of_start

    again = "It is tried again" if len(names) == 1 else "They are tried again"
    say(f"{', '.join(names)} did not start: {problem}. {again}; see: kingdom status")
    for name in names if problem.startswith(("exit code", "killed by")) else ():
        for line in of_start(base, name, LINES):
            print(harmless(f"    {line}"), file=sys.stderr)


def _say_what_is_missing(suite: Suite, environment: Mapping[str, str], base: BaseDir) -> None:
    """Without an engine events wait, and without members all work is outsiders': better said now
    than wondered about later."""
    from kingdom.engines.choice import availability
    from kingdom.ops.trust_to_add import recent_events, trust_to_add

    engine = availability(suite.config.current.settings, environment, base.root)
    if not engine.available:
        say(f"Events will wait: {engine.reason} {engine.remedy}".strip())
    for line in trust_to_add(suite.config.current.settings.sentinel, recent_events(base)):
        print(harmless(line, keep=""))
