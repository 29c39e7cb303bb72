"""`kingdom logs`: what was written, and what is being written."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kingdom.cli.call import Call
from kingdom.cli.output import harmless
from kingdom.cli.parser import LOGS, Parser
from kingdom.errors import EXIT_DONE, NotFound
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.ops.logs import Source

LINES = 40
LOOK_AGAIN = 0.2
FILES = {
    "system": "system.log",
    "tasks": "tasks.log",
    "events": "events.log",
    "console": "console.log",
    "warden": "warden.log",
}


def parser() -> Parser:
    made = Parser(
        "logs",
        "Prints the last lines of a log: of all roles, of one, of a soldier, or all that was "
        f"written about a task. By name there are also: {', '.join(FILES)}.",
        "kingdom logs -f",
        "kingdom logs gen-pr -n 100",
        "kingdom logs soldier-1770458521-1",
        "kingdom logs task-20260207-001",
        "kingdom logs console -f             # what people are told",
    )
    made.takes(
        "about", nargs="?", offers=LOGS, metavar="WHAT", help="a role, a soldier, a task, or a log"
    )
    made.takes("-f", "--follow", action="store_true", help="go on with new lines as they come")
    made.takes("-n", "--lines", type=int, default=LINES, metavar="N", help=f"how many ({LINES})")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.logs import last_lines
    from kingdom.runtime.secrets import Masker

    masked = Masker(call.environment).text  # a soldier prints what it likes
    sources = _sources(base, options.about)
    lines = last_lines(sources, max(options.lines, 0)) if options.lines > 0 else []
    for line in lines:
        print(harmless(masked(line)))
    if options.follow:
        _follow(sources, masked)
    if not lines:
        print("Nothing has been written there yet.", file=sys.stderr)
    return EXIT_DONE


def _sources(base: BaseDir, about: str | None) -> list[Source]:
    from kingdom.ops.logs import Source, everything, of_role
    from kingdom.ops.suite import role_names

    if about == "warden":  # and what goes to no log but its own
        own = Source(os.path.join(base.logs, FILES[about]), everything)
        return [Source(base.system_log, of_role(about)), own]
    if about is None or about in FILES:
        return [Source(os.path.join(base.logs, FILES[about or "system"]), everything)]
    if about in role_names(base):
        return [Source(base.system_log, of_role(about))]
    return _of_work(base, about)


def _of_work(base: BaseDir, about: str) -> list[Source]:
    """A soldier's own output, or every line that names a task."""
    from kingdom.ops.logs import Source, everything, with_id
    from kingdom.ops.suite import role_names
    from kingdom.ops.whereabouts import SOLDIER_PREFIX, soldier_of, task_of

    if about.startswith(SOLDIER_PREFIX):
        stem = os.path.join(base.logs, "sessions", soldier_of(base, about))
        return [Source(stem + ".json", everything), Source(stem + ".err", everything)]
    try:
        task = task_of(base, about)
    except NotFound as fault:
        known = ", ".join((*role_names(base), *FILES))
        raise NotFound(
            f"There is no role, soldier, task or log {about!r}.",
            remedy=fault.remedy if "Did you mean" in fault.remedy else f"There are: {known}.",
        ) from None
    names = ("tasks.log", "system.log")
    return [Source(os.path.join(base.logs, name), with_id(task)) for name in names]


def _follow(sources: list[Source], masked: Callable[[str], str]) -> None:
    """Until it is interrupted."""
    from kingdom.ops.logs import follow

    for line in follow(sources, _pause):
        if line:
            print(harmless(masked(line)))
        else:
            sys.stdout.flush()


def _pause() -> None:
    """Ends early when whoever reads has gone: an idle log would never notice."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)
    if any(what & (select.POLLERR | select.POLLHUP) for _, what in poller.poll(LOOK_AGAIN * 1000)):
        raise BrokenPipeError
