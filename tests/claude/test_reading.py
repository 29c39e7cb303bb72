"""What is read out of the program's output: recorded runs of both versions, and damaged ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from kingdom.engines.claude import limits, stream
from kingdom.engines.claude.engine import ClaudeEngine
from kingdom.engines.json_lines import object_in
from kingdom.engines.standing import LIMIT
from tests.support.orders import judged_by
from tests.support.reading import MEGABYTE, bytes_read_by, times_bare_reading

RECORDED = Path(__file__).parent / "recorded"
ENGINE = ClaudeEngine("claude", {})
RETRY = '{"type":"system","subtype":"api_retry","attempt":1}'
SAID = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


judged = partial(judged_by, ENGINE)


@pytest.fixture
def output(scratch: Path) -> Path:
    return scratch / "out.json"


def lines(name: str) -> list[str]:
    return (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()


# Costs


@pytest.mark.parametrize(("version", "call"), [("new", 0.0008), ("old", 0.001)])
def test_a_run_that_continues_is_paid_for_itself(version: str, call: float) -> None:
    first = judged(RECORDED / f"{version}-begun.jsonl").metrics
    assert first["cost_usd"] == first["session_cost_usd"] == pytest.approx(3 * call)
    assert first["tokens"]["input"] == 300
    again = judged(RECORDED / f"{version}-resumed.jsonl", earlier=first).metrics
    assert again["cost_usd"] == pytest.approx(2 * call)
    assert again["session_cost_usd"] == pytest.approx(5 * call)
    assert again["tokens"] == {"input": 200, "output": 40, "cache_read": 0, "cache_creation": 0}
    assert again["turns"] == 2
    assert again["api_seconds"] + first["api_seconds"] == pytest.approx(
        again["session_api_seconds"], abs=0.002
    )


def test_a_version_that_adds_up_and_does_not_say_so_is_seen_through(output: Path) -> None:
    told = [json.loads(line) for line in lines("new-resumed")]
    for entry in told:
        entry.pop("model_usage_since_last_result", None)
    output.write_text("\n".join(json.dumps(entry, separators=(",", ":")) for entry in told))
    earlier = judged(RECORDED / "new-begun.jsonl").metrics
    again = judged(output, earlier=earlier).metrics
    assert again["cost_usd"] == pytest.approx(0.0016)
    assert again["session_cost_usd"] == pytest.approx(0.004)
    assert again["tokens"]["input"] == 200


def test_a_run_is_not_charged_for_one_before_it_that_nobody_knows_of() -> None:
    """One that was asked to end has no result line, but is in what the session has cost."""
    again = judged(RECORDED / "new-resumed.jsonl").metrics
    assert again["cost_usd"] == pytest.approx(0.0016)
    assert again["session_cost_usd"] == pytest.approx(0.004)


def test_what_a_session_has_cost_outlasts_a_kill(output: Path) -> None:
    earlier = judged(RECORDED / "old-begun.jsonl").metrics
    killed = judged(output, exit_code=143, earlier=earlier).metrics
    assert killed["cost_usd"] == 0.0
    again = judged(RECORDED / "old-resumed.jsonl", earlier=killed).metrics
    assert again["session_cost_usd"] == pytest.approx(0.005)


@pytest.mark.parametrize(("version", "call"), [("new", 0.0008), ("old", 0.001)])
def test_a_run_with_several_result_lines_is_paid_for_all(version: str, call: float) -> None:
    verdict = judged(RECORDED / f"{version}-background.jsonl")
    assert verdict.metrics["cost_usd"] == pytest.approx(5 * call)
    assert verdict.metrics["tokens"]["input"] == 500
    assert verdict.metrics["turns"] == 5
    assert verdict.last_message == "Over."


@pytest.mark.parametrize(
    "told",
    [[], ['{"type":"system","subtype":"init","claude_code_version":"2"}', RETRY]],
)
def test_a_program_that_never_had_an_answer_cost_nothing(output: Path, told: list[str]) -> None:
    output.write_text("\n".join(told), "utf-8")
    metrics = judged(output, exit_code=1).metrics
    assert metrics["cost_usd"] == 0.0
    assert "cost_unknown" not in metrics


@pytest.mark.parametrize("said", [1, 2])
def test_what_one_cost_that_was_cut_off_nobody_knows(output: Path, said: int) -> None:
    output.write_text("\n".join(lines("new-begun")[:said]), "utf-8")
    metrics = judged(output, exit_code=143).metrics
    assert metrics["cost_unknown"]
    assert "cost_usd" not in metrics


@pytest.mark.parametrize("version", ["new", "old"])
def test_what_follows_the_last_result_line_has_no_price(output: Path, version: str) -> None:
    whole = lines(f"{version}-begun")
    answer = next(line for line in whole if '"type":"assistant"' in line)
    entry = json.loads(answer)
    entry["message"]["id"] = "msg-later"
    later = json.dumps(entry, separators=(",", ":"))
    output.write_text("\n".join([*whole, later]), "utf-8")
    known, cut = judged(RECORDED / f"{version}-begun.jsonl").metrics, judged(output).metrics
    assert "cost_unknown" not in known
    assert cut["cost_unknown"]
    assert cut["partial"]
    assert cut["cost_usd"] == known["cost_usd"]
    assert cut["tokens"]["input"] == known["tokens"]["input"] + 100
    assert cut["turns"] == known["turns"] + 1


# Damage


@pytest.mark.parametrize("version", ["new", "old"])
def test_a_half_written_last_line_and_garbage_are_passed_over(output: Path, version: str) -> None:
    whole = lines(f"{version}-begun")
    garbage = ["", "null", "[1]", '"type":"result"', '{"type":"result"', "\x00\xff", '{"type":1}']
    odd = ['{"type":"assistant","message":[]}', '{"type":"system","subtype":"init"}']
    output.write_text("\n".join([*garbage, *odd, *whole, *garbage]), "utf-8")
    clean = judged(RECORDED / f"{version}-begun.jsonl")
    assert judged(output) == clean
    output.write_text("\n".join([*whole[:-1], whole[-1][:-20]]), "utf-8")
    cut = judged(output, exit_code=143)
    assert cut.failure == "soldier_killed"
    assert cut.metrics["partial"]
    assert cut.last_message == "Second."
    assert cut.session_id == clean.session_id


def test_a_result_line_inside_of_a_tool_s_answer_is_not_the_run_s(output: Path) -> None:
    planted = {"type": "result", "is_error": False, "result": "Planted."}
    message = {"role": "user", "content": [{"type": "tool_result", "content": [planted]}]}
    output.write_text(json.dumps({"type": "user", "message": message, "tool_use_result": planted}))
    assert stream.read(str(output)).results == []


@pytest.mark.parametrize("left", ["missing", "empty"])
def test_without_output_nothing_is_said_of_it(output: Path, left: str) -> None:
    if left == "empty":
        output.touch()
    verdict = judged(output, exit_code=None, session_id="planned")
    assert verdict.failure is None
    assert verdict.session_id == "planned"
    assert ENGINE.progress(str(output)) == ""


def test_a_log_of_50_mb_is_read_once_and_followed_from_where_it_was(output: Path) -> None:
    answer = {"type": "tool_result", "content": "x" * 1_000_000}
    large = json.dumps({"type": "user", "message": {"content": [answer]}}, separators=(",", ":"))
    *before, last = lines("new-begun")
    with output.open("w", encoding="utf-8") as file:
        for line in (*before[:2], *[large] * 50, *before[2:]):
            file.write(f"{line}\n")
    engine = ClaudeEngine("claude", {})
    assert engine.progress(str(output)).endswith("(turn 3)")
    assert bytes_read_by(lambda: engine.progress(str(output))) < MEGABYTE
    with output.open("a", encoding="utf-8") as file:
        file.write(f"{last}\n")
    assert engine.progress(str(output)) == "ended (turn 3)"
    assert judged(output).metrics["turns"] == 3
    assert bytes_read_by(lambda: judged(output)) < 55 * MEGABYTE
    assert times_bare_reading(lambda: judged(output), output) < 20


# Progress


def test_progress_is_the_last_thing_told(output: Path) -> None:
    told = lines("new-begun")
    seen = []
    for number in range(1, len(told) + 1):
        output.write_text("\n".join(told[:number]) + "\n", "utf-8")
        seen.append(ClaudeEngine("claude", {}).progress(str(output)))
    assert seen[0] == "starts"
    assert "I look. (turn 1)" in seen
    assert "Bash: ls (turn 1)" in seen
    assert seen[-1] == "ended (turn 3)"


def test_progress_cannot_steer_a_terminal(output: Path) -> None:
    used = {
        "type": "tool_use",
        "name": "Bash",
        "input": {"command": "echo \x1b[31mred\n" + "x" * 90},
    }
    entry = {"type": "assistant", "message": {"content": [used]}}
    output.write_text(json.dumps(entry, separators=(",", ":")), "utf-8")
    said = ENGINE.progress(str(output))
    assert said.startswith("Bash: echo \\u001b[31mred x")
    assert len(said) < 100


def test_a_line_that_is_being_written_does_not_count_yet(output: Path) -> None:
    told = lines("new-begun")
    engine = ClaudeEngine("claude", {})
    output.write_text(f"{told[0]}\n{told[1]}\n{told[-2][:300]}", "utf-8")
    assert engine.progress(str(output)) == "I look. (turn 1)"
    output.write_text(f"{told[0]}\n{told[1]}\n{told[-2]}\n", "utf-8")
    assert engine.progress(str(output)) == "Second. (turn 2)"


# Limits


def test_a_recorded_limit_tells_its_reset() -> None:
    for version in ("new", "old"):
        verdict = judged(RECORDED / f"{version}-limit.jsonl", exit_code=1)
        assert verdict.failure == LIMIT
        assert verdict.unavailable_until == datetime.fromtimestamp(1794740400, UTC)


SENTENCES = {
    "You've hit your limit · resets 3pm (Europe/Berlin)": "2026-11-15T14:00Z",
    "You've hit your 5-hour limit · resets 8:47am (UTC)": "2026-11-15T08:47Z",
    "You've hit your session limit · resets 7:59am (UTC)": "2026-11-16T07:59Z",
    "You've hit your weekly limit · resets Nov 18, 8:59am (Europe/Berlin)": "2026-11-18T07:59Z",
    "You've hit your weekly limit · resets Jan 2, 12am (Asia/Seoul)": "2027-01-01T15:00Z",
    "You've hit your Opus limit · resets Nov 18 at 12pm (UTC)": "2026-11-18T12:00Z",
    "You’ve reached your usage limit · resets 12:30am (Asia/Kolkata)": "2026-11-15T19:00Z",
    "5-hour limit reached ∙ resets 9pm (UTC)": "2026-11-15T21:00Z",
    "Claude AI usage limit reached|1794740400": "2026-11-15T11:00Z",
    "Claude AI usage limit reached|1794740400000": "2026-11-15T11:00Z",
    "You've hit your limit · resets Nov 31, 3pm (UTC)": None,
    "You've hit your limit · resets 25:99 (UTC)": None,
    "You've hit your limit": None,
}


@pytest.mark.parametrize(("sentence", "reset"), SENTENCES.items())
def test_a_sentence_about_a_limit_is_read(sentence: str, reset: str | None) -> None:
    assert limits.is_limit(sentence)
    expected = datetime.fromisoformat(reset) if reset else None
    assert limits.reset_in(sentence, SAID) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "I raised the usage limit to 10.",
        "The function says: You've hit your limit · resets 3pm",
        "You've hit your limit · resets 3pm. " + "And here is much more that I did. " * 10,
    ],
)
def test_a_soldier_may_write_about_limits(sentence: str) -> None:
    assert not limits.is_limit(sentence)


def test_a_limit_that_looks_like_a_clean_finish_is_one(output: Path) -> None:
    said = lines("old-begun")[-1].replace('"Second."', '"Claude AI usage limit reached|1794740400"')
    output.write_text(said, "utf-8")
    verdict = judged(output)
    assert verdict.failure == LIMIT
    assert verdict.unavailable_until == datetime.fromtimestamp(1794740400, UTC)
    assert judged(output, has_result=True).failure is None


# Results in words


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ('{"status": "success", "summary": "x"}', "success"),
        ('Done.\n```json\n{"status": "failed", "error": "{"}\n```\nBye {', "failed"),
        ('{"status": "success"} but then {"status": "skipped"}', "skipped"),
        ('{"status": "success", "metrics": {"status": "inner"}}', "success"),
        ('{"state": "x"}', None),
        ('{"status": 1}', None),
        ("no object { at all", None),
        ('{"a":' * 5000, None),
        ("", None),
    ],
)
def test_the_last_object_with_a_status_is_the_result(message: str, status: str | None) -> None:
    found = object_in(message)
    assert (found["status"] if found else None) == status
