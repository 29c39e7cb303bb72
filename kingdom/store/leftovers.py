"""Temporaries of writers that were killed between writing and renaming.

A role clears them when it takes its seat, so a kingdom that was killed is clean once it runs again.
The bus sees to its own in `state/bus/tmp/`, and whoever prepares a workspace to those in there.
"""

from __future__ import annotations

import os

from kingdom import pids
from kingdom.store import disk
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir


def clear(base: BaseDir) -> None:
    """What was left in `state/`, one level deep, and in `memory/`."""
    for directory in _places(base):
        clear_in(directory)


def found(base: BaseDir) -> list[str]:
    """What `clear` would remove."""
    return [path for directory in _places(base) for path in _in(directory)]


def _places(base: BaseDir) -> list[str]:
    in_memory = [base.path("memory", "repos"), *_below(base.path("memory", "generals"))]
    return [base.state, *_below(base.state, but=base.bus), *in_memory]


def clear_in(directory: str) -> int:
    """How many there were. What is no file of ours, whatever its name, stays and harms nobody."""
    return sum(map(_removed, _in(directory)))


def _removed(path: str) -> bool:
    try:
        return disk.remove(path)
    except PermissionError:  # of a directory that became another's
        return False


def _in(directory: str) -> list[str]:
    paths = (
        os.path.join(directory, name)
        for name in _names(directory)
        if name.startswith(TEMPORARY_PREFIX) and writer_is_gone(name)
    )
    return [path for path in paths if os.path.islink(path) or not os.path.isdir(path)]


def writer_is_gone(name: str) -> bool | None:
    """Whether the process that a temporary's name carries is dead; None if it carries none."""
    pid, _, rest = name.removeprefix(TEMPORARY_PREFIX).partition("-")
    if not pid.isdecimal():
        return None
    started, lives_since = rest.partition("-")[0], pids.started(int(pid))
    if lives_since is None:
        return True
    return started.isdecimal() and int(started) != lives_since


def _below(directory: str, but: str = "") -> list[str]:
    paths = (os.path.join(directory, name) for name in _names(directory))
    return [path for path in paths if path != but and os.path.isdir(path)]


def _names(directory: str) -> list[str]:
    """None in what is no directory, or may not be looked into."""
    try:
        return disk.names(directory)
    except (NotADirectoryError, PermissionError):
        return []
