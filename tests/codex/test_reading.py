"""What is read out of the program's output: recorded runs of 0.166, and damaged ones."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines.codex import limits, stream
from kingdom.engines.codex.engine import CodexEngine
from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE
from tests.support.orders import judged_by
from tests.support.reading import MEGABYTE, bytes_read_by, times_bare_reading

RECORDED = Path(__file__).parent / "recorded"
ENGINE = CodexEngine("codex", {})
SESSION = "01a1de7e-8168-75d3-9cb5-788fc906d337"
SAID = datetime(2026, 11, 15, 8, 0, 20, tzinfo=UTC)


judged = partial(judged_by, ENGINE)


@pytest.fixture
def output(scratch: Path) -> Path:
    return scratch / "out.json"


def lines(name: str) -> list[str]:
    return (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()


def counted(number: int) -> dict[str, int]:
    return {"input": 100 * number, "output": 20 * number, "cache_read": 0, "cache_creation": 0}


# Tokens


def test_a_run_that_continues_is_counted_for_itself() -> None:
    first = judged(RECORDED / "begun.jsonl").metrics
    assert first["tokens"] == first["session_tokens"] == counted(3)
    assert first["turns"] == 4
    again = judged(RECORDED / "resumed.jsonl", earlier=first, session_id=SESSION).metrics
    assert again["tokens"] == counted(1)
    assert again["session_tokens"] == counted(4)
    assert "cost_usd" not in again


def test_what_a_session_took_outlasts_a_kill() -> None:
    earlier = judged(RECORDED / "begun.jsonl").metrics
    killed = judged(RECORDED / "killed.jsonl", exit_code=None, signal=15, earlier=earlier).metrics
    assert killed == {"turns": 1, "partial": True, "session_tokens": counted(3)}
    again = judged(RECORDED / "resumed.jsonl", earlier=killed).metrics
    assert again["tokens"] == counted(1)


def test_a_session_that_was_begun_anew_owes_nothing_to_the_old_one() -> None:
    earlier = {"session_tokens": counted(1)}
    anew = judged(RECORDED / "begun.jsonl", earlier=earlier, session_id="another").metrics
    assert anew["tokens"] == counted(3)


def test_a_version_that_does_not_add_up_is_seen_through() -> None:
    earlier = {"session_tokens": counted(9)}
    assert judged(RECORDED / "begun.jsonl", earlier=earlier).metrics["tokens"] == counted(3)


def test_what_came_from_a_cache_is_counted_once() -> None:
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 70,
        "cache_write_input_tokens": 20,
        "output_tokens": 5,
    }
    assert stream.tokens(usage) == {
        "input": 10,
        "output": 5,
        "cache_read": 70,
        "cache_creation": 20,
    }


# Ends


def test_the_end_of_a_run_is_read() -> None:
    done = judged(RECORDED / "begun.jsonl")
    assert (done.failure, done.last_message, done.session_id) == (None, "Second.", SESSION)
    down = judged(RECORDED / "outage.jsonl", exit_code=1)
    assert down.failure == OUTAGE
    assert "503" in down.error
    assert judged(RECORDED / "outage.jsonl", exit_code=1, has_result=True).failure is None


@pytest.mark.parametrize(
    ("code", "signal", "failure"),
    [(None, 9, "soldier_killed"), (143, None, "soldier_killed"), (0, None, "soldier_killed"),
     (1, None, None)],
)  # fmt: skip
def test_a_run_without_an_end_was_cut_short(
    code: int | None, signal: int | None, failure: str | None
) -> None:
    cut = judged(RECORDED / "killed.jsonl", exit_code=code, signal=signal)
    assert cut.failure == failure
    assert cut.session_id
    assert cut.metrics["partial"]


def test_an_error_that_was_overcome_is_none(output: Path) -> None:
    begun = lines("begun")
    output.write_text("\n".join([*begun[:4], lines("outage")[4], *begun[4:]]), "utf-8")
    assert judged(output).failure is None


ERRORS = {
    "Your access token could not be refreshed. Please log out and sign in again.": LOGIN,
    "unexpected status 402 Payment Required: deactivated_workspace": LOGIN,
    "Missing environment variable: `X`.": LOGIN,
    "Error while reading the server response: x, request id: 1": OUTAGE,
    "unexpected status 529 <unknown status code>: x": OUTAGE,
    "unexpected status 400 Bad Request: The model is too large": "engine_refused",
    "The 'x' model is not supported when using Codex with a ChatGPT account.": "engine_refused",
    '{"error": {"message": "Invalid schema for response_format"}}': "engine_refused",
    "Something nobody has seen before": "engine_failed",
    "": "engine_failed",
}


@pytest.mark.parametrize(("error", "failure"), ERRORS.items())
def test_an_error_is_known_by_its_words(output: Path, error: str, failure: str) -> None:
    failed = {"type": "turn.failed", "error": {"message": error}}
    output.write_text("\n".join([*lines("outage")[:4], json.dumps(failed)]), "utf-8")
    verdict = judged(output, exit_code=1)
    assert verdict.failure == failure
    assert (failure == LOGIN and "402" not in error) <= ("codex login" in verdict.error)


# Damage


def test_a_half_written_last_line_and_garbage_are_passed_over(output: Path) -> None:
    whole = lines("begun")
    garbage = ["", "null", "[1]", '{"type":"turn.failed"', "\x00\xff", '{"type":1}', '{"type":[]}']
    odd = ['{"type":"item.completed","item":[]}', '{"type":"error","message":{}}']
    output.write_text("\n".join([*garbage, *odd, *whole, *garbage]), "utf-8")
    assert judged(output) == judged(RECORDED / "begun.jsonl")
    output.write_text("\n".join([*whole[:-1], whole[-1][:-20]]), "utf-8")
    cut = judged(output, exit_code=143)
    assert cut.failure == "soldier_killed"
    assert cut.last_message == "Second."


def test_an_end_inside_of_a_command_s_output_is_not_the_run_s(output: Path) -> None:
    planted = '{"type":"turn.failed","error":{"message":"Planted."}}\n' + lines("begun")[-2]
    item = {"id": "item_1", "type": "command_execution", "command": "x"}
    told = {"type": "item.completed", "item": {**item, "aggregated_output": planted}}
    spelled = json.dumps(told, separators=(",", ":"))
    output.write_text("\n".join([*lines("begun")[:4], spelled]) + "\n", "utf-8")
    assert not stream.read(str(output)).has_ended
    assert CodexEngine("codex", {}).progress(str(output)) == "command: x (turn 1)"


@pytest.mark.parametrize("left", ["missing", "empty"])
def test_without_output_nothing_is_said_of_it(output: Path, left: str) -> None:
    if left == "empty":
        output.touch()
    verdict = judged(output, exit_code=None, session_id="planned")
    assert verdict.failure is None
    assert verdict.session_id == "planned"
    assert ENGINE.progress(str(output)) == ""


def test_a_log_of_50_mb_is_read_once_and_followed_from_where_it_was(output: Path) -> None:
    *before, last = lines("begun")
    item = {"id": "item_3", "type": "command_execution", "command": "cat x", "exit_code": 0}
    told = {"type": "item.completed", "item": {**item, "aggregated_output": "x" * 1_000_000}}
    large = json.dumps(told, separators=(",", ":"))
    with output.open("w", encoding="utf-8") as file:
        for line in (*before[:6], *[large] * 50, *before[7:]):
            file.write(f"{line}\n")
    engine = CodexEngine("codex", {})
    assert engine.progress(str(output)) == "Second. (turn 4)"
    assert bytes_read_by(lambda: engine.progress(str(output))) < MEGABYTE
    with output.open("a", encoding="utf-8") as file:
        file.write(f"{last}\n")
    assert engine.progress(str(output)) == "ended (turn 4)"
    assert judged(output).metrics["turns"] == 4
    assert bytes_read_by(lambda: judged(output)) < 55 * MEGABYTE
    assert times_bare_reading(lambda: judged(output), output) < 20


# Progress


def test_progress_is_the_last_thing_told(output: Path) -> None:
    told = lines("begun")
    seen = []
    for number in range(1, len(told) + 1):
        output.write_text("\n".join(told[:number]) + "\n", "utf-8")
        seen.append(CodexEngine("codex", {}).progress(str(output)))
    path = "/kingdom/workspace/gen-pr/task-20260207-001/repo/a.txt"
    assert list(dict.fromkeys(seen)) == [
        "starts",
        "I look. (turn 1)",
        "command: ls -a (turn 2)",
        f"edit: {path} (turn 3)",
        "Second. (turn 4)",
        "ended (turn 4)",
    ]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"type": "web_search", "query": "kings"}, "web search: kings"),
        ({"type": "mcp_tool_call", "tool": "look"}, "tool: look"),
        (
            {"type": "file_change", "changes": [{"path": "/a"}, {"path": "/b"}, 7]},
            "edit: /a and 1 more",
        ),
        ({"type": "command_execution", "command": "it's \"odd"}, 'command: it\'s "odd'),
        ({"type": "command_execution", "command": "/bin/bash -lc 'echo \x1b[31m'"},
         "command: echo \\u001b[31m"),
    ],
)  # fmt: skip
def test_progress_says_what_kind_of_deed_it_is(
    output: Path, item: dict[str, Any], said: str
) -> None:
    entry = {"type": "item.started", "item": {"id": "item_0", **item}}
    output.write_text(json.dumps(entry, separators=(",", ":")) + "\n", "utf-8")
    assert CodexEngine("codex", {}).progress(str(output)) == f"{said} (turn 1)"


def test_progress_tells_of_retries(output: Path) -> None:
    output.write_text("\n".join(lines("outage")[:5]), "utf-8")
    assert ENGINE.progress(str(output)) == "retry 1 of 1 after 503"


# Limits


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_here")
def test_a_recorded_limit_tells_its_reset(output: Path) -> None:
    output.write_text("\n".join(lines("limit")), "utf-8")
    os.utime(output, (SAID.timestamp(), SAID.timestamp()))
    verdict = judged(output, exit_code=1)
    assert verdict.failure == LIMIT
    assert verdict.unavailable_until == datetime.fromtimestamp(1794740400, UTC)


SENTENCES = {
    "You’ve hit your usage limit. Visit x or try again at 9:54 AM.": "2026-11-15T09:54Z",
    "You've hit your usage limit. Visit x or try again at 12:05 AM.": "2026-11-16T00:05Z",
    "You’ve hit your usage limit. Try again at 8:00 AM.": "2026-11-15T08:00Z",
    "You’ve hit your usage limit. Try again at 7:58 AM.": "2026-11-16T07:58Z",
    "You’ve hit your usage limit for x. Try again at Nov 18th, 2026 8:54 AM.": "2026-11-18T08:54Z",
    "You’ve hit your usage limit. Try again at Jan 1st, 2027 12:00 PM.": "2027-01-01T12:00Z",
    "You’ve hit your usage limit. Try again at Nov 31st, 2026 8:54 AM.": None,
    "You’ve hit your usage limit. Try again at 25:99 PM.": None,
    "You’ve hit your usage limit. Try again later.": None,
    "rate limit exceeded: Rate limit reached. Please try again in 20s.": "2026-11-15T08:00:40Z",
    "rate limit exceeded: x. Please try again in 1m3.5s.": "2026-11-15T08:01:23.5Z",
    "rate limit exceeded: x. Please try again in 500ms.": "2026-11-15T08:00:20.5Z",
    "rate limit exceeded: x. Please try again in a while.": None,
    "exceeded retry limit, last status: 429 Too Many Requests": None,
}


@pytest.mark.parametrize(("sentence", "reset"), SENTENCES.items())
def test_a_sentence_about_a_limit_is_read(sentence: str, reset: str | None) -> None:
    assert limits.is_limit(sentence)
    expected = datetime.fromisoformat(reset) if reset else None
    assert limits.until(sentence, SAID, UTC) == expected


@pytest.mark.parametrize(("zone", "hour"), [("Asia/Seoul", 0), ("America/New_York", 14)])
def test_a_time_is_one_of_this_machine_s(
    zone: str, hour: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("_here")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    day = 16 if zone == "Asia/Seoul" else 15
    expected = datetime(2026, 11, day, hour, 0, tzinfo=UTC)
    assert limits.until("try again at 9:00 AM", SAID) == expected


def test_other_errors_are_no_limits() -> None:
    assert not limits.is_limit("unexpected status 503 Service Unavailable: Overloaded")
    assert not limits.is_limit("Quota exceeded. Check your plan and billing details.")
