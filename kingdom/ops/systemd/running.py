"""Starting and ending roles where systemd keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kingdom.errors import NeverWorks
from kingdom.ops.stopping import Stopped, running, stop
from kingdom.ops.suite import role_names, unknown_role
from kingdom.ops.systemd.manager import Manager
from kingdom.ops.systemd.units import stem, target_name, unit_name
from kingdom.runtime.processes import WARDEN, Seat, until
from kingdom.store.paths import BaseDir

PATIENCE = 30.0  # seconds for a role that is ready to come round once


@dataclass
class Started:
    up: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


def start(base: BaseDir, manager: Manager, names: Sequence[str], *, everything: bool) -> Started:
    """Back when they are up, or it is known that some are not."""
    if Seat(base, WARDEN).is_taken():
        raise NeverWorks(
            "A warden keeps this kingdom running, and systemd would do so as well.",
            remedy="Stop it first: kingdom stop",
        )
    wanted = [target_name(base)] if everything else [unit_name(base, name) for name in names]
    manager.tell("start", *wanted)
    return _seen(base, names)


def restart(base: BaseDir, manager: Manager, names: Sequence[str]) -> Started:
    manager.tell("restart", target_name(base), *(unit_name(base, name) for name in names))
    return _seen(base, names)


def restart_role(base: BaseDir, manager: Manager, name: str) -> int:
    """Its new pid."""
    if name not in role_names(base):
        raise unknown_role(name, role_names(base))
    manager.tell("restart", unit_name(base, name))
    _seen(base, [name])
    return Seat(base, name).holder() or 0


def stop_all(base: BaseDir, manager: Manager) -> Stopped:
    """And whatever else runs here, started by hand."""
    before = [seat.name for seat in running(base)]
    stop_units(base, manager)
    stopped = stop(base)
    stopped.ended = [name for name in before if name not in stopped.killed]
    return stopped


def stop_units(base: BaseDir, manager: Manager) -> None:
    """Of the target's own stop it would be known only that the others were asked."""
    manager.tell(*stopping(base))


def stopping(base: BaseDir) -> tuple[str, ...]:
    return "stop", target_name(base), f"{stem(base)}-*.service"


def _seen(base: BaseDir, names: Sequence[str]) -> Started:
    seats = [Seat(base, name) for name in names]
    until(lambda: all(_is_up(seat) for seat in seats), PATIENCE)
    up = [seat.name for seat in seats if _is_up(seat)]
    return Started(up, [name for name in names if name not in up])


def _is_up(seat: Seat) -> bool:
    return seat.is_taken() and seat.last_beat() is not None
