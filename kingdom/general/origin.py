"""What a task is about in the end: answers, and what is tried again, only continue something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kingdom.general.actions.jobs import number_of
from kingdom.general.brief.prompts import RESUME
from kingdom.models.task import Task

_PULL_REQUESTS = "github.pr."
_ONLY_PULL_REQUESTS_HAVE = ("head_sha", "base_branch")


@dataclass(frozen=True)
class Origin:
    """Of a row of tasks that continue one another: the first one's type and payload."""

    type: str  # `resume` if the first one is not known any more
    payload: Mapping[str, Any]
    number: int | None

    @property
    def pull_request(self) -> int | None:
        if self.type == RESUME:
            is_one = all(self.payload.get(name) for name in _ONLY_PULL_REQUESTS_HAVE)
        else:
            is_one = self.type.startswith(_PULL_REQUESTS)
        return self.number if is_one else None

    def wish(self) -> dict[str, Any]:
        """Where its worktree is to begin."""
        wish: dict[str, Any] = {"head_sha": _text(self.payload.get("head_sha"))}
        if self.pull_request is not None:
            wish["pull_request"] = self.pull_request
            wish["base_branch"] = _text(self.payload.get("base_branch"))
        return wish


def origin_of(task: Task, look: Callable[[str], Task | None]) -> Origin:
    """`look` finds a task by id; one that is gone ends the search."""
    payload = task.payload
    if task.type == RESUME:
        original = payload.get("original")
        payload = original if isinstance(original, dict) else {}
    first, seen = task, {task.id}
    while first.type == RESUME and first.original_task_id and first.original_task_id not in seen:
        seen.add(first.original_task_id)
        first = look(first.original_task_id) or first
    return Origin(first.type, payload, number_of(task))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
