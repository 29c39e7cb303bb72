"""The questions that wait for people, as the envoy keeps them in `awaiting-responses.json`.

It knows when each was shown, and strikes it out when an answer came. Read anew when the file has
changed; an entry that says too little is passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from kingdom.models.fields import read_timestamp
from kingdom.models.ids import is_id
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json


class Asked(NamedTuple):
    msg_id: str
    question: str
    asked_at: datetime
    is_parked: bool
    default: str | None
    expires_at: datetime | None
    channel: str
    thread_ts: str
    trace_id: str | None


class OpenQuestions:
    def __init__(self, base: BaseDir) -> None:
        self._path = base.path("state", "envoy", "awaiting-responses.json")
        self._stamp: object = None
        self._asked: dict[str, Asked] = {}

    def by_task(self) -> dict[str, Asked]:
        """Those without an answer, oldest first."""
        facts = disk.facts_of(self._path)
        stamp = facts and disk.stamp_of(facts)
        if stamp != self._stamp:
            found = read_json(self._path, {})
            entries = found.items() if isinstance(found, dict) else ()
            asked = {task: one for task, entry in entries if (one := _read(task, entry))}
            self._asked = dict(sorted(asked.items(), key=lambda one: one[1].asked_at))
            self._stamp = stamp
        return self._asked


def _read(task_id: object, entry: Any) -> Asked | None:
    if not isinstance(entry, dict) or not is_id(task_id) or entry.get("answered_at"):
        return None
    asked_at = _moment(entry.get("asked_at"))
    if asked_at is None:
        return None
    return Asked(
        msg_id=_text(entry, "msg_id") or "",
        question=_text(entry, "question") or "",
        asked_at=asked_at,
        is_parked=bool(entry.get("parked_at")),
        default=_text(entry, "default"),
        expires_at=_moment(entry.get("expires_at")),
        channel=_text(entry, "channel") or "",
        thread_ts=_text(entry, "thread_ts") or "",
        trace_id=_text(entry, "trace_id"),
    )


def _text(entry: dict[str, Any], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) else None


def _moment(value: object) -> datetime | None:
    try:
        return read_timestamp(value)
    except PydanticCustomError:
        return None
