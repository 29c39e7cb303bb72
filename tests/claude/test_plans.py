"""How the program is started: functions of an order, without running anything."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines import hooks
from kingdom.engines.claude.engine import ClaudeEngine
from kingdom.engines.port import Order, Plan
from tests.support.orders import order_in

SESSION = "3f0d4c2e-7f5c-4a4e-9a57-2f1f9a0d8b11"


@pytest.fixture
def order(scratch: Path) -> Order:
    return order_in(scratch)


def engine(root: str = "/base", **options: Any) -> ClaudeEngine:
    return ClaudeEngine("claude", {"PATH": "/nowhere"}, root, **options)


def settings(plan: Plan) -> dict[str, Any]:
    (content,) = plan.files.values()
    loaded: dict[str, Any] = json.loads(content)
    return loaded


def value(plan: Plan, name: str) -> str:
    return plan.argv[plan.argv.index(name) + 1]


def test_a_program_that_is_not_there_is_named_with_the_command_that_installs_it() -> None:
    found = engine().availability()
    assert not found.available
    assert "npm install -g @anthropic-ai/claude-code" in found.remedy


def test_the_settings_lie_beside_the_spec_under_a_name_that_is_no_spec_s(order: Order) -> None:
    plan = engine().plan(order)
    assert list(plan.files) == ["/base/state/soldiers/soldier-1.settings"]
    assert value(plan, "--settings") == "/base/state/soldiers/soldier-1.settings"


def test_every_attempt_has_a_session_of_its_own_known_beforehand(order: Order) -> None:
    one, other = engine().plan(order), engine().plan(order)
    assert value(one, "--session-id") == one.session_id != other.session_id


@pytest.mark.parametrize("crumbs", [0.0000001, 0.0, -1.0])
def test_a_budget_is_never_nothing(order: Order, crumbs: float) -> None:
    plan = engine().plan(replace(order, budget_usd=crumbs))
    assert float(value(plan, "--max-budget-usd")) > 0


def test_limits_of_the_order_are_passed_on(order: Order) -> None:
    limited = replace(order, max_turns=7, budget_usd=0.5, result_schema={"type": "object"})
    plan = engine(model="opus").plan(limited)
    assert value(plan, "--max-turns") == "7"
    assert float(value(plan, "--max-budget-usd")) == 0.5
    assert json.loads(value(plan, "--json-schema")) == {"type": "object"}
    assert value(plan, "--model") == "opus"
    assert value(engine(model="opus").plan(replace(order, model="haiku")), "--model") == "haiku"
    assert "Stop" not in settings(plan)["hooks"]
    bare = engine().plan(order).argv
    assert not {"--max-turns", "--max-budget-usd", "--json-schema", "--model"} & {*bare}


def test_what_the_order_s_environment_has_already_is_left_alone(order: Order) -> None:
    assert engine(max_retries=2).plan(order).environment["CLAUDE_CODE_MAX_RETRIES"] == "2"
    given = {**order.environment, "CLAUDE_CODE_MAX_RETRIES": "9", "API_TIMEOUT_MS": "1"}
    added = engine().plan(replace(order, environment=given)).environment
    assert not {"CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS"} & added.keys()


def test_nothing_that_logs_in_is_added_or_written(order: Order) -> None:
    secret = {**order.environment, "ANTHROPIC_API_KEY": "PLANTED"}
    plan = engine().plan(replace(order, environment=secret))
    assert "PLANTED" not in str(plan)


def test_edits_without_a_place_mean_the_workspace(order: Order) -> None:
    allowed = settings(engine().plan(replace(order, tools=("Edit", "Read"))))["permissions"][
        "allow"
    ]
    assert allowed == ["Read", f"Edit(/{order.workspace}/**)", f"Edit(/{order.result_path})"]
    allowed = settings(engine().plan(replace(order, tools=("Read",))))["permissions"]["allow"]
    assert allowed == ["Read", f"Edit(/{order.result_path})"]


def test_it_tells_that_it_lives_and_is_asked_for_a_result(order: Order) -> None:
    heartbeat, question = hooks.heartbeat(order.heartbeat_path), hooks.question(order.result_path)
    assert settings(engine().plan(order))["hooks"] == {
        "PostToolUse": [heartbeat],
        "PostToolUseFailure": [heartbeat],
        "Stop": [question],
    }


def transcript(home: Path, directory: str) -> None:
    path = home / "projects" / directory / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()


def test_a_session_is_continued_where_its_transcript_is(order: Order, scratch: Path) -> None:
    wanted = replace(order, session_id=SESSION, attempt=2)
    assert "--resume" not in engine().plan(wanted).argv
    spelled = "".join(c if c.isalnum() else "-" for c in os.path.realpath(order.workspace))
    transcript(scratch / ".claude", spelled)
    plan = engine().plan(wanted)
    assert value(plan, "--resume") == plan.session_id == SESSION
    assert "--session-id" not in plan.argv
    for home in ({"home": "/other"}, {"environment": {"CLAUDE_CONFIG_DIR": "/other"}}):
        assert "--resume" not in engine().plan(replace(wanted, **home)).argv


def test_a_session_begun_elsewhere_is_tried_once(order: Order, scratch: Path) -> None:
    transcript(scratch / "own", "-elsewhere")
    wanted = replace(order, session_id=SESSION, home=str(scratch / "own"))
    assert "--resume" in engine().plan(wanted).argv
    assert "--resume" not in engine().plan(replace(wanted, attempt=2)).argv


def test_a_session_id_that_is_none_is_no_path(order: Order, scratch: Path) -> None:
    (scratch / ".claude" / "projects" / "x").mkdir(parents=True)
    (scratch / ".claude" / "y.jsonl").touch()
    assert "--resume" not in engine().plan(replace(order, session_id="../../y")).argv
