"""Reports in the last message, in a form that the API enforces: `codex.structured_result`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kingdom.engines.codex import schemas
from kingdom.engines.said import write_said
from kingdom.models.action import ACTION
from kingdom.models.report import report_schema
from tests.codex.camp import RESULT, TASK, Camp
from tests.support.scripted_model import say

PUSH = {"do": "push", "event": None, "body": None, "comments": None, "draft": None}
NOTHING = {"error": None, "question": None, "options": None, "proclamation": None}


def test_a_report_in_the_last_message_is_written_down_without_what_it_leaves_out(
    camp: Camp,
) -> None:
    said = {"status": "success", "summary": "Fixed.", "actions": [PUSH], **NOTHING}
    run = camp.play(say(json.dumps(said)), result_schema=report_schema())
    expected = {
        "task_id": TASK,
        "status": "success",
        "summary": "Fixed.",
        "actions": [{"do": "push"}],
    }
    assert run.verdict.result == expected
    path = Path(run.order.result_path)
    assert write_said("codex", TASK, run.evidence.stdout_path, str(path))
    written = json.loads(path.read_text("utf-8"))
    assert written == expected
    ACTION.validate_python(written["actions"][0])
    (request,) = camp.model.requests
    asked = request.body["text"]["format"]
    assert asked["strict"]
    assert asked["schema"] == schemas.strict(report_schema())


@pytest.mark.long
def test_one_who_writes_the_file_all_the_same_costs_no_turn_and_the_file_counts(camp: Camp) -> None:
    order = camp.order(result_schema=report_schema())
    camp.model.says(camp.writes_result(order), say('{"status": "failed", "summary": ""}'))
    run = camp.run(order)
    assert len(camp.model.requests) == 2
    assert write_said("codex", TASK, run.evidence.stdout_path, order.result_path)
    assert json.loads(Path(order.result_path).read_text("utf-8")) == RESULT


@pytest.mark.long
def test_a_session_that_is_continued_reports_as_well(camp: Camp) -> None:
    painted = say('{"status": "success", "summary": "Painted.", "question": null}')
    asks = say('{"status": "needs_human", "summary": "?", "question": "Blue?"}')
    camp.model.says(asks, painted, painted)
    schema = report_schema()
    first = camp.run(camp.order(result_schema=schema))
    session = first.verdict.session_id
    run = camp.run(camp.order(session_id=session, result_schema=schema, prompt="yes"))
    assert run.verdict.session_id == session
    assert run.verdict.result == {"task_id": TASK, "status": "success", "summary": "Painted."}
