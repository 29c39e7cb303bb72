"""An event that a person made: from words or a file to a record on the bus."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock, isoformat
from kingdom.errors import InvalidFile, TryLater
from kingdom.models.base import Record
from kingdom.models.priority import priority_of
from kingdom.models.reading import decode, parse
from kingdom.runtime.internal_log import InternalLog
from kingdom.topology import PENDING

SOURCE, ACTOR = "cli", "operator"
TRUST = "member"  # whoever types on this machine belongs here


def event_from(fields: dict[str, Any], now: datetime, *, name: str) -> Record:
    """The event with these fields, the missing ones filled in; `name` stands in a refusal."""
    try:
        return parse("event", json.dumps(_filled(fields, now)).encode(), path=name, status=PENDING)
    except InvalidFile as fault:
        raise InvalidFile(
            fault.sentence,
            remedy="Nothing was sent. kingdom schema event shows the form.",
            code=fault.code,
        ) from None


def _filled(fields: dict[str, Any], now: datetime) -> dict[str, Any]:
    # What came from elsewhere is not trusted more for passing through here.
    typed_here = fields.get("source", SOURCE) == SOURCE
    given = {key: value for key, value in fields.items() if value is not None}
    given.pop("delivery", None)
    missing = {
        "id": _new_id(now),
        "source": SOURCE,
        "priority": priority_of(str(fields.get("type", ""))),
        "created_at": isoformat(now),
        "trace_id": os.urandom(16).hex(),
    }
    if typed_here:
        missing["trust"] = TRUST
    return missing | given


def _new_id(now: datetime) -> str:
    return f"evt-{SOURCE}-{now:%Y%m%d%H%M%S}-{os.urandom(4).hex()}"


def payload_from(data: bytes, name: str) -> dict[str, Any]:
    """One JSON object; `name` stands in a refusal."""
    return decode(data, path=name)


def send(bus: FileBus, event: Record) -> bool:
    """False if the bus knew the id already, and nothing was done."""
    if not bus.publish("events", event)[0]:
        return False
    with suppress(TryLater):  # it is sent; a log that cannot be written does not change that
        said = event.__dict__
        detected = {"event_id": event.id, "source": said["source"], "event_type": said["type"]}
        log = InternalLog(bus.base, ACTOR, SystemClock())
        log.emit("event.detected", detected, event.trace_id)
    return True
