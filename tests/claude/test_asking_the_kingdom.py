"""What the shipped generals ask the kingdom, with the program itself and the command they find."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.models.manifest import read_manifest
from kingdom.ops.init import init
from kingdom.ops.shipped import PACKAGES
from kingdom.runtime import own_command
from tests.claude.camp import Camp
from tests.claude.test_git import answers

QUESTIONS = {
    "kingdom status": "not running",
    "kingdom ask": "No question is open.",
    "kingdom queue ls --all | head -20": "",
    "kingdom trace task-20260207-009": "Nothing is known of task-20260207-009",
    "kingdom why acme/web#7 2>&1 | grep -i acme": "acme/web#7",
}
CHANGES = ["kingdom answer task-1 yes", "kingdom stop", "kingdom status; kingdom freeze"]


@pytest.mark.parametrize(
    "general", ["gen-herald", pytest.param("gen-briefing", marks=pytest.mark.long)]
)
def test_they_can_ask_and_change_nothing(camp: Camp, general: str) -> None:
    init(camp.base)
    manifest = Path(PACKAGES, general, "manifest.yaml")
    tools = read_manifest(manifest.read_bytes(), str(manifest)).permissions.tools
    assert tools is not None
    given = own_command.on_path(camp.base, camp.order().environment)
    told = answers(camp, [*QUESTIONS, *CHANGES], tuple(tools), environment=given)
    for answer, (command, part) in zip(told, QUESTIONS.items(), strict=False):
        assert part in answer, f"{command}: {answer}"
        assert "denied" not in answer
        assert "Not allowed" not in answer
    refused = told[len(QUESTIONS) :]
    assert len(refused) == len(CHANGES)
    assert all("Not allowed here" in one for one in refused)
