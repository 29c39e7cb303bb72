"""`config/system.yaml`: the kingdom as a whole."""

from __future__ import annotations

import grp
import zoneinfo
from datetime import UTC, tzinfo
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from kingdom.settings.addresses import RepositoryRefused, read_url
from kingdom.settings.section import (
    Host,
    IsolationChoice,
    Pause,
    Positive,
    Seconds,
    Section,
    Variable,
)

BUS_VARIABLE = "KINGDOM_BUS"


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


def _known_group(name: str) -> str:
    try:
        grp.getgrnam(name)
    except KeyError:
        said = f"there is no group {name!r} on this machine"
        raise PydanticCustomError("group", "{said}", {"said": said}) from None
    return name


def _bus_address(address: str) -> str:
    # The refusal does not repeat the address: it may hold a password.
    if address != "files" and not address.startswith(("postgresql://", "postgres://")):
        raise PydanticCustomError("bus", "must be files or begin with postgresql://")
    return address


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
    model: str | None = Field(default=None, description="Absent: Claude Code chooses.")
    home: Literal["user", "general"] = Field(
        default="user",
        description="Whose login and sessions soldiers use: the user's own, or one directory per "
        "general below state/engines/claude/.",
    )
    env: list[Variable] = Field(
        default_factory=lambda: [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        description="Variables the program itself needs, such as its login; soldiers see them.",
    )
    max_retries: Annotated[int, Field(ge=0, le=100)] = Field(
        default=4, description="How often the program itself asks the API again."
    )
    stall_seconds: Seconds = Field(
        default=180.0,
        description="When an answer that stopped in the middle is asked for again.",
    )
    setting_sources: list[Literal["user", "project", "local"]] = Field(
        default_factory=list,
        description="Whose settings soldiers read; project lets a repository run commands.",
    )
    structured_result: bool = Field(
        default=False,
        description="Soldiers report by a tool of the program's, which checks the form, instead of "
        "a file. Saves a turn; one who writes the file all the same costs one more, and the "
        "file counts. Unlike a file, such a report is lost if the program is killed with it.",
    )


class Codex(Section):
    """Codex."""

    command: str = Field(default="codex", min_length=1, description="Program to start.")
    model: str | None = Field(default=None, description="Absent: Codex chooses.")
    env: list[Variable] = Field(
        default_factory=lambda: ["CODEX_API_KEY", "OPENAI_BASE_URL"],
        description="Variables the program itself needs, such as its login; soldiers see them.",
    )
    sandbox: bool = Field(
        default=True, description="Commands write to the workspace only, and read no credentials."
    )
    network: bool = Field(
        default=True, description="Whether soldiers that may run anything reach the network."
    )
    user_config: bool = Field(
        default=False,
        description="Whether ~/.codex/config.toml counts; what it says of the sandbox wins.",
    )
    structured_result: bool = Field(
        default=False,
        description="Soldiers report in their last message, in a form that the API enforces, "
        "instead of a file. Saves a turn; the API must take such forms (strict JSON schemas).",
    )


class Command(Section):
    """Any program that reads a prompt and writes a result."""

    argv: list[str] = Field(
        default_factory=list,
        description="Program and arguments; the prompt comes on its standard input.",
        examples=[["./my-agent", "--fast"]],
    )
    hosts: list[Host] = Field(
        default_factory=list,
        description="What the program itself has to reach, such as its model.",
        examples=[["api.example.com"]],
    )


class Runtime(Section):
    """How soldiers are run."""

    engine: Literal["claude", "codex", "command", "rehearsal"] = Field(
        default="claude",
        description="Who does the work: claude, codex, command, or rehearsal (a scripted soldier "
        "that only shows how things go).",
    )
    isolation: IsolationChoice = Field(
        default="auto",
        description="auto: soldiers run in a sandbox; where there is none, without a shell. "
        "required: nothing runs without one. off: members' work runs as you do. A manifest may be "
        "stricter.",
    )
    max_processes: Positive = Field(default=4096, description="Of one soldier, in its sandbox.")
    max_file_mb: Positive = Field(
        default=8192, description="The largest file that a soldier may write, in its sandbox."
    )
    max_output_mb: Positive = Field(
        default=256,
        description="A soldier that prints more is ended, and not tried again by itself.",
    )
    max_memory_mb: Annotated[int, Field(ge=64)] | None = Field(
        default=8192,
        description="What a soldier and all it starts may take, where systemd sees to it; null: "
        "no limit.",
    )
    claude: Claude = Field(default_factory=Claude)
    codex: Codex = Field(default_factory=Codex)
    command: Command = Field(default_factory=Command)


_REPO, _TRIAL = "{repo}", "owner/name"


def _known_address(url: str) -> str:
    if _REPO not in url:
        said = f"it has no {_REPO} in it, as https://github.com/{_REPO}.git has"
        raise PydanticCustomError("address", "{said}", {"said": said})
    try:
        read_url(url.replace(_REPO, _TRIAL))
    except RepositoryRefused as error:  # it repeats no password
        raise PydanticCustomError("address", "{said}", {"said": _refusal(error)}) from None
    return url


def _refusal(error: RepositoryRefused) -> str:
    """With the address as it was written, and no full stop: whoever tells it has one."""
    parts = (error.sentence.replace(_TRIAL, _REPO), error.remedy)
    return ". ".join(part.rstrip(".") for part in parts if part)


class GitHosts(Section):
    """Repositories: where they come from, and how soldiers get them."""

    url: Annotated[str, AfterValidator(_known_address)] = Field(
        default="https://github.com/{repo}.git",
        json_schema_extra={"pattern": r"\{repo\}"},
        description="Where {repo} (owner/name) is fetched from.",
    )
    pull_ref: str = Field(
        default="refs/pull/{number}/head",
        pattern=r"\{number\}",
        description="GitLab: refs/merge-requests/{number}/head.",
    )
    token_env: Variable = Field(
        default="GH_TOKEN", description="Holds the token for that host; soldiers never see it."
    )
    tokens: dict[str, Variable] = Field(
        default_factory=dict, description="Variables for other hosts, by host."
    )
    use_gh: bool = Field(default=True, description="Ask gh for a token where no variable has one.")
    user_config: bool = Field(
        default=False,
        description="Whether ~/.gitconfig counts when hosts are reached (proxies, certificates).",
    )
    timeout_seconds: Seconds = Field(default=900.0, description="For one run of git.")
    fresh_seconds: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="A fetch this young serves other tasks as well."
    )
    depth: Positive | None = Field(
        default=None,
        description="Commits of history; more where a pull request began earlier. Absent: all.",
    )
    partial: bool = Field(
        default=False,
        description="Of files only what a task begins with and is compared with is fetched; older "
        "versions of them soldiers cannot see.",
    )
    submodules: bool = Field(default=True, description="For members' work only.")
    lfs: bool = Field(
        default=True,
        description="Fetch large files, where a repository has them; for members' work only.",
    )
    max_checkout_mb: Positive = Field(
        default=4096, description="What the files of a checkout may take on disk."
    )
    max_checkout_files: Positive = Field(default=200_000, description="How many they may be.")
    max_outside_checkout_mb: Positive = Field(
        default=1024, description="The same for work of people below member."
    )
    max_outside_checkout_files: Positive = Field(
        default=50_000, description="The same for work of people below member."
    )
    name: str = Field(default="kingdom", min_length=1, description="Whom soldiers commit as.")
    email: str = Field(default="kingdom@localhost", min_length=1)


