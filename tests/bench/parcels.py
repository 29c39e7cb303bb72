"""What is sent in every measurement: tasks of about one kilobyte, each in every form asked for."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from typing import NamedTuple

from kingdom.models.task import Task

_CREATED = datetime(2026, 2, 7, 10, 0, tzinfo=UTC)
_WORDS = "Please look at the failing check, find out what changed, and answer in the thread. "
_TEXT = (_WORDS * 8)[:620]
_numbers = itertools.count(1)


class Parcel(NamedTuple):
    id: str
    task: Task
    content: bytes
    text: str


def parcels(count: int) -> list[Parcel]:
    """New ones: no id is used twice in a run."""
    return [_parcel(next(_numbers)) for _ in range(count)]


def tasks(count: int) -> list[Task]:
    return [_task(next(_numbers)) for _ in range(count)]


def parcel_size() -> int:
    return len(_task(0).to_json())


def id_in(content: bytes | str) -> str | None:
    """None for what is no whole parcel: a put that was cut short may leave that."""
    try:
        return str(json.loads(content)["id"])
    except (ValueError, KeyError, TypeError):
        return None


def _parcel(number: int) -> Parcel:
    task = _task(number)
    content = task.to_json()
    return Parcel(task.id, task, content, content.decode())


def _task(number: int) -> Task:
    return Task(
        id=f"task-20260207-{number:09d}",
        event_id=f"evt-bench-{number:09d}",
        target_general="gen-pr",
        type="github.pr.comment",
        payload={"number": number, "text": _TEXT},
        created_at=_CREATED,
    )
