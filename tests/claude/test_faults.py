"""Every way a run of the real program can go wrong, and what it is called."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE
from tests.claude.camp import Camp, with_login
from tests.support.scripted_model import (
    Turn,
    cut,
    fails,
    hangs,
    refuses,
    say,
    stalls,
    use,
)

LOOP = use("Bash", command="echo again")
REFUSED = {
    "wrong key": (fails(401, "invalid x-api-key", "authentication_error"), LOGIN),
    "forbidden": (fails(403, "forbidden", "permission_error"), LOGIN),
    "no money": (fails(400, "Your credit balance is too low", "invalid_request_error"), LOGIN),
    "no such model": (fails(404, "model: x", "not_found_error"), "engine_refused"),
    "bad request": (fails(400, "tools: wrong", "invalid_request_error"), "engine_refused"),
    "too long": (fails(400, "prompt is too long: 9", "invalid_request_error"), "prompt_too_large"),
    "too large": (fails(413, "too large", "request_too_large"), "prompt_too_large"),
    "too many requests": (fails(429, "slow down", "rate_limit_error"), LIMIT),
    "server error": (fails(500, "Internal server error"), OUTAGE),
    "bad gateway": (fails(502, "bad gateway"), OUTAGE),
    "cut stream": (cut(), OUTAGE),
    "refusal": (refuses("I cannot."), "model_refused"),
    "cut answer": (replace(say("long"), stop="max_tokens"), "engine_failed"),
}


def test_an_overload_is_an_outage_after_its_retries(camp: Camp) -> None:
    run = camp.play(fails(529, "Overloaded", "overloaded_error"))
    assert run.exit["code"] == 1
    assert run.verdict.failure == OUTAGE
    assert "529" in run.verdict.error
    assert len(camp.model.requests) == 2
    assert run.verdict.session_id == run.plan.session_id


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_has_a_name(camp: Camp, name: str) -> None:
    turn, failure = REFUSED[name]
    run = camp.play(turn)
    assert run.exit["code"] == 1
    assert run.verdict.failure == failure
    assert run.verdict.error
    assert run.verdict.unavailable_until is None


@pytest.mark.long
@pytest.mark.parametrize("fault", [fails(529), fails(429), fails(500), cut()])
def test_a_fault_that_passes_is_none(camp: Camp, fault: Turn) -> None:
    run = camp.play([fault, say("Fine.")], result_schema={"type": "object"})
    assert run.verdict.failure is None
    assert run.verdict.last_message == "Fine."


@pytest.mark.long
@pytest.mark.parametrize("host", ["127.0.0.1:9", "no.such.host.invalid"])
def test_a_network_that_is_not_there_is_an_outage(camp: Camp, host: str) -> None:
    order = camp.order()
    environment = {**order.environment, "ANTHROPIC_BASE_URL": f"http://{host}"}
    assert camp.run(replace(order, environment=environment)).verdict.failure == OUTAGE


def test_a_usage_limit_tells_until_when(camp: Camp) -> None:
    reset = int(time.time()) + 3600
    camp.model.says(fails(429, "limit", "rate_limit_error", **limited("five_hour", reset)))
    run = camp.run(with_login(camp.order()))
    assert run.verdict.failure == LIMIT
    assert run.verdict.unavailable_until == datetime.fromtimestamp(reset, UTC)
    assert "limit" in run.verdict.error
    assert len(camp.model.requests) == 1


def limited(window: str, reset: int, status: str = "rejected") -> dict[str, str]:
    prefix = "anthropic_ratelimit_unified"
    return {
        f"{prefix}_status": status,
        f"{prefix}_reset": str(reset),
        f"{prefix}_representative_claim": window,
        f"{prefix}_5h_utilization": "0.92",
        f"{prefix}_5h_reset": str(reset),
        f"{prefix}_5h_surpassed_threshold": "0.9",
    }


@pytest.mark.long
@pytest.mark.parametrize("hours", [3, 20, 70])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Seoul", "America/St_Johns"])
def test_the_sentence_alone_tells_it_too(camp: Camp, zone: str, hours: int) -> None:
    """What the program prints today, as a version would that prints nothing else."""
    reset = int(time.time()) // 60 * 60 + 3600 * hours
    camp.model.says(fails(429, "limit", "rate_limit_error", **limited("seven_day", reset)))
    order = with_login(camp.order())
    run = camp.run(replace(order, environment={**order.environment, "TZ": zone}))
    text = Path(run.evidence.stdout_path).read_text("utf-8")
    assert zone in text
    bare = "\n".join(line for line in text.splitlines() if "rate_limit_event" not in line)
    Path(run.evidence.stdout_path).write_text(f"{bare}\n", "utf-8")
    verdict = camp.engine.judge(run.evidence)
    assert verdict.failure == LIMIT
    assert verdict.unavailable_until == datetime.fromtimestamp(reset, UTC)


@pytest.mark.long
def test_a_limit_of_the_servers_own_is_an_outage(camp: Camp) -> None:
    camp.model.says(fails(429, "busy", "rate_limit_error"))
    assert camp.run(with_login(camp.order())).verdict.failure == OUTAGE


@pytest.mark.long
def test_a_limit_that_is_near_is_seen_while_it_runs(camp: Camp) -> None:
    headers = limited("five_hour", int(time.time()) + 3600, "allowed_warning")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    camp.model.says(replace(LOOP, headers=named), use("Bash", command="sleep 60"))
    begun = camp.start(with_login(camp.order()))
    begun.until_it("92% of the five-hour limit used")
    begun.wrapper.terminate()
    begun.ended()


@pytest.mark.long
def test_retries_are_seen_while_they_happen(camp: Camp) -> None:
    camp.model.says(fails(529, "Overloaded", "overloaded_error", retry_after="30"))
    begun = camp.start(camp.order())
    begun.until_it("retry 1 of 1 after 529")
    begun.wrapper.terminate()
    begun.ended()


def test_without_a_login_it_says_how_to_get_one(camp: Camp) -> None:
    order = camp.order()
    kept = {k: v for k, v in order.environment.items() if k != "ANTHROPIC_API_KEY"}
    run = camp.run(replace(order, environment=kept))
    assert run.verdict.failure == LOGIN
    assert "CLAUDE_CODE_OAUTH_TOKEN" in run.verdict.error
    assert camp.model.requests == []


def test_an_endless_loop_is_ended_by_its_turns(camp: Camp) -> None:
    run = camp.play(LOOP, max_turns=3)
    assert run.verdict.failure == "turns_exceeded"
    assert len(camp.model.requests) == 3
    assert run.metrics["cost_usd"] > 0


@pytest.mark.long
def test_an_endless_loop_is_ended_by_its_budget(camp: Camp) -> None:
    run = camp.play(LOOP, budget_usd=0.003)
    assert run.verdict.failure == "budget_exceeded"
    assert 0.003 <= run.metrics["cost_usd"] <= 0.005  # it is looked at after each call


@pytest.mark.long
@pytest.mark.parametrize("turn", [Turn(output_tokens=0), say("Done.", output_tokens=0)])
def test_a_success_without_a_word_of_the_model_is_none(camp: Camp, turn: Turn) -> None:
    run = camp.play(turn)
    assert run.exit["code"] == 0
    assert run.verdict.failure == "empty_run"


@pytest.mark.long
def test_options_that_the_program_does_not_know_are_not_tried_again(camp: Camp) -> None:
    run = camp.run(camp.order(), "--no-such-option")
    assert run.exit["code"] == 1
    assert run.verdict.failure == "engine_refused"
    assert "--no-such-option" in run.verdict.error


def test_a_program_that_is_gone_is_missing(camp: Camp) -> None:
    order = camp.order()
    camp.program = "/no/such/claude"
    camp.engine_with()
    assert not camp.engine.availability().available
    run = camp.run(order)
    assert run.exit["code"] == 127
    assert run.verdict.failure == "engine_missing"


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_one_that_is_killed_was_killed(camp: Camp, number: signal.Signals) -> None:
    camp.model.says(use("Bash", command="echo one"), hangs())
    begun = camp.start(camp.order())
    camp.model.wait_for(2)
    begun.until_it("Bash: echo one (turn 1)")
    os.kill(begun.program(), number)
    run = begun.ended()
    assert run.exit["signal" if number == signal.SIGKILL else "code"] in (9, 129, 143)
    assert run.verdict.failure == "soldier_killed"
    assert run.metrics["partial"]
    assert run.metrics["tokens"]["input"] == 100
    assert "cost_usd" not in run.metrics


def test_one_that_hangs_can_be_ended_with_all_it_started(camp: Camp) -> None:
    camp.model.says(use("Bash", command="sleep 300 & setsid sleep 300 & echo up"), hangs())
    begun = camp.start(camp.order())
    camp.model.wait_for(2)
    begun.until_it("(turn 1)")
    assert len(begun.processes()) == 3
    begun.wrapper.terminate()
    assert begun.ended().exit["reason"] == "asked"
    assert begun.processes() == set()


@pytest.mark.long
def test_a_stream_that_stalls_is_asked_for_again(camp: Camp) -> None:
    """The older version takes five minutes for it, whatever it is told."""
    if "claude-code" in camp.program:
        pytest.skip("2.1.197 looks for stalls after five minutes at the earliest")
    camp.engine_with(stall_seconds=10.0)
    run = camp.play([stalls(), say("Fine.")])
    assert run.verdict.failure is None
    assert run.verdict.last_message == "Fine."


@pytest.mark.long
def test_one_that_reported_is_believed_whatever_comes_after(camp: Camp) -> None:
    order = camp.order()
    camp.model.says(camp.writes_result(order), fails(529, "Overloaded", "overloaded_error"))
    run = camp.run(order)
    assert run.exit["code"] == 1
    assert run.verdict.failure is None
    assert run.metrics["engine_fault"] == OUTAGE
