"""`config/envoy.yaml`: how the kingdom speaks with people."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from kingdom.settings.section import Seconds, Section, Variable, polling_interval

_PERSON, _ANYONE = "[UW][A-Z0-9]{5,}", "[UWSCG][A-Z0-9]{5,}"


def _person(text: str) -> str:
    """By its id alone; names are not unique, and change."""
    bare = text.strip().removeprefix("@")
    if bare and re.fullmatch(_PERSON, bare) is None:
        raise PydanticCustomError(
            "slack_person",
            "must be a member id, such as U012AB3CD: in the person's profile, More, Copy member ID",
        )
    return bare


def _anyone(text: str) -> str:
    bare = text.strip().removeprefix("@")
    if re.fullmatch(_ANYONE, bare) is None:
        raise PydanticCustomError(
            "slack_speaker",
            "must be an id, such as U012AB3CD of a person (profile, More, Copy member ID), S... of "
            "a user group, or C... of a channel (at the end of its About page)",
        )
    return bare


Person = Annotated[
    str, AfterValidator(_person), Field(json_schema_extra={"pattern": f"^(@?{_PERSON})?$"})
]
Anyone = Annotated[
    str, AfterValidator(_anyone), Field(json_schema_extra={"pattern": f"^@?{_ANYONE}$"})
]


class EnvoyPolling(Section):
    interval_seconds: Seconds = polling_interval("envoy")


class Slack(Section):
    """The Slack app that speaks for the kingdom."""

    api_url: str = "https://slack.com/api/"
    bot_token_env: Variable = Field(
        default="SLACK_BOT_TOKEN", description="Variable that holds the bot token (xoxb-...)."
    )
    app_token_env: Variable = Field(
        default="SLACK_APP_TOKEN",
        description="Variable that holds the app token (xapp-...); without it, replies are polled.",
    )
    polling_seconds: Seconds = Field(
        default=30.0,
        description="How often it looks for what people said while no socket tells it.",
    )
    default_channel: str = Field(
        default="",
        description="Where messages without a channel go; if empty, to the owner.",
        examples=["#kingdom"],
    )
    allowed_users: list[Anyone] = Field(
        default_factory=list,
        description="Who may give work and answers, besides the owner: people (U...), user groups "
        "(S...), and channels (C...) in which everybody may. People of other companies, who share "
        "a channel by Slack Connect, only by their own id.",
        examples=[["U024BE7LH", "S0614TZR7", "C024BE91L"]],
    )
    owner: Person = Field(
        default="", description="The person this kingdom works for.", examples=["U012AB3CD"]
    )


class EnvoySettings(Section):
    """The envoy: how the kingdom speaks with people."""

    transport: Literal["console", "slack"] = Field(
        default="console",
        description="console: to logs/console.log and the terminal, answers with kingdom answer. "
        "slack: threads in Slack.",
    )
    polling: EnvoyPolling = Field(default_factory=EnvoyPolling)
    slack: Slack = Field(default_factory=Slack, description="Used when transport is slack.")
