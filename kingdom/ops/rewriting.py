"""Writes messages anew where they lie: mended status, no lost lease, today's form.

The claim that it takes leaves no trace: counts and dates are what they were before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Claim, Move
from kingdom.errors import TryLater
from kingdom.models.base import Record
from kingdom.topology import STREAMS

WORKER = "operator"


def rewrite(bus: FileBus, stream: str, before: Record) -> None:
    """One that a living worker holds is refused: it is written anew when that one is done. So is
    one that has changed since it was read."""
    if not rewrite_all(bus, stream, {before.id: before}):
        raise TryLater(
            f"{before.id} is being worked on.", remedy="Run the command again when it is done."
        )


def rewrite_all(bus: FileBus, stream: str, before: Mapping[str, Record]) -> int:
    """Those of these that nobody holds, in one commit; answers how many."""
    claims = bus.claim(stream, WORKER, ids=list(before), judge=partial(_is_as_before, before))
    bus.commit([_move(claim, before[claim.id]) for claim in claims])
    return len(claims)


def _is_as_before(before: Mapping[str, Record], state: str, message: Record) -> None:
    if message.delivery.revision != before[message.id].delivery.revision:
        raise TryLater(
            f"{message.id} changed meanwhile.", remedy="Run the command again to look at it anew."
        )


def _move(claim: Claim, before: Record) -> Move:
    was = before.delivery
    delivery = claim.message.delivery.revised(
        crash_count=was.crash_count,
        next_retry_at=was.next_retry_at,
        last_attempt_at=was.last_attempt_at,
    )
    same = replace(claim, message=claim.message.revised(delivery=delivery))
    if STREAMS[claim.stream].flat:
        return Move(same, HANDLED if was.processed_at else claim.state)
    return Move(same, claim.state, claim.message.status)
