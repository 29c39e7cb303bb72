"""`start`, `stop` and `restart` of a kingdom that systemd keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kingdom.cli.failure import say
from kingdom.errors import EXIT_DONE, EXIT_FAILED, NeverWorks
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.ops.stopping import Stopped
    from kingdom.ops.suite import Suite
    from kingdom.ops.systemd.manager import Manager
    from kingdom.ops.systemd.running import Started


def start(base: BaseDir, suite: Suite, manager: Manager, *, foreground: bool) -> int:
    from kingdom.ops.systemd import running

    if foreground:
        raise NeverWorks(
            "systemd keeps this kingdom, and a warden would do so as well.",
            remedy="Start it there: kingdom start; or first: kingdom systemd uninstall",
        )
    names = [post.name for post in suite.posts()]
    return _say(base, running.start(base, manager, names, everything=not suite.only))


def restart(base: BaseDir, suite: Suite, manager: Manager) -> int:
    from kingdom.ops.systemd import running

    return _say(base, running.restart(base, manager, [post.name for post in suite.posts()]))


def restart_role(base: BaseDir, manager: Manager, name: str) -> int:
    from kingdom.ops.systemd import running

    return running.restart_role(base, manager, name)


def stop(base: BaseDir, manager: Manager) -> Stopped:
    from kingdom.ops.systemd import running

    return running.stop_all(base, manager)


def _say(base: BaseDir, started: Started) -> int:
    from kingdom.ops.systemd.units import target_name, unit_name

    if started.up:
        print(f"Running under systemd ({target_name(base)}): {', '.join(started.up)}.")
    for name in started.silent:
        unit = unit_name(base, name)
        say(f"{name} ({unit}) has not shown life yet. See: kingdom logs {name}, kingdom status")
    return EXIT_FAILED if started.silent else EXIT_DONE
