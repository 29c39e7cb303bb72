"""The configuration, one model per file in `config/`. Defaults live here and nowhere else.

A class's docstring and its fields' descriptions become the comments of the shipped files.
"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, tzinfo
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from kingdom.topology import ROLES

BUS_VARIABLE = "KINGDOM_BUS"


def _null_means_unset(schema: dict[str, Any]) -> None:
    """An empty section (`delivery:` with only comments below) is fine, for editors too."""
    schema["type"] = ["object", "null"]


class Section(BaseModel):
    """A part of a configuration file: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra=_null_means_unset,
        defer_build=True,  # most commands need one file's model, none needs all parts at import
    )


def find_zone(name: str) -> tzinfo:
    """UTC needs no time zone database, so that a bare machine can run."""
    return UTC if name == "UTC" else zoneinfo.ZoneInfo(name)


def _known_zone(name: str) -> str:
    try:
        find_zone(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise PydanticCustomError(
            "timezone",
            "{name} is not a time zone this machine knows, such as UTC or Asia/Seoul",
            {"name": repr(name)},
        ) from None
    return name


def _bus_address(address: str) -> str:
    # The refusal does not repeat the address: it may hold a password.
    if address != "files" and not address.startswith(("postgresql://", "postgres://")):
        raise PydanticCustomError("bus", "must be files or begin with postgresql://")
    return address


def _variable_name(name: str) -> str:
    # People paste the token itself here; neither accept it nor repeat it.
    if not name.isascii() or not name.replace("_", "A").isalnum() or name != name.upper():
        raise PydanticCustomError(
            "variable", "must be the name of an environment variable, such as GH_TOKEN"
        )
    return name


# Upper bounds keep a slip of the keyboard out of date arithmetic.
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Positive = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Variable = Annotated[str, StringConstraints(min_length=1), AfterValidator(_variable_name)]


class Backoff(Section):
    """How long to wait before trying again: base, times multiplier each time, up to max."""

    base_seconds: Seconds = 1.0
    max_seconds: Seconds = 300.0
    multiplier: Annotated[float, Field(ge=1)] = 2.0
    jitter: Annotated[float, Field(ge=0, lt=1, description="Share by which waits vary.")] = 0.2


class StreamDelivery(Section):
    """Limits of one stream."""

    max_attempts: Positive = Field(
        default=5, description="Failed attempts before a message goes to dead/."
    )
    max_crashes: Positive = Field(
        default=20,
        description="How often its handler may die before a message counts as poison.",
    )
    lease_seconds: Seconds = Field(
        default=60.0, description="How long a claim holds without being renewed."
    )
    backoff: Backoff = Field(
        default_factory=Backoff, description="The wait after a failed attempt."
    )


class Delivery(Section):
    """Limits per stream."""

    events: StreamDelivery = Field(default_factory=StreamDelivery)
    tasks: StreamDelivery = Field(default_factory=StreamDelivery)
    messages: StreamDelivery = Field(default_factory=StreamDelivery)
    results: StreamDelivery = Field(default_factory=StreamDelivery)

    def of(self, stream: str) -> StreamDelivery:
        found: StreamDelivery = getattr(self, stream)
        return found


class Claude(Section):
    """Claude Code."""

    command: str = Field(default="claude", min_length=1, description="Program to start.")


class Codex(Section):
    """Codex."""

    command: str = Field(default="codex", min_length=1, description="Program to start.")
    model: str | None = Field(default=None, description="Absent: Codex chooses.")


class Command(Section):
    """Any program that reads a prompt and writes a result."""

    argv: list[str] = Field(
        default_factory=list,
        description="Program and arguments; the prompt comes on its standard input.",
        examples=[["./my-agent", "--fast"]],
    )


class Runtime(Section):
    """How soldiers are run."""

    engine: Literal["claude", "codex", "command", "rehearsal"] = Field(
        default="claude",
        description="Who does the work: claude, codex, command, or rehearsal (a scripted soldier "
        "that only shows how things go).",
    )
    claude: Claude = Field(default_factory=Claude)
    codex: Codex = Field(default_factory=Codex)
    command: Command = Field(default_factory=Command)


class SystemSettings(Section):
    """The kingdom as a whole."""

    timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        default="UTC", description="The zone of ids, schedules, budgets and reports."
    )
    language: Literal["en", "ko"] = Field(
        default="en", description="Of every sentence people read outside the logs: en or ko."
    )
    durability: Literal["full", "fast"] = Field(
        default="full",
        description="full: what was published survives a power loss. fast: skips syncs, survives "
        "kill -9 only.",
    )
    bus: Annotated[str, AfterValidator(_bus_address)] = Field(
        default="files",
        description=f"files, or postgresql://... ({BUS_VARIABLE} in the environment wins).",
    )
    delivery: Delivery = Field(
        default_factory=Delivery, description="When to try a message again, and when to give up."
    )
    runtime: Runtime = Field(default_factory=Runtime, description="How soldiers are run.")

    @property
    def zone(self) -> tzinfo:
        return find_zone(self.timezone)


def _interval(role: str) -> Any:
    return Field(
        default=float(ROLES[role].poll_seconds),
        description="Longest wait before looking again; arrivals are noticed at once.",
    )


class KingPolling(Section):
    interval_seconds: Seconds = _interval("king")


class Concurrency(Section):
    max_soldiers: Positive = Field(default=3, description="Soldiers at once, over all generals.")


class Questions(Section):
    default_after_seconds: Seconds = Field(
        default=259_200.0,
        description="A question with a default that nobody answers for so long takes the default.",
    )


