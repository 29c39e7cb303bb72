"""Which engine the settings name, and whether it can take work just now.

Nothing falls back to another engine: what is missing is said, with what helps.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from kingdom.engines.command import CommandEngine
from kingdom.engines.port import Availability, Engine
from kingdom.engines.rehearsal import RehearsalEngine
from kingdom.errors import ConfigurationError
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
    if name == RehearsalEngine.name:
        return RehearsalEngine()
    if name == CommandEngine.name:
        return CommandEngine(settings.system.runtime.command.argv, environment, root)
    missing = _unsupported(name)
    raise ConfigurationError(missing.reason, remedy=missing.remedy, code="engine_missing")


def availability(
    settings: Settings, environment: Mapping[str, str], root: str = ""
) -> Availability:
    """Whether a soldier could be started now. Asks the disk only, so it may be asked often."""
    try:
        engine = engine_for(settings, environment, root)
    except ConfigurationError as missing:
        return Availability(False, missing.sentence, missing.remedy)
    return availability_of(engine, environment)


def availability_of(engine: Engine, environment: Mapping[str, str]) -> Availability:
    """Whether this engine could be started now, in tmux."""
    found = engine.availability()
    return found if has_tmux(environment) or not found.available else _NO_TMUX


def has_tmux(environment: Mapping[str, str]) -> bool:
    return shutil.which(TMUX, path=environment.get("PATH", os.defpath)) is not None


def _unsupported(engine: str) -> Availability:
    return Availability(
        False,
        f"This version cannot run soldiers on {engine}.",
        "Set runtime.engine in config/system.yaml to rehearsal, or to command with "
        "runtime.command.argv.",
    )
