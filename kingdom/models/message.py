"""What the kingdom says to a human. Five types, told apart by `type`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from kingdom.models.base import Record
from kingdom.models.fields import Id, Timestamp, Urgency

MessageStatus = Literal["pending", "held", "sent", "dead"]


class MessageBase(Record):
    """A file in `queue/messages/`."""

    id: Id = Field(description="msg-{YYYYMMDD}-{seq}; also the file's name.")
    type: str
    channel: str = Field(default="", description="Empty: the default channel of envoy.yaml.")
    urgency: Urgency = "normal"
    content: str = Field(description="What a person reads.")
    context: dict[str, Any] = Field(default_factory=dict)
    created_at: Timestamp
    status: MessageStatus = Field(default="pending", description="Follows the directory.")
    task_id: Id | None = Field(default=None, description="The task whose thread this belongs to.")
    thread_ts: str | None = Field(default=None, description="A thread known already.")
    reply_context: dict[str, Any] | None = Field(
        default=None,
        description="Handed back with the answer; `outcome` says how the task stands now: waiting, "
        "done, failed or cancelled.",
    )
    released: str | None = Field(
        default=None,
        description="What a person let pass the outbound gate: a digest of exactly these words.",
    )
    duplicate_of: Id | None = Field(
        default=None, description="The message that brought the same report: this one is not shown."
    )


class ThreadStart(MessageBase):
    """Opens a task's thread."""

    type: Literal["thread_start"] = "thread_start"


class ThreadUpdate(MessageBase):
    """Says how the task of a thread goes on."""

    type: Literal["thread_update"] = "thread_update"


class HumanInputRequest(MessageBase):
    """A question that awaits an answer."""

    type: Literal["human_input_request"] = "human_input_request"
    options: list[str] | None = Field(default=None, description="Answers to choose from.")
    default: str | None = Field(default=None, description="Taken when nobody answers in time.")
    expires_at: Timestamp | None = None

    @model_validator(mode="after")
    def _default_is_an_option(self) -> Self:
        if self.options and self.default is not None and self.default not in self.options:
            raise PydanticCustomError("contradictory", "`default` is not one of `options`")
        return self


class Notification(MessageBase):
    """Tells a channel something that belongs to no thread."""

    type: Literal["notification"] = "notification"


class Report(MessageBase):
    """A daily or weekly report. `context` has its `type`, its `date` and its figures."""

    type: Literal["report"] = "report"


Message = Annotated[
    ThreadStart | ThreadUpdate | HumanInputRequest | Notification | Report,
    Field(discriminator="type"),
]
MESSAGE: TypeAdapter[ThreadStart | ThreadUpdate | HumanInputRequest | Notification | Report] = (
    TypeAdapter(Message, config=ConfigDict(defer_build=True))
)
