"""Every way a run of the real program can go wrong, and what it is called."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE
from tests.codex.camp import Camp
from tests.support.scripted_model import Turn, cut, fails, hangs, say, stalls
from tests.support.scripted_responses import command, gives_up, stops

CREDIT = "You exceeded your current quota, please check your plan and billing details."
REFUSED = {
    "wrong key": (fails(401, "Incorrect API key provided"), LOGIN),
    "forbidden": (fails(403, "Country, region, or territory not supported"), LOGIN),
    "no money": (fails(429, CREDIT, "insufficient_quota"), LOGIN),
    "no plan": (gives_up("usage_not_included"), LOGIN),
    "no such model": (
        fails(404, "The model `x` does not exist", "model_not_found"),
        "engine_refused",
    ),
    "bad request": (fails(400, "tools: wrong", "invalid_request_error"), "engine_refused"),
    "model of another plan": (fails(400, '{"detail": "not with ChatGPT"}'), "engine_refused"),
    "too long": (gives_up("context_length_exceeded"), "prompt_too_large"),
    "too large": (fails(413, "too large"), "prompt_too_large"),
    "too many requests": (fails(429, "slow down", "rate_limit_exceeded"), LIMIT),
    "too many of late": (gives_up("rate_limit_exceeded", "Rate limit reached."), LIMIT),
    "no more": (fails(429, "x", "usage_limit_reached"), LIMIT),
    "server error": (fails(500, "Internal server error"), OUTAGE),
    "bad gateway": (fails(502, "bad gateway"), OUTAGE),
    "at capacity": (gives_up("server_is_overloaded"), OUTAGE),
    "failed answer": (gives_up("server_error"), OUTAGE),
    "cut stream": (cut(), OUTAGE),
    "filtered": (stops("content_filter"), "model_refused"),
    "flagged": (gives_up("cyber_policy", "This request has been flagged."), "model_refused"),
    "cut answer": (stops("max_output_tokens"), "engine_failed"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_has_a_name(camp: Camp, name: str) -> None:
    turn, failure = REFUSED[name]
    run = camp.play(turn)
    assert run.exit["code"] == 1
    assert run.verdict.failure == failure
    assert run.verdict.error
    assert not run.verdict.error.startswith("{")
    assert run.verdict.unavailable_until is None
    assert run.verdict.session_id == run.lines[0]["thread_id"]
    assert run.metrics["partial"]


@pytest.mark.long
@pytest.mark.parametrize("fault", [fails(500), fails(503), cut(), gives_up("server_error")])
def test_a_fault_that_passes_is_none(camp: Camp, fault: Turn) -> None:
    run = camp.play([fault, say("Fine.")])
    assert run.verdict.failure is None
    assert run.verdict.last_message == "Fine."


@pytest.mark.long
@pytest.mark.parametrize("host", ["127.0.0.1:9", "no.such.host.invalid"])
def test_a_network_that_is_not_there_is_an_outage(camp: Camp, host: str) -> None:
    """Left to itself, the program would wait for it without end."""
    camp.engine_with(config=camp.model.provider(base_url=f"http://{host}/v1"))
    assert camp.run(camp.order()).verdict.failure == OUTAGE


def limited(reset: int, plan: str) -> Turn:
    error = {"type": "usage_limit_reached", "plan_type": plan, "resets_at": reset}
    return fails(429, json.dumps({"error": error}))


@pytest.mark.long
@pytest.mark.parametrize(
    ("hours", "plan"),
    [
        (1, "pro"),
        (20, "free"),
        (70, "plus"),
        (150, "team"),
    ],
)
def test_a_usage_limit_tells_until_when(camp: Camp, hours: int, plan: str) -> None:
    reset = int(time.time()) // 60 * 60 + 3600 * hours
    run = camp.play(limited(reset, plan))
    assert run.verdict.failure == LIMIT
    assert run.verdict.unavailable_until == datetime.fromtimestamp(reset, UTC)
    assert "usage limit" in run.verdict.error
    assert len(camp.model.requests) == 1


@pytest.mark.long
def test_retries_are_seen_while_they_happen(camp: Camp) -> None:
    camp.model.says(fails(503, "Overloaded", retry_after="30"))
    begun = camp.start(camp.order())
    begun.until_it("retry 1 of 1 after 503")
    begun.wrapper.terminate()
    begun.ended()


@pytest.mark.long
def test_without_a_login_it_says_how_to_get_one(camp: Camp) -> None:
    order = camp.order()
    kept = {k: v for k, v in order.environment.items() if k != "OPENAI_API_KEY"}
    run = camp.run(replace(order, environment=kept))
    assert run.verdict.failure == LOGIN
    assert "CODEX_API_KEY" in run.verdict.error
    assert camp.model.requests == []


@pytest.mark.long
def test_a_success_without_a_word_of_the_model_is_none(camp: Camp) -> None:
    run = camp.play(Turn(output_tokens=0))
    assert run.exit["code"] == 0
    assert run.verdict.failure == "empty_run"


@pytest.mark.long
@pytest.mark.parametrize(
    "change", [{"model_provider": "nobody"}, {"default_permissions": ":no-such"}]
)
def test_settings_that_the_program_refuses_are_not_tried_again(
    camp: Camp, change: dict[str, str]
) -> None:
    camp.engine_with(config=change)
    run = camp.run(camp.order())
    assert run.exit["code"] == 1
    assert run.verdict.failure == "engine_refused"
    assert change.popitem()[1] in run.verdict.error


@pytest.mark.long
def test_a_home_that_is_not_there_is_not_tried_again(camp: Camp) -> None:
    run = camp.run(camp.order(home="/no/such/home"))
    assert run.verdict.failure == "engine_refused"
    assert "/no/such/home" in run.verdict.error


@pytest.mark.long
def test_a_program_that_is_gone_is_missing(camp: Camp) -> None:
    camp.program = "/no/such/codex"
    camp.engine_with()
    assert not camp.engine.availability().available
    run = camp.run(camp.order())
    assert run.exit["code"] == 127
    assert run.verdict.failure == "engine_missing"


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_one_that_is_killed_was_killed(camp: Camp, number: signal.Signals) -> None:
    camp.model.says(command("echo one"), hangs())
    begun = camp.start(camp.order())
    camp.model.wait_for(2)
    begun.until_it("command: echo one (turn 1)")
    os.kill(begun.program(), number)
    run = begun.ended()
    assert run.verdict.failure == "soldier_killed"
    assert run.verdict.session_id == run.lines[0]["thread_id"]
    assert run.metrics == {"turns": 1, "partial": True}


@pytest.mark.long
def test_one_that_hangs_is_ended_with_all_it_started_when_its_time_is_up(camp: Camp) -> None:
    """Also what its commands have put into sessions of their own."""
    camp.model.says(command("sleep 300 & setsid sleep 300 & echo up"), hangs())
    begun = camp.start(camp.order(timeout_seconds=8.0))
    camp.model.wait_for(2)
    assert begun.processes()
    run = begun.ended()
    assert run.exit["reason"] == "deadline"
    assert begun.processes() == set()
    assert run.verdict.failure == "soldier_killed"


@pytest.mark.long
def test_a_stream_that_stalls_is_asked_for_again(camp: Camp) -> None:
    camp.engine_with(config=camp.model.provider(stream_idle_timeout_ms=1000))
    run = camp.play([stalls(), say("Fine.")])
    assert run.verdict.failure is None
    assert run.verdict.last_message == "Fine."


@pytest.mark.long
def test_one_that_reported_is_believed_whatever_comes_after(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(camp.writes_result(order), fails(503, "Overloaded"))
    run = camp.run(order)
    assert run.exit["code"] == 1
    assert run.verdict.failure is None
    assert run.metrics["engine_fault"] == OUTAGE
