"""One unit of work for one general."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kingdom.models.base import Record
from kingdom.models.fields import Count, GeneralName, Id, Priority, TaskType, Timestamp, Trust

TaskStatus = Literal[
    "pending", "in_progress", "completed", "failed", "needs_human", "skipped", "cancelled", "dead"
]


class Task(Record):
    """A file in `queue/tasks/`."""

    id: Id = Field(description="task-{YYYYMMDD}-{seq}; also the file's name.")
    event_id: Id = Field(description="The event it answers, or schedule-{name}.")
    target_general: GeneralName
    type: TaskType = Field(description="The event's type, resume, or a schedule's task_type.")
    payload: dict[str, Any] = Field(default_factory=dict)
    priority: Priority = "normal"
    created_at: Timestamp
    status: TaskStatus = Field(default="pending", description="Follows the directory.")
    repo: str | None = None
    retry_count: Count = 0
    original_task_id: Id | None = Field(default=None, description="The task this one continues.")
    fresh: bool | None = Field(
        default=None, description="Continues nothing of the original task, it starts anew."
    )
    trust: Trust | None = Field(default=None, description="Inherited; absent means outside.")
    trust_reason: str | None = Field(default=None, description="Why it is not a member's.")
    not_before: Timestamp | None = Field(default=None, description="Not due until then.")
