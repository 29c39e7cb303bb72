"""An external trigger: something happened on GitHub, in Jira, in Slack, or a person typed it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kingdom.models.base import Record
from kingdom.models.fields import EventType, Id, Priority, Source, Timestamp, Trust

EventStatus = Literal["pending", "dispatched", "completed", "failed", "dead"]


class Event(Record):
    """A file in `queue/events/`."""

    id: Id = Field(description="Also the file's name: evt-{source}-{natural key}.")
    type: EventType = Field(description="Dotted lower-case words: github.pr.review_requested.")
    source: Source = Field(description="Where it came from: github, jira, slack, cli, ...")
    repo: str | None = None
    payload: dict[str, Any] = Field(default_factory=dict, description="What the source said.")
    priority: Priority = "normal"
    created_at: Timestamp
    status: EventStatus = Field(default="pending", description="Follows the directory.")
    task_id: Id | None = Field(default=None, description="The task it was dispatched as.")
    trust: Trust | None = Field(default=None, description="Of its author; absent means outside.")
    trust_reason: str | None = Field(default=None, description="Why it is not a member's.")
    reason: str | None = Field(default=None, description="Why it ended without a task.")

    @property
    def subject(self) -> str | None:
        """What it is about: a pull request, an issue, a ticket. None if that cannot be told."""
        number, ticket = self.payload.get("number"), self.payload.get("key")
        if self.repo and isinstance(number, int):
            return f"{self.repo}#{number}"
        return ticket if isinstance(ticket, str) and ticket else None
