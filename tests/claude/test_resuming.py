"""Sessions that go on, and what they cost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.claude.camp import Camp
from tests.support.scripted_model import fails, hangs, say, use


def test_a_question_is_answered_in_the_same_session_and_paid_once(camp: Camp) -> None:
    camp.model.says(use("Bash", command="echo one"), say("Which one?"), say("Fine."), say("Done."))
    schema = {"type": "object"}  # so that nobody asks for a file
    first = camp.run(camp.order(prompt="first words", result_schema=schema))
    session, earlier, costs = first.plan.session_id, first.metrics, [first.metrics["cost_usd"]]
    for prompt in ("the blue one", "go on"):
        order = camp.order(prompt=prompt, session_id=session, result_schema=schema)
        run = camp.run(order, earlier=earlier)
        assert run.verdict.failure is None
        assert run.verdict.session_id == run.plan.session_id == session
        earlier = run.metrics
        costs.append(run.metrics["cost_usd"])
        assert run.metrics["session_cost_usd"] == pytest.approx(sum(costs))
        assert run.metrics["session_api_seconds"] >= run.metrics["api_seconds"] > 0
    each = costs[0] / (len(camp.model.requests) - 2 * 2)
    assert costs[1:] == pytest.approx([2 * each, 2 * each])  # each was asked for its result once
    said = camp.model.requests[-1].text
    assert "first words" in said
    assert "the blue one" in said
    assert earlier["tokens"]["input"] == 200


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_session_goes_on_after_a_kill(camp: Camp, number: signal.Signals) -> None:
    camp.model.says(use("Bash", command="echo one"), hangs())
    begun = camp.start(camp.order(prompt="first words"))
    camp.model.wait_for(2)
    os.kill(begun.program(), number)
    first = begun.ended()
    order = camp.order(prompt="go on", attempt=2, session_id=first.plan.session_id)
    # The program itself puts a word or two between what was cut off and the new prompt.
    camp.model.says(*[camp.writes_result(order)] * 3, say("Done."))
    run = camp.run(order, earlier=first.metrics)
    assert run.verdict.failure is None
    assert run.evidence.has_result
    assert "--resume" in run.plan.argv
    assert run.verdict.session_id == first.plan.session_id
    assert "first words" in camp.model.requests[-1].text
    assert run.metrics["tokens"]["input"] == 100 * (len(camp.model.requests) - 2)
    assert 0 < run.metrics["cost_usd"] <= run.metrics["session_cost_usd"]


@pytest.mark.long
def test_a_session_goes_on_after_an_outage(camp: Camp) -> None:
    first = camp.play(fails(500), prompt="first words")
    run = camp.play(say("Fine."), prompt="go on", session_id=first.plan.session_id, attempt=2)
    assert run.verdict.failure is None
    assert "first words" in camp.model.requests[-1].text


@pytest.mark.long
def test_a_session_that_nobody_knows_is_begun_anew(camp: Camp) -> None:
    gone = "3f0d4c2e-7f5c-4a4e-9a57-2f1f9a0d8b11"
    run = camp.play(say("Fine."), session_id=gone)
    assert run.plan.session_id not in (None, gone)
    assert run.verdict.failure is None


@pytest.mark.long
def test_a_session_begun_elsewhere_goes_on_or_is_begun_anew(camp: Camp, program: str) -> None:
    """The older version finds it only where it was begun, and says so."""
    first = camp.play(say("Fine."), prompt="first words")
    other = camp.home / "other"
    other.mkdir()
    session = first.plan.session_id
    run = camp.play(say("Fine."), session_id=session, workspace=str(other), guides=None)
    assert run.plan.session_id == session
    if "claude-code" in program:
        assert run.verdict.failure == "session_lost"
    else:
        assert run.verdict.failure is None
    again = camp.order(session_id=session, workspace=str(other), guides=None, attempt=2)
    run = camp.run(again)
    assert run.verdict.failure is None


@pytest.mark.long
def test_a_transcript_without_a_word_in_it_is_a_session_lost(camp: Camp) -> None:
    first = camp.play(say("Fine."))
    session = first.plan.session_id
    (transcript,) = camp.home.glob(f".claude/projects/*/{session}.jsonl")
    Path(transcript).write_text("", "utf-8")
    assert camp.play(say("Fine."), session_id=session).verdict.failure == "session_lost"
