"""`config/chamberlain.yaml`: health, cleaning, budget, reports."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kingdom.settings.section import (
    Days,
    Percent,
    Positive,
    Seconds,
    Section,
    TimeOfDay,
    polling_interval,
)


class ChamberlainPolling(Section):
    interval_seconds: Seconds = polling_interval("chamberlain")


class Heartbeat(Section):
    threshold_seconds: Seconds = Field(
        default=120.0,
        description="A role that has shown no life for so long counts as hung: it is ended and "
        "comes back. Less than 30 counts as 30, since a role at rest shows life every 10.",
    )


class Thresholds(Section):
    """Percent of CPU or memory in use above which health changes. 100 means never."""

    yellow: Percent = Field(default=60.0, description="Only urgent work is admitted above.")
    orange: Percent = Field(default=80.0, description="No work is admitted above.")
    red: Percent = Field(default=90.0, description="As orange, and people are alerted.")
    disk: Percent = Field(
        default=95.0,
        description="Of the disk that holds the base directory. Above, no work is admitted and "
        "people are alerted, since work would be lost.",
    )
    stale_seconds: Seconds = Field(
        default=120.0, description="Measurements older than this count as orange."
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.yellow <= self.orange <= self.red:
            raise PydanticCustomError("order", "yellow, orange and red must ascend")
        return self


class Retention(Section):
    """How long things are kept that nobody needs any more."""

    log_max_mb: Positive = Field(default=100, description="Size at which a log is rotated.")
    logs_days: Days = Field(default=7, description="Rotated logs and events-*.log.")
    results_days: Days = Field(default=7, description="state/results/.")
    queue_days: Days = Field(default=7, description="completed/ and sent/ of all queues.")
    prompts_days: Days = Field(default=3, description="state/prompts/.")
    session_logs_days: Days = Field(default=7, description="logs/sessions/.")
    seen_days: Days = Field(default=30, description="state/sentinel/seen/.")
    dead_days: Days = Field(
        default=30, description="dead/ of all queues; people are told three days before."
    )
    held_days: Days = Field(
        default=30,
        description="What the outbound gate holds and nobody decided on: queue/messages/held/ and "
        "state/results/held/. People are reminded of it until then.",
    )
    history_days: Days = Field(default=400, description="logs/analysis/ and state/spending/.")
    workspaces_days: Days = Field(
        default=7,
        description="workspace/{general}/{task}/ after the last work there ended; what a soldier "
        "left uncommitted or unpushed is kept first. Its general looks every hour.",
    )
    kept_refs_days: Days = Field(
        default=30,
        description="What was kept of them: refs/kingdom/ in the clones, and what was moved aside.",
    )
    clones_days: Days = Field(
        default=30, description="Clones that no task has used, with nothing kept in them."
    )


class Metrics(Section):
    """Prometheus text at http://127.0.0.1:PORT/metrics."""

    port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        default=None,
        description="0: none are served. Absent: one that derives from the base directory; "
        "kingdom status shows it.",
        examples=[9464],
    )


class Cleanup(Section):
    """When what has had its time is removed."""

    at: TimeOfDay = Field(
        default="03:00",
        description="Every day, by the kingdom's timezone; made up for after it stood still.",
    )


class TokenLimits(Section):
    """What soldiers may cost."""

    daily_budget_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=20.0, description="null: no limit.", examples=[50.0]
    )
    warning_pct: Percent = Field(
        default=70.0, description="Of the budget; above, only urgent work is admitted."
    )
    critical_pct: Percent = Field(default=90.0, description="Above, no work is admitted.")
    per_task_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=3.0,
        description="Of all attempts at a task; a general's manifest may say less. null: no limit.",
        examples=[5.0],
    )
    per_task_tokens: Positive | None = Field(
        default=2_000_000,
        description="Of each attempt on an engine that tells no price (codex). null: no limit.",
    )
    per_general_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Of each general in a day. Absent: no limit.", examples=[20.0]
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.warning_pct < self.critical_pct:
            raise PydanticCustomError("order", "warning_pct must be below critical_pct")
        return self


class Reporting(Section):
    """What people are told of days and weeks that are over."""

    daily: bool = Field(default=True, description="A report of the day before.")
    weekly: bool = Field(default=True, description="On Mondays, one of the week before.")
    at: TimeOfDay = Field(default="09:00", description="By the kingdom's timezone.")


class ChamberlainSettings(Section):
    """The chamberlain: health, cleaning, budget, reports."""

    polling: ChamberlainPolling = Field(default_factory=ChamberlainPolling)
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    thresholds: Thresholds = Field(
        default_factory=Thresholds,
        description="Percent in use above which health changes; 100 means never.",
    )
    retention: Retention = Field(
        default_factory=Retention, description="How long things are kept; kingdom clean shows it."
    )
    cleanup: Cleanup = Field(default_factory=Cleanup)
    token_limits: TokenLimits = Field(
        default_factory=TokenLimits,
        description="What soldiers may cost. Engines that know no prices cannot keep it.",
    )
    report: Reporting = Field(
        default_factory=Reporting, description="What people are told of the days that are over."
    )
    metrics: Metrics = Field(
        default_factory=Metrics, description="Prometheus text at http://127.0.0.1:PORT/metrics."
    )

    @model_validator(mode="after")
    def _measures_in_time(self) -> Self:
        if self.polling.interval_seconds >= self.thresholds.stale_seconds:
            raise PydanticCustomError(
                "order",
                "polling.interval_seconds must be below thresholds.stale_seconds, or what is "
                "measured counts as old and no work is let in",
            )
        return self
