"""What the configuration says of one engine's soldiers: their variables, and how they report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kingdom.engines.port import Engine
from kingdom.runtime.config import Config

_HOMES = {"claude": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}
_STRUCTURED = {
    "claude": "Write no result file: report by calling the tool StructuredOutput, once, as the "
    "last thing you do. It takes the same object, without `task_id`.",
    "codex": "Write no result file: let the object be all of your last message, without `task_id`.",
}


def variables_of(engine: Engine, config: Config) -> Sequence[str]:
    runtime = config.settings.system.runtime
    by_engine = {"claude": runtime.claude.env, "codex": runtime.codex.env}
    return by_engine.get(engine.name, ())


def hosts_of(engine: Engine, config: Config) -> Sequence[str]:
    """What the program itself has to reach."""
    return config.settings.system.runtime.command.hosts if engine.name == "command" else ()


def home_of(engine: Engine, environment: Mapping[str, str]) -> str:
    """Where the user's own login is."""
    variable, name = _HOMES[engine.name]
    return environment.get(variable) or os.path.join(environment.get("HOME", ""), name)


def is_structured(engine: Engine, config: Config) -> bool:
    runtime = config.settings.system.runtime
    by_engine = {
        "claude": runtime.claude.structured_result,
        "codex": runtime.codex.structured_result,
    }
    return by_engine.get(engine.name, False)


def guide(engine: Engine, config: Config) -> str:
    """The kingdom's own, and how to report where that is not in a file."""
    if not is_structured(engine, config):
        return config.guide
    return f"{config.guide.rstrip()}\n\n{_STRUCTURED[engine.name]}\n"
