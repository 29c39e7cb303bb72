"""`config/generals/{name}/manifest.yaml`: what defines a general."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from kingdom.models.action import Kind
from kingdom.models.fields import (
    GeneralName,
    NetworkChoice,
    NonEmpty,
    Priority,
    TaskType,
    Trust,
)
from kingdom.settings.layers import Layers
from kingdom.settings.section import Host, IsolationChoice, Positive, Seconds, Section, Variable
from kingdom.settings.wording import shown
from kingdom.settings.yaml_file import read_document

Subscription = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*(?:\.[a-z0-9_-]+|\.\*)$", max_length=100
    ),
]
ScheduleName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]
Engine = Literal["claude", "codex", "command", "rehearsal"]
Budget = Annotated[float, Field(gt=0)]
_ANY_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def _readable_cron(text: str) -> str:
    if len(text.split()) != 5:
        raise _bad_cron(text, "is not five fields: minute hour day month weekday")
    from cronsim import CronSim, CronSimError  # most who read a manifest's model need no clock

    try:
        next(CronSim(text, _ANY_MOMENT))
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        raise _bad_cron(text, f"is not a schedule: its {field} cannot be read") from None
    except StopIteration:
        raise _bad_cron(text, "is not a schedule: that moment never comes") from None
    return text


def _bad_cron(text: str, fault: str) -> PydanticCustomError:
    return PydanticCustomError("cron", "{text} {fault}", {"text": shown(text), "fault": fault})


Cron = Annotated[str, StringConstraints(max_length=100), AfterValidator(_readable_cron)]


class Schedule(Section):
    """Work that comes with the clock instead of an event."""

    name: ScheduleName
    cron: Cron = Field(examples=["0 3 * * *"])
    task_type: TaskType
    repo: str | None = None
    payload: dict[str, Any] = Field(default_factory=dict)


class Allowed(Section):
    """What soldiers may use."""

    tools: list[str] | None = Field(default=None, description="Absent: the engine's own default.")
    env: list[Variable] | None = Field(
        default=None, description="Environment variables passed on besides the basic ones."
    )
    network: NetworkChoice = Field(
        default=None,
        description="none, engine (the model, and `hosts`) or full. true is full, false is engine; "
        "absent: engine.",
    )
    hosts: list[Host] | None = Field(
        default=None,
        description="What network: engine lets through besides the model: host, *.host or "
        "host:port.",
        examples=[["pypi.org", "*.pythonhosted.org"]],
    )
    actions: list[Kind] | None = Field(
        default=None,
        description="What the general does outside on a soldier's word: review, comment, push, "
        "pull_request. Absent: nothing.",
    )
    approve: list[Kind] | None = Field(
        default=None,
        description="Those of the actions that a person approves first. Absent: none.",
    )


class AllowedByTrust(Allowed):
    """What work of one trust may use: never more than `permissions` and `limits` give to all."""

    model: dict[Engine, NonEmpty] = Field(
        default_factory=dict,
        description="Counts instead of the manifest's `model`, by engine.",
    )
    budget_usd: Budget | None = Field(
        default=None,
        description="Of all attempts at a task together; of this and limits.budget_usd, the "
        "smaller one counts.",
    )


class Permissions(Allowed):
    """What soldiers may use; `by_trust` narrows it for work that came from less trusted people."""

    by_trust: dict[Trust, AllowedByTrust] = Field(default_factory=dict)


class Retry(Section):
    """When the general tries again by itself."""

    max_attempts: Positive = 3
    backoff_seconds: Seconds = 30.0


class Limits(Section):
    """What a task may use up, besides its time."""

    max_turns: Positive | None = Field(
        default=None, description="Of the model, in one attempt; absent: no limit."
    )
    budget_usd: Budget | None = Field(
        default=None,
        description="Of all attempts together; absent: no limit. An attempt that was ended by "
        "force counts half of what was left. Engines that know no prices cannot keep it.",
    )
    no_progress_seconds: Seconds | None = Field(
        default=None,
        description="How long a soldier may say and do nothing; absent: as long as its time lasts.",
    )
    same_call: Positive = Field(
        default=20,
        description="How often in a row a soldier may make the same call with the same arguments; "
        "it is stopped then.",
    )


class SandboxFiles(Section):
    """What soldiers see of the owner's files, besides the system's programs."""

    read: list[str] = Field(
        default_factory=list,
        description="Paths they may read, such as toolchains; those that are missing are left out.",
        examples=[["~/.cargo/bin", "~/.rustup"]],
    )
    cache: list[str] = Field(
        default_factory=list,
        description="Paths they may write, such as package caches; each general has its own, "
        "apart for each trust.",
        examples=[["~/.cache/pip"]],
    )


class Manifest(Section):
    """A general: what it takes up, what its soldiers may do, how its work is checked."""

    name: GeneralName
    description: NonEmpty
    timeout_seconds: Seconds = 1800.0
    subscribes: list[Subscription] = Field(
        default_factory=list, description="Exact event types, or github.pr.* for all below."
    )
    schedules: list[Schedule] = Field(default_factory=list)
    supported_engines: list[Engine] = Field(
        default_factory=list, description="Empty: every engine."
    )
    model: dict[Engine, NonEmpty] = Field(
        default_factory=dict,
        description="The model of its soldiers, by engine (claude, codex). Absent: system.yaml's.",
        examples=[{"claude": "haiku"}],
    )
    default_repo: str | None = None
    max_soldiers: Positive | None = Field(default=None, description="Absent: only king.yaml's.")
    permissions: Permissions = Field(default_factory=Permissions)
    isolation: IsolationChoice | None = Field(
        default=None, description="As runtime.isolation of system.yaml; the stricter one counts."
    )
    sandbox: SandboxFiles = Field(default_factory=SandboxFiles)
    verify: list[NonEmpty] = Field(
        default_factory=list, description="Commands that must pass after a success."
    )
    verify_timeout_seconds: Seconds = Field(
        default=1800.0, description="For each of them; the soldier's own time is over by then."
    )
    retry: Retry = Field(default_factory=Retry)
    limits: Limits = Field(default_factory=Limits)
    priority: Priority | None = Field(
        default=None, description="Of its tasks; absent: the event's."
    )


def read_manifest(data: bytes, path: str) -> Manifest:
    """The manifest in this file's content, or `ConfigurationError` with file, line and key."""
    layers = Layers(Manifest)
    layers.add(read_document(data, path))
    return layers.checked()
