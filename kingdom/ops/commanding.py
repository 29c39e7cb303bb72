"""What a person commands, as the king hears it: an event, and what became of it.

Commands travel like everything else, so they survive a crash and are seen in `kingdom trace`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock
from kingdom.models.base import Record
from kingdom.ops.sending import event_from, send
from kingdom.runtime.processes import Seat, until
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, PENDING

KING = "king"
TYPE = "kingdom.command"
DONE, REFUSED = "completed", "failed"
PATIENCE = 5.0  # seconds for a king that runs


class Answer(NamedTuple):
    """What became of a command. `said` is the king's word on it; empty when there is none yet."""

    event_id: str
    king_runs: bool
    said: str = ""
    refused: bool = False
    waits: str = ""  # for what, if it starts work that is not let in now


def command(bus: FileBus, base: BaseDir, payload: dict[str, Any]) -> Answer:
    """Sends it and waits a little for what comes of it; without a king there is nothing to wait
    for, and the command keeps until there is one."""
    event = event_from({"type": TYPE, "payload": payload}, SystemClock().now(), name="command")
    send(bus, event)
    bare = Answer(str(event.id), Seat(base, KING).is_taken())
    if not bare.king_runs or not until(lambda: _is_seen(bus, bare.event_id), PATIENCE):
        return bare
    found = bus.look("events", bare.event_id)
    if found is not None and found[0] == PENDING:
        return bare._replace(waits=_held_by(found[1]))
    if found is not None and found[0] == DEAD:
        return bare._replace(said=_held_by(found[1]) or "It failed.", refused=True)
    if found is None or found[0] != DONE:
        return bare
    reason, status = getattr(found[1], "reason", ""), getattr(found[1], "status", "")
    return bare._replace(said=reason or "Done.", refused=status == REFUSED)


def _is_seen(bus: FileBus, event_id: str) -> bool:
    found = bus.look("events", event_id)
    return found is None or found[0] != PENDING or bool(_held_by(found[1]))


def _held_by(event: Record) -> str:
    return event.delivery.last_error_message or ""
