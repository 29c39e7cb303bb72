"""What an operator does to single messages: put a dead one back, take a live one out.

Both use the verbs of the bus, so they are safe while every role runs. What was taken out is told in
the log of internal events.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import reason_path
from kingdom.bus.lease import Holder
from kingdom.bus.port import Claim, Move, Problem
from kingdom.clock import SystemClock
from kingdom.errors import InvalidFile, KingdomError, NeverWorks, TryLater
from kingdom.models.base import Record
from kingdom.models.delivery import Delivery
from kingdom.ops.listing import ENDED, Listed, locate
from kingdom.runtime.internal_log import InternalLog
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD, PENDING

WORKER = "operator"
DROPPED = Problem("dropped", "An operator dropped it.")


def retry(bus: FileBus, caretaker: Caretaker, entry: Listed) -> str:
    """A dead message back to pending, with clean counts; answers its id."""
    try:
        record = caretaker.read(entry.stream, DEAD, entry.path)
    except InvalidFile as fault:
        raise NeverWorks(
            fault.sentence,
            remedy=f"Mend the file where it lies, then: kingdom queue retry {entry.id}",
        ) from None
    if caretaker.places.lying_in(entry.stream, record.id) == [DEAD] and record.id == entry.id:
        (claim,) = claimed(bus, entry)
        bus.commit([Move(clean(claim), PENDING)])
    else:
        _publish_again(bus, entry, record)
    disk.remove(reason_path(entry.path))
    return record.id


def clean(claim: Claim) -> Claim:
    """As if nothing had been tried yet."""
    delivery = claim.message.delivery.revised(
        attempt_count=0,
        crash_count=0,
        next_retry_at=None,
        last_error_code=None,
        last_error_message=None,
    )
    return replace(claim, message=claim.message.revised(delivery=delivery))


def _publish_again(bus: FileBus, entry: Listed, record: Record) -> None:
    """Of a file that stands for no message: a copy that was set aside, or one with a wrong name."""
    if not bus.publish(entry.stream, record.revised(delivery=Delivery()))[0]:
        raise NeverWorks(
            f"The id inside {os.path.basename(entry.path)}, {record.id}, is known already.",
            remedy=f"Give it an id of its own. The other: kingdom queue show {record.id}",
        )
    disk.remove(entry.path)


def drop(bus: FileBus, caretaker: Caretaker, entry: Listed) -> None:
    """To `dead/`, reason `dropped`, unless a living worker has it or its task is under way."""
    task_id = _open_task(bus.base, entry)
    if task_id:
        raise _under_way(entry, task_id)
    try:
        (claim,) = claimed(bus, entry)
    except InvalidFile:
        caretaker.condemn(entry.stream, entry.path, _as_fault(entry))
        _tell(bus.base, entry, None)
    else:
        bus.bury(claim, DROPPED)
        _tell(bus.base, entry, claim.message.trace_id)


def _open_task(base: BaseDir, entry: Listed) -> str:
    """The task that this event became, if it has not ended; else empty."""
    if (entry.stream, entry.state) != ("events", "dispatched"):
        return ""
    content = read_json(entry.path, {})
    task_id = content.get("task_id") if isinstance(content, dict) else None
    found = locate(base, task_id, "tasks") if isinstance(task_id, str) else []
    return next((one.id for one in found if one.state not in (*ENDED, DEAD)), "")


def _under_way(entry: Listed, task_id: str) -> KingdomError:
    return NeverWorks(
        f"{entry.id} became {task_id}, which has not ended.",
        remedy=f"End that instead: kingdom cancel {task_id}",
    )


def _tell(base: BaseDir, entry: Listed, trace_id: str | None) -> None:
    data = {
        "stream": entry.stream,
        "id": entry.id,
        "code": DROPPED.code,
        "reason": DROPPED.message,
    }
    with suppress(TryLater):  # it is dropped; a log that cannot be written does not change that
        InternalLog(base, WORKER, SystemClock()).emit("queue.buried", data, trace_id)


def _as_fault(entry: Listed) -> InvalidFile:
    return InvalidFile(
        DROPPED.message,
        remedy=f"Put it back with: kingdom queue retry {entry.id}",
        code=DROPPED.code,
    )


def claimed(bus: FileBus, entry: Listed) -> list[Claim]:
    """This message in our hands; who has it otherwise is said in the refusal."""
    claims = bus.claim(entry.stream, WORKER, ids=[entry.id])
    if claims:
        return claims
    raise (
        _held(entry)
        if entry.held_by
        else TryLater(f"{entry.id} moved while we looked.", remedy="Run the command again.")
    )


def _held(entry: Listed) -> KingdomError:
    holder = Holder.parse(entry.held_by)
    who = f"{holder.worker} (pid {holder.pid} on {holder.host})" if holder else entry.held_by
    return TryLater(
        f"{entry.id} is in the hands of {who} until {entry.held_until}.",
        remedy="Wait until it is done, or stop that process first.",
    )


def refusal_to_retry(entry: Listed) -> KingdomError:
    return NeverWorks(
        f"{entry.id} is not dead, it lies in {entry.stream}/{entry.state}.",
        remedy="Only dead messages are retried."
        if entry.state in ENDED
        else "It will be handled by itself; kingdom queue show tells when.",
    )


def refusal_to_drop(entry: Listed) -> KingdomError:
    where = f"{entry.stream}/{entry.state}"
    return NeverWorks(
        f"{entry.id} lies in {where}: nobody will handle it any more.",
        remedy="There is nothing to drop.",
    )
