"""A soldier that makes the same call again and again is noticed in what its engine prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines import same_call
from kingdom.engines.same_call import SameCalls


def claude(number: int, name: str = "Bash", helper: str | None = None, **given: Any) -> str:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
    message = {"id": f"msg_{number}", "content": [{"type": "text", "text": "Again."}, block]}
    line = {"type": "assistant", "message": message, "parent_tool_use_id": helper}
    return json.dumps(line, separators=(",", ":"))


def codex(number: int, command: str = "ls", **said: Any) -> str:
    item = {"id": f"item_{number}", "type": "command_execution", "command": command, **said}
    return json.dumps({"type": "item.completed", "item": item}, separators=(",", ":"))


OUTPUT = '{"type":"user","message":{"content":[{"type":"tool_result"}]}}'


@pytest.mark.parametrize(
    ("engine", "lines", "expected"),
    [
        ("claude", [], 0),
        ("claude", [claude(1, command="ls"), OUTPUT, claude(2, command="ls")], 2),
        ("claude", [claude(1, command="ls"), claude(1, command="ls")], 1),
        ("claude", [claude(1, a=1, b=2), claude(2, b=2, a=1), claude(3, b=3), claude(4, b=2)], 2),
        ("claude", [claude(1, "Read", path="x"), claude(2, "Grep", path="x")], 1),
        ("claude", [claude(1, x=1), claude(2, x=2, helper="t"), claude(3, x=1)], 2),
        ("claude", [claude(one, "BashOutput", bash_id="1") for one in range(9)], 1),
        ("claude", ["no JSON", '"tool_use"', claude(1, x=1)[:40]], 0),
        ("codex", [codex(1, exit_code=0), codex(2, exit_code=1), codex(3, "pwd")], 2),
        ("codex", [codex(1).replace("completed", "started"), codex(1)], 1),
        ("command", [claude(1), claude(2)], 0),
    ],
)
def test_the_longest_row_counts(
    tmp_path: Path, engine: str, lines: list[str], expected: int
) -> None:
    path = tmp_path / "out"
    calls = SameCalls(engine, str(path))
    assert calls.most() == 0, "before there is a file"
    with path.open("w") as file:
        for line in lines:  # as it is written: the end of a line may come later
            for part in (line[:50], f"{line[50:]}\n"):
                file.write(part)
                file.flush()
                calls.most()
    assert calls.most() == expected


def test_one_line_that_is_longer_than_what_is_read_at_once_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_call, "_CHUNK", 1000)
    path = tmp_path / "out"
    path.write_text(f"{claude(1, text='x' * 2500)}\n{claude(2)}\n{claude(3)}\n")
    calls = SameCalls("claude", str(path))
    assert [calls.most() for _ in range(4)][-1] == 2
