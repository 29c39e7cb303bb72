"""`config/king.yaml`: how much at once, how often, how long a question waits."""

from __future__ import annotations

from pydantic import Field

from kingdom.settings.section import Pause, Positive, Seconds, Section, polling_interval


class KingPolling(Section):
    interval_seconds: Seconds = polling_interval("king")


class Concurrency(Section):
    max_soldiers: Positive = Field(default=3, description="Soldiers at once, over all generals.")


class Questions(Section):
    default_after_seconds: Seconds = Field(
        default=259_200.0,
        description="A question with a default that nobody answers for so long takes the default.",
    )
    remind_every_seconds: Pause = Field(
        default=86_400.0,
        description="How often an unanswered question is brought back to mind; 0: never.",
    )
    park_after_seconds: Pause = Field(
        default=604_800.0,
        description="A question without a default that nobody answers for so long is parked: no "
        "more reminders, and it can still be answered. 0: never.",
    )


class KingSettings(Section):
    """The king: routing, admission, schedules."""

    polling: KingPolling = Field(default_factory=KingPolling)
    concurrency: Concurrency = Field(default_factory=Concurrency, description="How much at once.")
    questions: Questions = Field(
        default_factory=Questions, description="What soldiers ask of people."
    )
