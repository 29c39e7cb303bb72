"""Ending the suite: the warden ends its roles in order; what is left without one is ended too."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kingdom.runtime.processes import PATIENCE, WARDEN, Seat, end_all, until
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import GENERAL_PREFIX, START_ORDER, role_of

if TYPE_CHECKING:
    from kingdom.general.spec import SoldierFiles

# As long as a warden may take that has to kill every role, one kind after the other.
PATIENCE_WITH_WARDEN = PATIENCE * (len(START_ORDER) + 1)


@dataclass
class Stopped:
    ended: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)  # would not end by themselves
    left: list[str] = field(default_factory=list)  # nor when they were killed


def running(base: BaseDir) -> list[Seat]:
    """Every role that runs, in the order they start, whoever started it."""
    names = [name for name in _seats(base) if _is_role(name)]
    names.sort(key=lambda name: (START_ORDER.index(role_of(name)), name))
    return [seat for seat in (Seat(base, name) for name in names) if seat.is_taken()]


def _seats(base: BaseDir) -> list[str]:
    """In a directory that this user may not look into nobody is found; they end by themselves."""
    try:
        return disk.names(base.state)
    except (PermissionError, NotADirectoryError):
        return []


def _is_role(name: str) -> bool:
    return name in START_ORDER or name.startswith(GENERAL_PREFIX)


def stop(base: BaseDir) -> Stopped:
    """Nothing of the suite runs afterwards; soldiers go on."""
    stopped = Stopped()
    before = running(base)
    warden = Seat(base, WARDEN)
    if warden.is_taken():
        before.append(warden)
        stopped.killed += [seat.name for seat in end_all([warden], PATIENCE_WITH_WARDEN)]
    for role in reversed(START_ORDER):
        left = [seat for seat in running(base) if role_of(seat.name) == role]
        stopped.killed += [seat.name for seat in end_all(left)]
    stopped.left = [seat.name for seat in before if seat.is_taken()]
    stopped.killed = [name for name in stopped.killed if name not in stopped.left]
    stopped.ended = [
        seat.name for seat in before if seat.name not in (*stopped.killed, *stopped.left)
    ]
    return stopped


def end_soldiers(base: BaseDir, environment: Mapping[str, str]) -> list[str]:
    """Ends every soldier; back when nothing runs that one of them started.

    Their wrappers are asked first and note it, so that none is taken for lost. A wrapper or a tmux
    that was killed has left what it should have ended, and a general may not have seen it yet.
    """
    from kingdom.clients.tmux import Tmux
    from kingdom.general.spec import SoldierFiles

    tmux, files = Tmux(base, environment), SoldierFiles(base)
    at_work = {name for name in files.all_ids() if _is_at_work(files, name)}
    names = sorted(tmux.sessions() | at_work)
    if names:
        for name in names:
            _ask_to_stop(files, name)
        until(lambda: not any(is_running(base, name) for name in names), PATIENCE)
        tmux.end_server()
        until(lambda: not any(is_running(base, name) for name in names), PATIENCE)
        until(lambda: not _end_strays(names), PATIENCE)
    return names


def _is_at_work(files: SoldierFiles, soldier: str) -> bool:
    from kingdom.engines import tree

    if files.exit_of(soldier) is not None:
        return False
    runner = files.runner_of(soldier)
    return runner is not None and (runner.is_alive() or bool(tree.members(runner.pid, soldier)))


def _end_strays(soldiers: Sequence[str]) -> bool:
    """Whether there were any."""
    from kingdom.engines import tree

    survey = tree.Survey()
    living = [pid for soldier in soldiers for pid in survey.members(None, soldier)]
    tree.send(living, signal.SIGKILL)
    return bool(living)


def _ask_to_stop(files: SoldierFiles, soldier: str) -> None:
    """One that has not begun never will."""
    from kingdom.engines import tree, wrapper

    if not disk.exists(files.path(soldier)) or files.revoke(soldier):
        return
    runner = files.runner_of(soldier)
    if runner is not None and runner.is_alive():
        tree.send([runner.pid], wrapper.STOP, signal.SIGCONT)


def is_running(base: BaseDir, soldier: str) -> bool:
    """Whether the process that keeps this soldier lives."""
    from kingdom.general.spec import SoldierFiles

    runner = SoldierFiles(base).runner_of(soldier)
    return runner is not None and runner.is_alive()
