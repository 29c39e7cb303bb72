"""The command `kingdom` that soldiers find, whatever is installed on their machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.runtime import own_command
from kingdom.store.paths import BaseDir


@pytest.fixture
def base(scratch: Path) -> BaseDir:
    made = BaseDir(scratch / "king's base (1)")
    init(made)
    return made


def test_it_is_found_first_and_asks_the_kingdom_of_its_directory(base: BaseDir) -> None:
    environment = own_command.on_path(base, {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
    workspace = Path(base.workspace, "gen-briefing", "task-20260207-001")
    workspace.mkdir(parents=True)
    asked = ["sh", "-c", "command -v kingdom; kingdom queue ls --all"]
    done = subprocess.run(
        asked, cwd=workspace, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(own_command.path_of(base))
    assert environment["PATH"].endswith("/usr/bin:/bin")


def test_it_is_written_once_and_again_when_it_is_damaged(base: BaseDir) -> None:
    own_command.on_path(base, {})
    path = Path(own_command.path_of(base))
    before = path.stat()
    own_command.on_path(base, {})
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    path.chmod(0o644)
    own_command.on_path(base, {})
    assert os.access(path, os.X_OK)
    path.write_text("other", "utf-8")
    own_command.on_path(base, {})
    assert path.read_text("utf-8") != "other"
    assert os.listdir(path.parent) == ["kingdom"]
