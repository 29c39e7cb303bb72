"""A general may have its soldiers work with another model than the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.barracks import Barracks, environment

SCRIPT = """\
printf '%s ' "$@" > "$HOME/arguments"
printf '{"task_id": "%s", "status": "success", "summary": "done"}' $KINGDOM_TASK_ID \\
  > "$KINGDOM_RESULT_PATH"
echo '{"type":"result","subtype":"success","is_error":false,"usage":{"output_tokens":1}}'
"""


@pytest.mark.parametrize(
    ("model", "expected"),
    [({"claude": "haiku", "codex": "small"}, "haiku"), ({"codex": "small"}, "opus"), ({}, "opus")],
)
def test_the_program_is_told_which(barracks: Barracks, model: Any, expected: str) -> None:
    home = Path(barracks.base.root, "home")
    home.mkdir()
    barracks._program("act", SCRIPT)
    claude = {"command": "./act", "model": "opus"}
    runtime = {"engine": "claude", "claude": claude}
    barracks.configure("system", durability="fast", runtime=runtime)
    barracks.package(model=model)
    (task,) = barracks.publish()
    with barracks.general(env=environment(HOME=str(home))) as life:
        life.until(lambda: barracks.task(task)[0] == "completed", "it has ended")
    assert f"--model {expected} " in (home / "arguments").read_text()
