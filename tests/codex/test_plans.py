"""How the program is started: functions of an order, without running anything."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines import hooks
from kingdom.engines.codex import configuration, schemas
from kingdom.engines.codex.engine import LIMITATIONS, CodexEngine
from kingdom.engines.port import Order, Plan
from kingdom.models.result import RESULT
from tests.support.orders import order_in

SESSION = "01a1de6a-47ff-7f91-8ea3-8544d2f880dc"


@pytest.fixture
def order(scratch: Path) -> Order:
    workspace = scratch / "it's here" / "repo"
    workspace.mkdir(parents=True)
    result = scratch / "results" / "the result's.json"
    guides = str(workspace.parent)
    return order_in(scratch, workspace=str(workspace), guides=guides, result_path=str(result))


def engine(root: str = "/base", **options: Any) -> CodexEngine:
    return CodexEngine("codex", {"PATH": "/nowhere"}, root, **options)


def settings(plan: Plan) -> dict[str, Any]:
    """As the program understands them."""
    given = [plan.argv[at + 1] for at, word in enumerate(plan.argv) if word == "-c"]
    return tomllib.loads("\n".join(given))


def test_a_program_that_is_not_there_is_named_with_the_command_that_installs_it() -> None:
    found = engine().availability()
    assert not found.available
    assert "npm install -g @openai/codex" in found.remedy


def test_nothing_asks_and_nothing_of_the_user_s_is_read(order: Order) -> None:
    plan = engine().plan(order)
    assert plan.argv[:2] == ("codex", "exec")
    assert plan.argv[-1] == "-"
    assert {"--json", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules"} <= {
        *plan.argv
    }
    found = settings(plan)
    assert found["approval_policy"] == "never"
    assert found["features"]["plugins"] is found["features"]["apps"] is False
    assert found["default_permissions"] == "kingdom"
    assert plan.session_id is None
    assert plan.environment == {}
    assert plan.files == {}


def test_settings_of_the_program_s_own_come_last(order: Order) -> None:
    chosen = {"model_reasoning_effort": "high", "web_search": "live"}
    plan = engine(model="o9", config=chosen, user_config=True).plan(order)
    assert settings(plan).items() >= chosen.items()
    assert plan.argv[plan.argv.index("--model") + 1] == "o9"
    assert "--ignore-user-config" not in plan.argv
    plan = engine(model="o9").plan(replace(order, model="small"))
    assert plan.argv[plan.argv.index("--model") + 1] == "small"


@pytest.mark.parametrize(
    "value",
    ["it's", 'a "b" \\ \n\t', "é 🏰 \x7f\x1f", True, 7, 1.5, ["a", ["b"]], {"a b": {"c": 1}}],
)
def test_values_are_spelled_as_the_program_reads_them(value: object) -> None:
    assert tomllib.loads(f"x = {configuration.toml(value)}") == {"x": value}


def test_nothing_that_logs_in_is_added_or_written(order: Order) -> None:
    secret = {**order.environment, "CODEX_API_KEY": "PLANTED"}
    plan = engine().plan(replace(order, environment=secret))
    assert "PLANTED" not in str(plan)
    assert "CODEX_API_KEY" in settings(plan)["shell_environment_policy"]["exclude"]


def test_a_home_of_its_own_is_where_the_login_is_hidden(order: Order) -> None:
    plan = engine().plan(replace(order, home="/own"))
    assert plan.environment == {"CODEX_HOME": "/own"}
    assert settings(plan)["permissions"]["kingdom"]["filesystem"]["/own/auth.json"] == "deny"


def test_a_result_s_form_lies_beside_the_spec(order: Order) -> None:
    schema = {"type": "object", "properties": {"status": {"type": "string"}}}
    plan = engine().plan(replace(order, result_schema=schema))
    path = plan.argv[plan.argv.index("--output-schema") + 1]
    assert path == "/base/state/soldiers/soldier-1.schema"
    assert json.loads(plan.files[path]) == schemas.strict(schema)
    assert "Stop" not in settings(plan)["hooks"]


def test_a_form_that_the_api_would_refuse_is_not_passed_on(order: Order) -> None:
    plan = engine().plan(replace(order, result_schema=RESULT.json_schema()))
    assert "--output-schema" not in plan.argv
    assert "Stop" in settings(plan)["hooks"]


def test_a_form_is_made_strict() -> None:
    inner = {"type": "object", "properties": {"default": {"type": "string", "default": "x"}}}
    listed = {"type": "array", "items": inner, "title": "t"}
    found = schemas.strict(
        {"type": "object", "properties": {"a": listed, "b": {"enum": ["x"]}}, "required": ["b"]}
    )
    named = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    closed = {
        "type": "object",
        "properties": {"default": named},
        "required": ["default"],
        "additionalProperties": False,
    }
    assert found == {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "array", "items": closed}, {"type": "null"}]},
            "b": {"enum": ["x"]},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"anyOf": [{"type": "object"}]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{}]},
    ],
)
def test_a_form_that_cannot_be_strict_is_none(schema: dict[str, Any]) -> None:
    assert schemas.strict(schema) is None


def test_it_tells_that_it_lives_and_is_asked_for_a_result(order: Order) -> None:
    heartbeat, question = hooks.heartbeat(order.heartbeat_path), hooks.question(order.result_path)
    assert settings(engine().plan(order))["hooks"] == {
        "PostToolUse": [heartbeat],
        "Stop": [question],
    }


def test_hooks_of_the_user_s_are_not_run_for_the_sake_of_ours(order: Order, scratch: Path) -> None:
    assert "--dangerously-bypass-hook-trust" in engine().plan(order).argv
    (scratch / ".codex").mkdir()
    (scratch / ".codex" / "hooks.json").touch()
    for plan in (engine().plan(order), engine(user_config=True).plan(replace(order, home="/own"))):
        assert "--dangerously-bypass-hook-trust" not in plan.argv
        assert "hooks" not in settings(plan)


def transcript(home: Path, name: str) -> None:
    path = home / "sessions" / "2026" / "11" / "15" / name
    path.parent.mkdir(parents=True)
    path.touch()


def test_a_session_is_continued_where_its_transcript_is(order: Order, scratch: Path) -> None:
    wanted = replace(order, session_id=SESSION, attempt=2)
    assert "resume" not in engine().plan(wanted).argv
    transcript(scratch / ".codex", f"rollout-2026-11-15T08-54-29-{SESSION}.jsonl")
    plan = engine().plan(wanted)
    assert plan.argv[1:3] == ("exec", "resume")
    assert plan.argv[-2:] == (SESSION, "-")
    assert plan.session_id == SESSION
    for home in ({"home": "/other"}, {"environment": {"CODEX_HOME": "/other"}}):
        assert "resume" not in engine().plan(replace(wanted, **home)).argv


@pytest.mark.parametrize("session", ["", "*", "../../y", "-" * 35 + "*"])
def test_a_session_id_that_is_none_is_no_pattern(order: Order, scratch: Path, session: str) -> None:
    transcript(scratch / ".codex", f"rollout-2026-11-15T08-54-29-{SESSION}.jsonl")
    assert "resume" not in engine().plan(replace(order, session_id=session)).argv


def test_what_it_cannot_do_is_said_in_sentences() -> None:
    assert all(sentence.startswith("Codex ") for sentence in LIMITATIONS)
    assert all(sentence.endswith(".") for sentence in LIMITATIONS)


def test_the_address_of_a_proxy_is_a_setting(order: Order) -> None:
    """The program itself passes the variable over."""
    assert "openai_base_url" not in settings(engine().plan(order))
    given = {**order.environment, "OPENAI_BASE_URL": "http://proxy:1/v1"}
    plan = engine().plan(replace(order, environment=given))
    assert settings(plan)["openai_base_url"] == "http://proxy:1/v1"
