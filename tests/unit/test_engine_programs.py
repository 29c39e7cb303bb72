"""Where an engine's program is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.engines.claude.engine import ClaudeEngine
from kingdom.engines.codex.engine import CodexEngine
from kingdom.engines.command import CommandEngine
from kingdom.engines.port import Engine
from kingdom.engines.program import Program

BY_NAME = {"PATH": "/nowhere"}


def program_at(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return str(path)


def test_by_its_name_on_the_path(scratch: Path) -> None:
    program_at(scratch / "agent")
    assert Program("agent", {"PATH": str(scratch)}, "/base").word() == f"{scratch}/agent"


def test_by_a_path_which_is_one_of_the_base_directory_s_or_of_the_user_s(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(scratch / "home"))
    tool = program_at(scratch / "base" / "tools" / "agent")
    own = program_at(scratch / "home" / "agent")
    base = str(scratch / "base")
    assert Program("tools/agent", BY_NAME, base).path() == tool
    assert Program("~/agent", BY_NAME, base).path() == own
    assert Program(own, BY_NAME, base).path() == own


def test_one_that_is_not_there_keeps_the_name_it_was_given() -> None:
    assert Program("tools/agent", BY_NAME, "/base").path() is None
    assert Program("tools/agent", BY_NAME, "/base").word() == "tools/agent"


@pytest.mark.parametrize(
    "make", [ClaudeEngine, CodexEngine, lambda *a: CommandEngine([a[0]], *a[1:])]
)
def test_every_engine_looks_there(scratch: Path, make: type[Engine]) -> None:
    program_at(scratch / "tools" / "agent")
    assert make("tools/agent", BY_NAME, str(scratch)).availability().available
    missing = make("agent", BY_NAME, str(scratch)).availability()
    assert not missing.available
    assert "agent" in missing.reason
