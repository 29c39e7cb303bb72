"""Temporaries of writers that were killed between writing and renaming.

A role clears them when it takes its seat, so a kingdom that was killed is clean once it runs again.
The bus sees to its own in `state/bus/tmp/`, and whoever prepares a workspace to those in there.
"""

from __future__ import annotations

import os

from kingdom.pids import started
from kingdom.store import disk
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir


def clear(base: BaseDir) -> None:
    """What was left in `state/`, one level deep, and where generals keep their memory."""
    for directory in (base.state, *_below(base.state, but=base.bus)):
        clear_in(directory)
    for directory in _below(base.path("memory", "generals")):
        clear_in(directory)


def clear_in(directory: str) -> None:
    for name in disk.names(directory):
        if name.startswith(TEMPORARY_PREFIX) and _is_abandoned(name):
            disk.remove(os.path.join(directory, name))


def _is_abandoned(name: str) -> bool:
    pid = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
    return pid.isdecimal() and started(int(pid)) is None


def _below(directory: str, but: str = "") -> list[str]:
    paths = (os.path.join(directory, name) for name in disk.names(directory))
    return [path for path in paths if path != but and os.path.isdir(path)]
