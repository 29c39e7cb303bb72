"""What became of a task: a soldier writes a raw one, its general the final one, in one form."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from kingdom.models.base import Record
from kingdom.models.fields import Id, NonEmpty, Timestamp
from kingdom.models.part import Part

# A word that only makes sense with these statuses; with another one the result contradicts itself.
BELONGS_TO = {
    "error": ("failed", "killed"),
    "question": ("needs_human",),
    "options": ("needs_human",),
    "default": ("needs_human",),
}

# What a soldier may say; the rest of the final result is the general's to write.
SAID_BY_SOLDIERS = (
    "summary",
    "error",
    "reason",
    "question",
    "options",
    "default",
    "memory_updates",
    "notify_channel",
    "proclamation",
    "actions",
    "route",
)


class Proclamation(Part):
    """Something to announce in a channel besides the task's own thread."""

    channel: NonEmpty
    message: NonEmpty


class ResultBase(Record):
    """A file in `state/results/`."""

    task_id: Id
    status: str
    summary: str
    error: str | None = None
    error_code: str | None = Field(
        default=None, description="What kind of failure: kingdom errors CODE explains it."
    )
    reason: str | None = None
    question: str | None = None
    options: list[str] | None = None
    default: str | None = None
    memory_updates: list[str] | None = Field(default=None, description="Lessons worth keeping.")
    notify_channel: str | None = None
    proclamation: Proclamation | None = None
    actions: list[dict[str, Any]] | None = Field(
        default=None, description="What the general is to do outside, such as posting a review."
    )
    held: list[str] | None = Field(
        default=None,
        description="What the outbound gate stopped, or a person approves first; kingdom release "
        "TASK lets it pass.",
    )
    kept_refs: list[str] | None = None
    route: str | None = None
    metrics: dict[str, Any] | None = None
    answered_by: Id | None = Field(
        default=None, description="The event that answered the question."
    )
    created_at: Timestamp | None = None

    @property
    def id(self) -> str:
        return self.task_id

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Self:
        for name, statuses in BELONGS_TO.items():
            if getattr(self, name) and self.status not in statuses:
                raise PydanticCustomError(
                    "contradictory",
                    "a result that is {status} cannot have `{name}`",
                    {"status": self.status, "name": name},
                )
        if self.options and self.default and self.default not in self.options:
            raise PydanticCustomError("contradictory", "`default` is not one of `options`")
        return self


class Success(ResultBase):
    status: Literal["success"] = "success"


class Failed(ResultBase):
    status: Literal["failed"] = "failed"
    error: NonEmpty


class NeedsHuman(ResultBase):
    status: Literal["needs_human"] = "needs_human"
    question: NonEmpty


class Skipped(ResultBase):
    status: Literal["skipped"] = "skipped"
    reason: NonEmpty


class Killed(ResultBase):
    status: Literal["killed"] = "killed"
    error: NonEmpty


Result = Annotated[Success | Failed | NeedsHuman | Skipped | Killed, Field(discriminator="status")]
RESULT: TypeAdapter[Success | Failed | NeedsHuman | Skipped | Killed] = TypeAdapter(
    Result, config=ConfigDict(defer_build=True)
)