class KingSettings(Section):
    """The king: routing, admission, schedules."""

    polling: KingPolling = Field(default_factory=KingPolling)
    concurrency: Concurrency = Field(default_factory=Concurrency, description="How much at once.")
    questions: Questions = Field(
        default_factory=Questions, description="What soldiers ask of people."
    )


class GithubScope(Section):
    """What of GitHub concerns the kingdom."""

    repos: list[str] = Field(
        default_factory=list,
        description="Repositories, as globs. Empty: all.",
        examples=[["acme/frontend", "acme/service-*"]],
    )
    filter_reasons: list[str] = Field(
        default_factory=list,
        description="Notification reasons to take up. Empty: all.",
        examples=[["review_requested", "assign", "mention"]],
    )


class GithubWatcher(Section):
    """GitHub notifications of the token's owner."""

    interval_seconds: Seconds = 60.0
    api_url: str = "https://api.github.com"
    token_env: Variable = Field(default="GH_TOKEN", description="Variable that holds the token.")
    scope: GithubScope = Field(default_factory=GithubScope)


class JiraScope(Section):
    """What of Jira concerns the kingdom."""

    jql_base: str = Field(
        default="assignee = currentUser()", description="JQL that tickets must match."
    )


class JiraWatcher(Section):
    """Jira tickets."""

    interval_seconds: Seconds = 300.0
    url: str = Field(min_length=1, examples=["https://example.atlassian.net"])
    email_env: Variable = Field(
        default="JIRA_USER_EMAIL", description="Variable that holds the account (cloud only)."
    )
    token_env: Variable = Field(
        default="JIRA_API_TOKEN", description="Variable that holds the token."
    )
    scope: JiraScope = Field(default_factory=JiraScope)


class InboxWatcher(Section):
    """JSON files that scripts drop into queue/inbox/."""

    interval_seconds: Seconds = 10.0


class Watchers(Section):
    """A watcher that is not named here is off."""

    github: GithubWatcher | None = Field(
        default=None, description="Watches GitHub notifications; needs a token."
    )
    jira: JiraWatcher | None = Field(
        default=None, description="Watches Jira tickets; needs a token."
    )
    inbox: InboxWatcher | None = Field(
        default=None, description="Takes up files that scripts drop into queue/inbox/."
    )


class SentinelSettings(Section):
    """The sentinel: what it watches outside."""

    polling: Watchers = Field(
        default_factory=lambda: Watchers(inbox=InboxWatcher()),
        description="The watchers. One that is not named here is off.",
    )


class EnvoyPolling(Section):
    interval_seconds: Seconds = _interval("envoy")


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
    default_channel: str = Field(
        default="", description="Where messages without a channel go.", examples=["#kingdom"]
    )
    allowed_users: list[str] = Field(
        default_factory=list,
        description="Who may give work and answers, besides the owner.",
        examples=[["U024BE7LH"]],
    )
    owner: str = Field(
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


class ChamberlainPolling(Section):
    interval_seconds: Seconds = _interval("chamberlain")


class Heartbeat(Section):
    threshold_seconds: Seconds = Field(
        default=120.0, description="A role that has shown no life for so long counts as hung."
    )


class Thresholds(Section):
    """Percent of CPU or memory in use above which health changes."""

    yellow: Percent = Field(default=60.0, description="Only urgent work is admitted above.")
    orange: Percent = Field(default=80.0, description="No work is admitted above.")
    red: Percent = Field(default=90.0, description="As orange, and people are alerted.")
    stale_seconds: Seconds = Field(
        default=120.0, description="Measurements older than this count as orange."
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.yellow < self.orange < self.red:
            raise PydanticCustomError("order", "yellow, orange and red must ascend")
        return self


class Retention(Section):
    """How long things are kept. Cleaning is daily at 03:00."""

    log_max_mb: Positive = Field(default=100, description="Size at which a log is rotated.")
    logs_days: Days = Field(default=7, description="Rotated logs and events-*.log.")
    results_days: Days = Field(default=7, description="state/results/.")
    queue_days: Days = Field(default=7, description="completed/ and sent/ of all queues.")
    prompts_days: Days = Field(default=3, description="state/prompts/.")
    session_logs_days: Days = Field(default=7, description="logs/sessions/.")
    seen_days: Days = Field(default=30, description="state/sentinel/seen/.")
    dead_days: Days = Field(default=30, description="dead/ of all queues; reported before.")


class TokenLimits(Section):
    """What soldiers may cost."""

    daily_budget_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Absent: no limit.", examples=[50.0]
    )
    warning_pct: Percent = Field(
        default=70.0, description="Of the budget; above, only urgent work is admitted."
    )
    critical_pct: Percent = Field(default=90.0, description="Above, no work is admitted.")

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.warning_pct < self.critical_pct:
            raise PydanticCustomError("order", "warning_pct must be below critical_pct")
        return self


class ChamberlainSettings(Section):
    """The chamberlain: health, cleaning, budget."""

    polling: ChamberlainPolling = Field(default_factory=ChamberlainPolling)
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    thresholds: Thresholds = Field(
        default_factory=Thresholds, description="Percent of CPU or memory at which health changes."
    )
    retention: Retention = Field(
        default_factory=Retention, description="How long things are kept; cleaned daily at 03:00."
    )
    token_limits: TokenLimits = Field(
        default_factory=TokenLimits, description="What soldiers may cost per day."
    )


FILES: dict[str, type[Section]] = {
    "system": SystemSettings,
    "king": KingSettings,
    "sentinel": SentinelSettings,
    "envoy": EnvoySettings,
    "chamberlain": ChamberlainSettings,
}
