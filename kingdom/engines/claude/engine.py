"""Claude Code as an engine: how it is started, followed and judged.

Its settings lie in `state/soldiers/{soldier}.settings`, beside the spec and outside the workspace.
Settings of the user and of the repository are not read unless wanted: a repository's own could run
commands (hooks) and send the login elsewhere (`env`). The user's login is not a setting and holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from kingdom.engines.claude import sessions
from kingdom.engines.claude.progress import Progress
from kingdom.engines.masked import Masked
from kingdom.engines.port import Availability, Evidence, ModelAccess, Order, Plan, Verdict
from kingdom.engines.program import Program
from kingdom.store.paths import BaseDir

INSTALL = "npm install -g @anthropic-ai/claude-code"
SETTINGS_SUFFIX = ".settings"
# What the program uses to log in, if it does not find a login of the user's on this machine. They
# are for a manifest's permissions.env; none is passed on by itself.
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_LEAST_USD = 0.000001
_ANSWER_SECONDS = 300  # until the first byte; streams that go on are not cut by it
ALONE = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # It would carry what one task said into the next.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # An attempt that has ended has nothing left to wait for.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_ENABLE_BYTE_WATCHDOG": "1",
    "CLAUDE_ENABLE_STREAM_WATCHDOG": "1",
    "API_TIMEOUT_MS": f"{_ANSWER_SECONDS * 1000}",
}


class ClaudeEngine:
    name = "claude"
    access = ModelAccess(
        url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        paths=("/v1/messages", "/v1/models"),
        credentials=CREDENTIALS,
        login_file=".credentials.json",
        login_hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com"),
    )

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        root: str = "",
        *,
        model: str | None = None,
        max_retries: int = 4,
        stall_seconds: float = 180.0,
        setting_sources: Sequence[str] = (),
    ) -> None:
        """`root` is the base directory; `setting_sources` are of user, project, local."""
        self._program = Program(command, environment, root)
        self._root = root
        self._model = model
        self._max_retries = max_retries
        self._stall_seconds = stall_seconds
        self._sources = tuple(setting_sources)
        self._progress = Progress(Masked(environment))

    def availability(self) -> Availability:
        return self._program.availability("Claude Code", self.name, INSTALL)

    def program(self) -> str | None:
        return self._program.path()

    def plan(self, order: Order) -> Plan:
        from kingdom.engines.claude import settings_file  # not for those who ask if it is there

        continues = sessions.can_continue(order)
        session = order.session_id if continues and order.session_id else sessions.new_id()
        path = os.path.join(BaseDir(self._root).soldiers, order.soldier_id + SETTINGS_SUFFIX)
        argv = (
            self._program.word(),
            *("-p", "--output-format", "stream-json", "--verbose"),
            *("--resume" if continues else "--session-id", session),
            *("--settings", path, "--setting-sources", ",".join(self._sources)),
            *("--permission-mode", settings_file.mode(order)),
            *("--tools", ",".join(settings_file.tool_names(order))),
            *self._directories(order),
            *self._limits(order),
            "--strict-mcp-config",
        )
        return Plan(
            argv,
            self._environment(order),
            {path: settings_file.settings(order)},
            session,
        )

    def _directories(self, order: Order) -> tuple[str, ...]:
        """Where its CLAUDE.md are; as project settings it would look for them itself."""
        places = dict.fromkeys((order.guides or order.workspace, order.workspace))
        return () if self._reads_project else tuple(w for p in places for w in ("--add-dir", p))

    @property
    def _reads_project(self) -> bool:
        return "project" in self._sources

    def _limits(self, order: Order) -> tuple[str, ...]:
        given = {
            "--model": order.model or self._model,
            "--max-turns": order.max_turns,
            "--max-budget-usd": _money(order.budget_usd),
            "--json-schema": json.dumps(order.result_schema) if order.result_schema else None,
        }
        return tuple(
            word
            for name, value in given.items()
            if value is not None
            for word in (name, str(value))
        )

    def _environment(self, order: Order) -> dict[str, str]:
        """What the order brings along already wins, but for the home."""
        stall = f"{self._stall_seconds * 1000:.0f}"
        wanted = {
            **ALONE,
            "CLAUDE_CODE_MAX_RETRIES": str(self._max_retries),
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": stall,
            "CLAUDE_STREAM_IDLE_TIMEOUT_MS": stall,
        }
        if not self._reads_project:
            wanted["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] = "1"
        home = {sessions.HOME_VARIABLE: order.home} if order.home else {}
        return {k: v for k, v in wanted.items() if k not in order.environment} | home

    def progress(self, stdout_path: str) -> str:
        return self._progress.of(stdout_path)

    def judge(self, evidence: Evidence) -> Verdict:
        from kingdom.engines.claude import judging, stream

        return judging.judge(evidence, stream.read(evidence.stdout_path))


def _money(usd: float | None) -> str | None:
    """Never nothing, which would be no limit or none that is understood."""
    return None if usd is None else f"{max(usd, _LEAST_USD):.6f}"