class Memory(Section):
    """What soldiers learn and the next ones are told."""

    from_untrusted: bool = Field(
        default=False,
        description="Whether lessons are kept from work of people below member. They are marked, "
        "and told to such work alone, never to a member's.",
    )


class Progress(Section):
    """What the thread of a task is told while its soldier works."""

    thread_after_seconds: Pause = Field(
        default=120.0, description="How long it works before the first time; 0: it is never told."
    )
    thread_every_seconds: Pause = Field(
        default=300.0, description="The least pause between two; 0: it is told once."
    )


class Outbound(Section):
    """What is looked for in all that leaves, beside the credentials that the kingdom knows."""

    secret_env: list[Variable] = Field(
        default_factory=list,
        description="Further variables whose values must not leave, in whatever form.",
    )


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
    group: Annotated[str, AfterValidator(_known_group)] | None = Field(
        default=None,
        description="A group of this machine whose members may hand in work through queue/inbox/, "
        "which the next start opens to them. Absent: only this user and root may.",
    )
    delivery: Delivery = Field(
        default_factory=Delivery, description="When to try a message again, and when to give up."
    )
    runtime: Runtime = Field(default_factory=Runtime, description="How soldiers are run.")
    git: GitHosts = Field(
        default_factory=GitHosts,
        description="Repositories: where they come from, and how soldiers get them.",
    )
    memory: Memory = Field(
        default_factory=Memory, description="What soldiers learn and the next ones are told."
    )

    progress: Progress = Field(
        default_factory=Progress,
        description="What the thread of a task is told while its soldier works.",
    )

    outbound: Outbound = Field(
        default_factory=Outbound,
        description="What is scanned before it leaves for Slack, GitHub or a remote.",
    )

    @property
    def group_id(self) -> int | None:
        return None if self.group is None else grp.getgrnam(self.group).gr_gid

    @property
    def zone(self) -> tzinfo:
        return find_zone(self.timezone)
