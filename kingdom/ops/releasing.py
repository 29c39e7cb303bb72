"""What a person decides about what the outbound gate holds: it leaves, or it never does."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.clock import SystemClock
from kingdom.errors import NeverWorks, TryLater
from kingdom.models.base import Record
from kingdom.models.ids import is_id
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.ops.choosing import find
from kingdom.ops.listing import Listed, locate
from kingdom.ops.steering import WORKER, claimed, clean
from kingdom.outbound.release import digest_of
from kingdom.runtime import held_actions
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.task_log import TaskLog
from kingdom.store.paths import BaseDir
from kingdom.topology import HELD, PENDING


def is_event(base: BaseDir, typed: str) -> bool:
    """One that a limit may have stopped: the king decides."""
    return is_id(typed) and bool(locate(base, typed, "events"))


def held_message(base: BaseDir, typed: str) -> Listed:
    everywhere = find(base, typed, "message or task")
    for entry in everywhere:
        if (entry.stream, entry.state) == ("messages", HELD):
            return entry
    where = everywhere[0]
    raise _not_held(where.id, f"{where.stream}/{where.state}")


def _not_held(id_: str, place: str) -> NeverWorks:
    return NeverWorks(
        f"{id_} is not held, it lies in {place}.",
        remedy="What is held: kingdom queue ls --state held",
    )


def _check_held(state: str, message: Record) -> None:
    if state != HELD:
        raise _not_held(message.id, f"messages/{state}")


def release_message(bus: FileBus, entry: Listed) -> None:
    """Back to pending, marked with what exactly may leave."""
    claim = claimed(bus, entry, _check_held)
    message = claim.message
    assert isinstance(message, MessageBase)
    fields: dict[str, Any] = {"released": digest_of(message)}
    held_at = message.delivery.processed_at
    if isinstance(message, HumanInputRequest) and message.expires_at and held_at:
        waited = max(SystemClock().now() - held_at, timedelta())
        fields["expires_at"] = message.expires_at + waited  # nobody could answer meanwhile
    bus.commit([Move(clean(claim), PENDING, fields=fields)])
    data = {"msg_id": message.id, "task_id": message.task_id}
    _tell(bus.base, "message.released", data, message.trace_id)


def drop_actions(base: BaseDir, task_id: str) -> bool:
    """Never to be done; whether there were any."""
    found = held_actions.read(base, task_id)
    if found is None or not held_actions.remove(base, task_id):
        return False
    TaskLog(base, WORKER, SystemClock()).note(task_id, "actions_dropped")
    _tell(base, "task.actions_dropped", {"task_id": task_id}, found.trace_id)
    return True


def _tell(base: BaseDir, type_: str, data: dict[str, str | None], trace_id: str | None) -> None:
    with suppress(TryLater):  # it is done; a log that cannot be written does not change that
        InternalLog(base, WORKER, SystemClock()).emit(type_, data, trace_id)
