"""Which engine the settings name, and whether it can take work just now.

Nothing falls back to another engine: what is missing is said, with what helps.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kingdom.clock import SystemClock
from kingdom.engines.port import Availability, Engine
from kingdom.engines.standing import LOGIN, Standing, Standings
from kingdom.errors import ConfigurationError
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:  # `status` asks here, and has not read all settings
    from kingdom.settings.loading import Settings

TMUX = "tmux"
_NO_TMUX = Availability(
    False,
    "Soldiers run in tmux, and tmux is not installed.",
    "Install it with: apt-get install tmux (or this system's own package manager).",
)


def engine_for(settings: Settings, environment: Mapping[str, str], root: str = "") -> Engine:
    """The configured engine; `root` is where a program named by a relative path is looked for."""
    return engine_named(settings.system.runtime.engine, settings, environment, root)


def engine_named(
    name: str, settings: Settings, environment: Mapping[str, str], root: str = ""
) -> Engine:
    """A soldier is judged by the engine it was started on, whatever the settings say by then."""
    runtime = settings.system.runtime
    if name == "rehearsal":
        from kingdom.engines.rehearsal import RehearsalEngine

        return RehearsalEngine()
    if name == "command":
        from kingdom.engines.command import CommandEngine

        return CommandEngine(runtime.command.argv, environment, root)
    if name == "claude":
        from kingdom.engines.claude.engine import ClaudeEngine

        claude = runtime.claude
        return ClaudeEngine(
            claude.command,
            environment,
            root,
            model=claude.model,
            max_retries=claude.max_retries,
            stall_seconds=claude.stall_seconds,
            setting_sources=claude.setting_sources,
        )
    if name == "codex":
        from kingdom.engines.codex.engine import CodexEngine

        codex = runtime.codex
        return CodexEngine(
            codex.command,
            environment,
            root,
            model=codex.model,
            sandboxed=codex.sandbox,
            network=codex.network,
            user_config=codex.user_config,
        )
    raise ConfigurationError(
        f"There is no engine {name}.",
        remedy="Set runtime.engine in config/local/system.yaml to claude, codex, command or "
        "rehearsal.",
        code="engine_missing",
    )


class Engines:
    """The same engine for the same settings: one that follows soldiers knows how far it read."""

    def __init__(self, environment: Mapping[str, str], root: str) -> None:
        self._environment = environment
        self._root = root
        self._runtime: Any = None
        self._made: dict[str, Engine] = {}

    def named(self, name: str, settings: Settings) -> Engine:
        if settings.system.runtime != self._runtime:
            self._runtime, self._made = settings.system.runtime, {}
        if name not in self._made:
            self._made[name] = engine_named(name, settings, self._environment, self._root)
        return self._made[name]

    def current(self, settings: Settings) -> Engine:
        return self.named(settings.system.runtime.engine, settings)


def availability(
    settings: Settings,
    environment: Mapping[str, str],
    root: str = "",
    now: datetime | None = None,
) -> Availability:
    """Whether a soldier could be started now. Asks the disk only, so it may be asked often."""
    try:
        engine = engine_for(settings, environment, root)
    except ConfigurationError as missing:
        return Availability(False, missing.sentence, missing.remedy)
    found = availability_of(engine, environment)
    standing = Standings(BaseDir(root)).of(engine.name) if root and found.available else None
    if standing is None:
        return found
    if standing.is_closed(now or SystemClock().now()):
        return Availability(False, standing.reason, _remedy(engine.name, standing), standing.until)
    return Availability(True, on_trial=True)


def _remedy(engine: str, standing: Standing) -> str:
    if standing.code == LOGIN:
        return f"Once that is mended, go on at once with: rm state/engines/{engine}.json"
    return "Work goes on by itself."


def availability_of(engine: Engine, environment: Mapping[str, str]) -> Availability:
    """Whether this engine could be started now, in tmux."""
    found = engine.availability()
    return found if has_tmux(environment) or not found.available else _NO_TMUX


def has_tmux(environment: Mapping[str, str]) -> bool:
    return shutil.which(TMUX, path=environment.get("PATH", os.defpath)) is not None
