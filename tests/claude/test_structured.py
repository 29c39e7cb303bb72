"""Reports by the program's own tool instead of a file: `runtime.claude.structured_result`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.report import report_schema
from kingdom.store.paths import BaseDir
from tests.claude.camp import RESULT, TASK, Camp
from tests.support.barracks import Barracks, environment
from tests.support.programs import new_claude
from tests.support.scripted_model import ScriptedModel, Turn, say, use

SAID = {"status": "success", "summary": "Reviewed.", "memory_updates": ["The tests need Redis."]}


def structured(**said: Any) -> Turn:
    return use("StructuredOutput", **said)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def barracks(base: BaseDir) -> Iterator[Barracks]:
    made = Barracks(base)
    try:
        yield made
    finally:
        made.close()


def settle(barracks: Barracks, *, on: bool, **manifest: Any) -> None:
    claude = {"command": new_claude(), "max_retries": 0, "structured_result": on}
    runtime = {"engine": "claude", "claude": claude}
    barracks.configure("system", durability="fast", runtime=runtime)
    barracks.package(prompt="Do this: {{payload.word}}", **manifest)


def test_a_report_by_the_tool_is_checked_kept_and_continued(
    barracks: Barracks, model: ScriptedModel, scratch: Path
) -> None:
    settle(barracks, on=True, permissions={"tools": ["Read"]}, verify=["echo checked >> checks"])
    env = environment(HOME=str(scratch), **model.environment)
    model.says(
        structured(status="needs_human", summary="?", question="Blue?"),
        structured(status="bogus", summary="Painted."),
        structured(status="success", summary="Painted."),
        to="paint",
    )
    model.says(structured(**SAID), to="review")
    with barracks.general(env=env) as life:
        (first,) = barracks.publish(payload={"word": "review"})
        result = life.result_of(first)
        assert {name: result[name] for name in SAID} == SAID
        assert barracks.workspace(first).joinpath("checks").read_text() == "checked\n"
        assert "StructuredOutput" in barracks.workspace(first).joinpath("CLAUDE.md").read_text()
        assert len(model.requests) == 1
        (asked,) = barracks.publish(payload={"word": "paint"})
        assert life.result_of(asked)["question"] == "Blue?"
        (resumed,) = barracks.publish(
            type="resume", original_task_id=asked, payload={"word": "yes"}
        )
        assert life.result_of(resumed)["summary"] == "Painted."
    assert "paint" in model.requests[-1].text
    assert len(model.requests) == 1 + 1 + 2


@pytest.mark.long
def test_a_file_is_asked_for_unless_the_setting_says_otherwise(
    barracks: Barracks, model: ScriptedModel, scratch: Path
) -> None:
    settle(barracks, on=False)
    model.says(say("Done."), to="tell")
    with barracks.general(env=environment(HOME=str(scratch), **model.environment)) as life:
        (id_,) = barracks.publish(payload={"word": "tell"})
        assert life.result_of(id_)["error_code"] == "no_result"
        assert "StructuredOutput" not in barracks.workspace(id_).joinpath("CLAUDE.md").read_text()
    tools = [tool["name"] for tool in model.requests[0].body["tools"]]
    assert "StructuredOutput" not in tools
    assert "Your result is missing" in model.requests[1].text


@pytest.mark.long
def test_one_who_writes_the_file_all_the_same_is_asked_once_more_and_the_file_counts(
    camp: Camp,
) -> None:
    order = camp.order(result_schema=report_schema())
    camp.model.says(
        camp.writes_result(order), say("Done."), structured(status="failed", summary="")
    )
    run = camp.run(order)
    assert len(camp.model.requests) == 3
    assert run.evidence.has_result
    assert run.verdict.failure is None
    assert Path(order.result_path).read_text("utf-8").count(str(RESULT["summary"])) == 1


@pytest.mark.long
def test_the_form_of_what_is_to_happen_outside_is_taken(camp: Camp) -> None:
    review = {"do": "review", "body": "", "comments": [{"path": "a.py", "line": 3, "body": "?"}]}
    said = {"status": "success", "summary": "Reviewed.", "actions": [review, {"do": "push"}]}
    run = camp.play(structured(**said), result_schema=report_schema(), tools=("Read",))
    assert run.verdict.result == {"task_id": TASK, **said}
    assert run.metrics.get("denied_tools") is None


@pytest.mark.long
def test_a_session_that_is_continued_reports_again(camp: Camp) -> None:
    painted = structured(status="success", summary="Painted.")
    camp.model.says(
        structured(status="needs_human", summary="?", question="Blue?"), painted, painted
    )
    schema = report_schema()
    first = camp.run(camp.order(result_schema=schema))
    assert first.verdict.result is not None
    assert first.verdict.result["question"] == "Blue?"
    order = camp.order(prompt="yes", session_id=first.plan.session_id, result_schema=schema)
    run = camp.run(order)
    assert run.plan.session_id == first.plan.session_id
    assert run.verdict.result == {"task_id": TASK, "status": "success", "summary": "Painted."}
