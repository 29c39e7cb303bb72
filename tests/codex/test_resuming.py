"""Sessions that go on, and the tokens they take."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.codex.camp import Camp
from tests.support.scripted_model import fails, hangs, say
from tests.support.scripted_responses import command

ONCE = {"status": {"type": "string"}}
SCHEMA = {"type": "object", "properties": ONCE}  # so that nobody asks for a file


def test_a_question_is_answered_in_the_same_session_and_counted_once(camp: Camp) -> None:
    camp.model.says(command("echo one"), say("Which one?"), say("Fine."), say("Done."))
    first = camp.run(camp.order(prompt="first words", result_schema=SCHEMA))
    assert first.plan.session_id is None
    session, earlier = first.verdict.session_id, first.metrics
    assert earlier["tokens"]["input"] == 200
    for prompt, total in (("the blue one", 300), ("go on", 400)):
        order = camp.order(prompt=prompt, session_id=session, attempt=2, result_schema=SCHEMA)
        run = camp.run(order, earlier=earlier)
        assert run.verdict.failure is None
        assert run.verdict.session_id == run.plan.session_id == session
        earlier = run.metrics
        assert earlier["tokens"] == {
            "input": 100,
            "output": 20,
            "cache_read": 0,
            "cache_creation": 0,
        }
        assert earlier["session_tokens"]["input"] == total
    said = camp.model.requests[-1].text
    assert "first words" in said
    assert "the blue one" in said
    assert "cost_usd" not in earlier


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_session_goes_on_after_a_kill(camp: Camp, number: signal.Signals) -> None:
    camp.model.says(command("echo one"), hangs())
    begun = camp.start(camp.order(prompt="first words"))
    camp.model.wait_for(2)
    os.kill(begun.program(), number)
    first = begun.ended()
    order = camp.order(prompt="go on", attempt=2, session_id=first.verdict.session_id)
    camp.model.says(*[camp.writes_result(order)] * 2, say("Done."))
    run = camp.run(order, earlier=first.metrics)
    assert run.verdict.failure is None
    assert run.evidence.has_result
    assert run.verdict.session_id == first.verdict.session_id
    assert "first words" in camp.model.requests[-1].text
    # The one answer of the killed run, which had not counted it, is in here as well.
    assert run.metrics["tokens"]["input"] == 100 * (len(camp.model.requests) - 1)


@pytest.mark.long
def test_a_session_goes_on_after_an_outage(camp: Camp) -> None:
    first = camp.play(fails(500), prompt="first words")
    session = first.verdict.session_id
    run = camp.play(say("Fine."), prompt="go on", session_id=session, attempt=2)
    assert run.verdict.failure is None
    assert "first words" in camp.model.requests[-1].text


@pytest.mark.long
def test_a_session_goes_on_from_elsewhere(camp: Camp) -> None:
    first = camp.play(say("Fine."), prompt="first words")
    other = camp.home / "other"
    other.mkdir()
    session = first.verdict.session_id
    run = camp.play(say("Fine."), say("x"), session_id=session, workspace=str(other), guides=None)
    assert run.verdict.session_id == session
    assert "first words" in camp.model.requests[-1].text
    assert str(other) in camp.model.requests[-1].text


@pytest.mark.long
def test_a_session_that_nobody_knows_is_begun_anew(camp: Camp) -> None:
    gone = "3f0d4c2e-7f5c-4a4e-9a57-2f1f9a0d8b11"
    run = camp.play(say("Fine."), session_id=gone)
    assert run.plan.session_id is None
    assert run.verdict.failure is None
    assert run.verdict.session_id not in (None, gone)


@pytest.mark.long
def test_a_transcript_without_a_word_in_it_is_a_session_lost(camp: Camp) -> None:
    session = camp.play(say("Fine.")).verdict.session_id
    (transcript,) = camp.home.glob(f".codex/sessions/*/*/*/*{session}.jsonl")
    Path(transcript).write_text("", "utf-8")
    run = camp.play(say("Fine."), session_id=session)
    assert run.verdict.failure == "session_lost"
    assert run.verdict.session_id is None
