"""What a general asks of an engine, whichever it is.

An engine never runs anything itself. It says how its program is to be started (`plan`), what the
program is doing (`progress`), and how a run is to be judged once it ended (`judge`). All three are
functions of files, so that a general that was restarted can ask again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kingdom.engines.sandbox.isolation import Isolation
    from kingdom.models.task import Task  # `status` asks engines whether they are there


@dataclass(frozen=True)
class Availability:
    """Whether new work can be given to an engine; if not, why, what helps, and until when."""

    available: bool
    reason: str = ""
    remedy: str = ""
    until: datetime | None = None
    on_trial: bool = False  # it failed before; one soldier at a time tells whether it still does


@dataclass(frozen=True)
class ModelAccess:
    """How a program reaches its model. In a sandbox it gets a token instead of each key, and an
    address that leads to the proxy."""

    url: str = ""
    url_variable: str = ""  # names another address
    paths: tuple[str, ...] = ()  # that are asked for there
    credentials: tuple[str, ...] = ()  # variables that hold a key
    login_file: str = ""  # of a login of the user's, below the program's own home; used without key
    login_hosts: tuple[str, ...] = ()  # that such a login is good for


@dataclass(frozen=True)
class Order:
    """One attempt at a task, as the general gives it. Paths are absolute."""

    task: Task
    soldier_id: str
    attempt: int
    prompt_path: str
    workspace: str
    result_path: str
    heartbeat_path: str
    timeout_seconds: float
    environment: Mapping[str, str]  # allow-listed already; all that the program will see
    session_id: str | None = None  # of the attempt or task that is to be continued
    tools: tuple[str, ...] | None = None
    network: bool | None = None  # where the engine can tell; None: as the engine does by itself
    home: str | None = None  # where the program keeps its own things; None: where the user's are
    guides: str | None = None  # where its CLAUDE.md and AGENTS.md lie; None: in the workspace
    budget_usd: float | None = None
    max_turns: int | None = None
    model: str | None = None  # absent: the one that the settings name
    result_schema: Mapping[str, Any] = field(default_factory=dict)
    isolation: Isolation = "off"


@dataclass(frozen=True)
class Plan:
    """How the program is started: standard input is the prompt, output goes to the logs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the order's
    files: Mapping[str, str] = field(default_factory=dict)  # path: content, written beforehand
    session_id: str | None = None  # known before the program starts


@dataclass(frozen=True)
class Evidence:
    """What an attempt left behind."""

    order_task_id: str
    exit_code: int | None  # None when it was ended by a signal, or nobody knows
    signal: int | None
    stdout_path: str
    stderr_path: str
    has_result: bool
    session_id: str | None = None
    earlier: Mapping[str, Any] = field(default_factory=dict)  # metrics of this session's last run


@dataclass(frozen=True)
class Verdict:
    """What the engine itself knows of the run, apart from the soldier's result.

    `failure` is a code of `kingdom.failures`; None means: believe the result, if there is one.
    Where the soldier wrote no file, `result` counts instead.
    """

    failure: str | None = None
    error: str = ""
    unavailable_until: datetime | None = None
    session_id: str | None = None
    result: Mapping[str, Any] | None = None  # said otherwise than in the file it was to write
    last_message: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    name: str
    access: ModelAccess

    def availability(self) -> Availability: ...

    def plan(self, order: Order) -> Plan: ...

    def progress(self, stdout_path: str) -> str:
        """What it is doing now, in a few words; empty if that cannot be told."""

    def judge(self, evidence: Evidence) -> Verdict: ...
