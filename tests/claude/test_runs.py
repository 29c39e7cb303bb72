"""Runs of the real program that go as they should."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.claude.camp import RESULT, TASK, Camp
from tests.support.scripted_model import both, say, use

SCHEMA = {
    "type": "object",
    "properties": {"status": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["status", "summary"],
}


def test_a_soldier_edits_a_file_and_reports(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(
        both(say("I write."), use("Write", file_path=f"{order.workspace}/a.txt", content="hi\n")),
        use("Bash", command="cp a.txt b.txt"),
        camp.writes_result(order),
        say("All done."),
    )
    run = camp.run(order)
    assert run.verdict.failure is None
    assert run.verdict.last_message == "All done."
    assert run.verdict.session_id == run.plan.session_id == run.lines[0]["session_id"]
    assert Path(order.workspace, "b.txt").read_text("utf-8") == "hi\n"
    assert json.loads(Path(order.result_path).read_text("utf-8")) == RESULT
    assert os.path.exists(order.heartbeat_path)
    assert len(camp.model.requests) == 4  # with a result there was nothing to ask for
    assert run.metrics["tokens"] == {
        "input": 400,
        "output": 80,
        "cache_read": 0,
        "cache_creation": 0,
    }
    assert run.metrics["turns"] == 4
    assert run.metrics["cost_usd"] == run.metrics["session_cost_usd"] > 0
    assert run.metrics["models"]
    assert run.metrics["version"].startswith("2.1.")
    assert "denied_tools" not in run.metrics


def test_one_that_ends_without_a_result_is_asked_once(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(say("Finished."), camp.writes_result(order), say("Written."))
    run = camp.run(order)
    assert run.verdict.failure is None
    assert run.evidence.has_result
    assert order.result_path in camp.model.requests[1].text


@pytest.mark.long
def test_one_that_never_writes_a_result_is_not_asked_again(camp: Camp) -> None:
    run = camp.play(say("Finished."))
    assert len(camp.model.requests) == 2
    assert run.exit["code"] == 0
    assert run.verdict.failure is None
    assert run.verdict.result is None
    assert run.verdict.last_message == "Finished."


@pytest.mark.long
def test_a_result_in_the_final_message_counts(camp: Camp) -> None:
    said = {"status": "skipped", "summary": "nothing to do", "reason": "a draft"}
    run = camp.play(say(f"Here it is:\n```json\n{json.dumps(said)}\n```"))
    assert run.verdict.result == {"task_id": TASK, **said}


@pytest.mark.long
def test_a_structured_result_counts_and_nothing_more_is_asked(camp: Camp) -> None:
    said = {"status": "success", "summary": "fine"}
    run = camp.play(use("StructuredOutput", **said), say("no"), result_schema=SCHEMA)
    assert run.verdict.failure is None
    assert run.verdict.result == {"task_id": TASK, **said}
    assert len(camp.model.requests) == 1


@pytest.mark.long
def test_a_structured_result_of_another_form_is_refused_by_the_program(camp: Camp) -> None:
    said = {"status": "success", "summary": "fine"}
    run = camp.play(
        use("StructuredOutput", status="success"),
        use("StructuredOutput", **said),
        result_schema=SCHEMA,
    )
    assert run.verdict.result == {"task_id": TASK, **said}


@pytest.mark.long
def test_a_schema_that_the_model_ignores_leaves_no_result(camp: Camp) -> None:
    run = camp.play(say("No, thanks."), result_schema=SCHEMA)
    assert run.exit["code"] == 0
    assert run.verdict.failure is None
    assert run.verdict.result is None
    assert run.verdict.last_message == "No, thanks."
    assert len(camp.model.requests) == 2


@pytest.mark.long
def test_a_prompt_of_200_kb_arrives_whole(camp: Camp) -> None:
    camp.play(say("Read."), prompt="x" * 200_000 + " the end of it")
    assert "the end of it" in camp.model.requests[0].text


@pytest.mark.long
def test_several_share_one_model(camp: Camp) -> None:
    orders = [camp.order(prompt=f"word-{number}") for number in range(3)]
    for number, order in enumerate(orders):
        camp.model.says(camp.writes_result(order), say(f"I was {number}."), to=f"word-{number}")
    begun = [camp.start(order) for order in orders]
    said = [one.ended().verdict.last_message for one in begun]
    assert said == ["I was 0.", "I was 1.", "I was 2."]


@pytest.mark.long
def test_progress_tells_tool_and_turn_while_it_runs(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(
        both(say("First."), use("Bash", command="echo one")), use("Bash", command="sleep 60")
    )
    begun = camp.start(order)
    begun.until_it("Bash: sleep 60 (turn 2)")
    begun.wrapper.terminate()
    begun.ended()
