"""One role ended and started anew by the warden that keeps it."""

from __future__ import annotations

from typing import Any

from kingdom.errors import NeverWorks, TryLater
from kingdom.ops.suite import role_names, unknown_role
from kingdom.runtime.processes import (
    START_NOW,
    WARDEN,
    Seat,
    end_all,
    roles_file,
    send_signal,
    until,
)
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json

PATIENCE_WITH_START = 30.0


def limited_to(base: BaseDir) -> list[str]:
    """The roles that the running warden was limited to; none if it has all, or does not run."""
    if not Seat(base, WARDEN).is_taken():
        return []
    return [str(name) for name in _told(base).get("only", [])]


def _told(base: BaseDir) -> dict[str, Any]:
    told = read_json(roles_file(base), {})
    return told if isinstance(told, dict) else {}


def restart_role(base: BaseDir, name: str) -> int:
    """Its new pid, once it has shown life."""
    warden, seat = Seat(base, WARDEN).holder(), Seat(base, name)
    before = seat.holder()
    if before is None and name not in role_names(base):
        raise unknown_role(name, role_names(base))
    if warden is None:
        raise _no_warden(name, before)
    if name not in _told(base).get("roles", {}):
        raise NeverWorks(
            f"{name} is not among the roles that were started here.",
            remedy="Start all of them with: kingdom stop && kingdom start",
        )
    if before is not None:
        end_all([seat])
    send_signal(warden, START_NOW)  # it may be waiting for its backoff
    if not until(lambda: _is_new(seat, before), PATIENCE_WITH_START):
        raise TryLater(
            f"{name} has not come up again.",
            remedy=f"See why: kingdom logs {name}; it keeps the environment that the kingdom was "
            "started with, so if a token is missing, set it and say: kingdom restart",
        )
    return seat.holder() or 0


def _is_new(seat: Seat, before: int | None) -> bool:
    return seat.holder() not in (None, before) and seat.last_beat() is not None


def _no_warden(name: str, pid: int | None) -> NeverWorks:
    if pid is None:
        return NeverWorks("The kingdom does not run.", remedy="Start it with: kingdom start")
    return NeverWorks(
        f"{name} (pid {pid}) runs without a warden.",
        remedy="Restart it where it was started: in systemd, or in its terminal.",
    )
