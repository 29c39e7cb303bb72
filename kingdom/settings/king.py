"""`config/king.yaml`: how much at once, how often, how long a question waits, when to stop."""

from __future__ import annotations

from typing import Annotated

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


class ConversationLimits(Section):
    turns_per_hour: Positive = Field(
        default=30, description="Tasks within an hour; what comes then waits."
    )
    usd_per_hour: Annotated[float, Field(gt=0)] = Field(
        default=10.0, description="What these tasks may cost within an hour; what comes then waits."
    )
    bot_hops: Positive = Field(
        default=3,
        description="Tasks within an hour that bots start one after the other, with no person in "
        "between; what a bot wants then is not taken up.",
    )
    failures: Positive = Field(
        default=3,
        description="What has failed so often in a row is not taken up again until it changes. A "
        "schedule that has runs once a day until it works.",
    )


class Bots(Section):
    start_work: list[str] = Field(
        default_factory=list,
        description="Bots whose comments, requests and pull requests start work: names, with * "
        "and ?. Empty: none.",
        examples=[["renovate[bot]"]],
    )


class KingSettings(Section):
    """The king: routing, admission, schedules."""

    polling: KingPolling = Field(default_factory=KingPolling)
    concurrency: Concurrency = Field(default_factory=Concurrency, description="How much at once.")
    questions: Questions = Field(
        default_factory=Questions, description="What soldiers ask of people."
    )
    conversation: ConversationLimits = Field(
        default_factory=ConversationLimits,
        description="Of one pull request, issue, ticket or thread, so that nothing runs away.",
    )
    bots: Bots = Field(default_factory=Bots, description="What bots may do.")
