"""What the programs run for us while a soldier works: in any shell, with any path."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines import hooks


def run(hook: dict[str, Any], said: str = "{}") -> str:
    [only] = hook["hooks"]
    done = subprocess.run(
        ["/bin/sh", "-c", only["command"]],
        input=said,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_heartbeat_needs_nothing_but_a_shell(scratch: Path) -> None:
    path = scratch / "a $(beat)"
    run(hooks.heartbeat(str(path)))
    assert path.exists()


@pytest.mark.parametrize("space", ["", " "])
def test_the_question_for_a_result_is_put_once(scratch: Path, space: str) -> None:
    path = scratch / "the result's.json"
    hook = hooks.question(str(path))
    first = json.dumps(
        {"stop_hook_active": False, "last_assistant_message": '"stop_hook_active":true'}
    )
    answer = json.loads(run(hook, first.replace(": ", f":{space}")))
    assert answer["decision"] == "block"
    assert str(path) in answer["reason"]
    assert run(hook, f'{{"stop_hook_active":{space}true}}') == ""
    path.write_text("{}", "utf-8")
    assert run(hook, first) == ""
