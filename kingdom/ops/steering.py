"""What an operator does to single messages: put a dead one back, take a live one out.

Both use the verbs of the bus, so they are safe while every role runs: a message is judged as it is
in the moment it is taken, not as it was listed. What was taken out is told in the log of internal
events.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.lease import Holder
from kingdom.bus.port import Claim, Judge, Move, Problem
from kingdom.clock import SystemClock, isoformat
from kingdom.errors import InvalidFile, KingdomError, NeverWorks, TryLater
from kingdom.models.base import Record
from kingdom.models.delivery import Delivery
from kingdom.models.event import Event
from kingdom.models.ids import is_id
from kingdom.models.task import Task
from kingdom.ops.listing import ENDED, SUFFIX, Listed
from kingdom.runtime.internal_log import InternalLog
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, PENDING

WORKER = "operator"
DROPPED = Problem("dropped", "An operator dropped it.")
_TRIES = 3  # it may change while we look
_OPEN = (PENDING, "in_progress")  # tasks that have not ended


def retry(bus: FileBus, caretaker: Caretaker, entry: Listed) -> str:
    """A dead message back to pending, with clean counts; answers its id."""
    try:
        record, stamp = caretaker.read_stamped(entry.stream, DEAD, entry.path)
    except FileNotFoundError:
        found = bus.look(entry.stream, entry.id) if is_id(entry.id) else None
        raise (
            refusal_to_retry(entry._replace(state=found[0])) if found else _moved(entry)
        ) from None
    except InvalidFile as fault:
        raise NeverWorks(
            fault.sentence,
            remedy=f"Mend the file where it lies, then: kingdom queue retry {entry.id}",
        ) from None
    if caretaker.places.lying_in(entry.stream, record.id) == [DEAD] and record.id == entry.id:
        claim = claimed(bus, entry, partial(_judge_retry, bus, entry))
        bus.commit([Move(clean(claim), PENDING)])
    else:
        _publish_again(bus, entry, record)
        caretaker.remove_aside(entry.stream, entry.path, stamp)
    return record.id


def _judge_retry(bus: FileBus, entry: Listed, state: str, message: Record) -> None:
    if state != DEAD:
        raise refusal_to_retry(entry._replace(state=state))
    _check_no_second_task(bus, message)


def _check_no_second_task(bus: FileBus, message: Record) -> None:
    """What was begun already is not begun once more beside it."""
    if isinstance(message, Event) and message.task_id:
        found = bus.look("tasks", message.task_id)
        if found is not None:
            is_open = found[0] in _OPEN
            raise NeverWorks(
                f"{message.id} became {message.task_id}, which lies in tasks/{found[0]}.",
                remedy="Wait for that one."
                if is_open
                else f"Do it once more with: kingdom retry {message.task_id}",
            )
    if isinstance(message, Task):
        for one in bus.waiting("tasks"):
            if isinstance(one, Task) and one.original_task_id == message.id:
                raise NeverWorks(
                    f"{one.id} does the work of {message.id} already.",
                    remedy=f"Wait for that one, or stop it with: kingdom cancel {one.id}",
                )


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
    _check_no_second_task(bus, record)
    if not bus.publish(entry.stream, record.revised(delivery=Delivery()))[0]:
        raise NeverWorks(
            f"The id inside {os.path.basename(entry.path)}, {record.id}, is known already.",
            remedy=f"Give it an id of its own. The other: kingdom queue show {record.id}",
        )


def drop(bus: FileBus, caretaker: Caretaker, entry: Listed) -> None:
    """To `dead/`, reason `dropped`, unless a living worker has it or its task is under way."""
    try:
        claim = claimed(bus, entry, partial(_judge_drop, bus, entry))
    except InvalidFile:
        _drop_invalid(caretaker, entry)
        _tell(bus.base, entry, None)
    else:
        bus.bury(claim, DROPPED)
        _tell(bus.base, entry, claim.message.trace_id)


def _judge_drop(bus: FileBus, entry: Listed, state: str, message: Record) -> None:
    if state in (*ENDED, DEAD):
        raise refusal_to_drop(entry._replace(state=state))
    task_id = message.task_id if isinstance(message, Event) and state == "dispatched" else None
    found = bus.look("tasks", task_id) if task_id else None
    if found is not None and found[0] in _OPEN:
        raise NeverWorks(
            f"{entry.id} became {task_id}, which has not ended.",
            remedy=f"End that instead: kingdom cancel {task_id}",
        )


def _drop_invalid(caretaker: Caretaker, entry: Listed) -> None:
    reason = InvalidFile(
        DROPPED.message,
        remedy=f"Put it back with: kingdom queue retry {entry.id}",
        code=DROPPED.code,
    )
    name = f"{entry.id}{SUFFIX}"
    try:
        target = caretaker.condemn_invalid(entry.stream, entry.state, name, reason)
    except FileNotFoundError:
        target = None
    if target is None:
        raise _moved(entry)


def _tell(base: BaseDir, entry: Listed, trace_id: str | None) -> None:
    data = {
        "stream": entry.stream,
        "id": entry.id,
        "code": DROPPED.code,
        "reason": DROPPED.message,
    }
    with suppress(TryLater):  # it is dropped; a log that cannot be written does not change that
        InternalLog(base, WORKER, SystemClock()).emit("queue.buried", data, trace_id)


def claimed(bus: FileBus, entry: Listed, judge: Judge) -> Claim:
    """This message in our hands, as it was judged; who has it otherwise is said in the refusal."""
    for _ in range(_TRIES):
        claims = bus.claim(entry.stream, WORKER, ids=[entry.id], judge=judge)
        if claims:
            return claims[0]
        found = bus.look(entry.stream, entry.id)
        if found is not None and found[1].delivery.locked_by:
            raise _held(found[1])
    raise _moved(entry)


def _moved(entry: Listed) -> KingdomError:
    return TryLater(f"{entry.id} moved while we looked.", remedy="Run the command again.")


def _held(message: Record) -> KingdomError:
    delivery = message.delivery
    holder = Holder.parse(delivery.locked_by or "")
    who = f"{holder.worker} (pid {holder.pid} on {holder.host})" if holder else delivery.locked_by
    until = f" until {isoformat(delivery.locked_until)}" if delivery.locked_until else ""
    return TryLater(
        f"{message.id} is in the hands of {who}{until}.",
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
