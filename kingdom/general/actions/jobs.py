"""Where and on whose behalf something is done outside: all that does not come from the soldier."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kingdom.models.action import Kind
from kingdom.models.fields import Trust
from kingdom.models.task import Task

_ORIGINAL = "original"  # where a resumed task keeps the payload that it all began with


@dataclass(frozen=True)
class Lineage:
    """A row of tasks that continue one another, named after the first."""

    id: str
    born: datetime | None = None

    @property
    def name(self) -> str:
        """For markers: ids begin anew in a kingdom that was made anew."""
        source = f"{self.id} {self.born.isoformat() if self.born else ''}"
        return f"{self.id}:{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def lineage_of(task: Task, look: Callable[[str], Task | None]) -> Lineage:
    """`look` finds a task by id; one that is gone ends the search."""
    seen = {task.id}
    while task.original_task_id and not task.fresh and task.original_task_id not in seen:
        earlier = look(task.original_task_id)
        if earlier is None:
            return Lineage(task.original_task_id)
        seen.add(earlier.id)
        task = earlier
    return Lineage(task.id, task.created_at)


@dataclass(frozen=True)
class Job:
    """Where and on whose behalf; nothing in it comes from the soldier."""

    task_id: str
    attempt: str  # the soldier's id
    lineage: Lineage
    trust: Trust
    allowed: frozenset[Kind]
    repo: str | None = None
    number: int | None = None  # of the issue or pull request
    commit: str | None = None  # what the soldier saw of the pull request
    branch: str | None = None  # the task's own, which `push` pushes
    base_branch: str | None = None


def number_of(task: Task) -> int | None:
    payload: Any = task.payload
    if isinstance(payload.get(_ORIGINAL), dict):
        payload = payload[_ORIGINAL]
    number = payload.get("number")
    if isinstance(number, str) and number.isdecimal() and len(number) < 10:
        number = int(number)
    return number if type(number) is int and number > 0 else None
