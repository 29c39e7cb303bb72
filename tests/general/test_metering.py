"""What calls of the model cost, and when the next one is refused: real files, no program."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines.sandbox.metering import Call, Meter, cost_of
from kingdom.engines.standing import LIMIT, Standings
from kingdom.store import spending
from kingdom.store.paths import BaseDir

ASK = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 1000, "x": "y" * 3900}).encode()
MAY_COST = cost_of("claude-sonnet-4-5", {"input_tokens": len(ASK) // 4, "output_tokens": 1000})
DAY = "2026-02-07"


@pytest.fixture
def base(scratch: Path) -> BaseDir:
    made = BaseDir(scratch)
    Path(made.soldiers).mkdir(parents=True)
    return made


def meter(base: BaseDir, soldier: str = "soldier-1", whose: str = "gen-a", **limits: Any) -> Meter:
    return Meter(base, whose, soldier, {"day": DAY, **limits})


def answer(call: Call, **usage: int) -> None:
    assert not call.refusal
    call.answered(200, {})
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 10}}}
    end = {"type": "message_delta", "usage": usage}
    stream = b"".join(b"event: x\ndata: %b\n\n" % json.dumps(one).encode() for one in (start, end))
    for at in range(0, len(stream), 7):  # in parts, as a network brings them
        call.read(stream[at : at + 7])
    call.end()


def test_a_call_that_might_exceed_the_task_s_budget_is_refused(base: BaseDir) -> None:
    one = meter(base, usd=float(MAY_COST) * 1.5)
    answer(one.begin("/v1/messages", ASK), output_tokens=1000)  # 1,000 said: dearer than half
    assert "task" in one.begin("/v1/messages", ASK).refusal
    assert Path(base.soldiers, "soldier-1.stopped").read_text() == "task"


def test_what_a_call_did_cost_counts_instead_of_what_it_might_have(base: BaseDir) -> None:
    one = meter(base, usd=float(MAY_COST) * 1.5)
    for _ in range(20):
        answer(one.begin("/v1/messages", ASK), output_tokens=1)


def test_the_same_call_is_answered_so_often_in_a_row_and_not_again(base: BaseDir) -> None:
    one = meter(base, same_call=2)
    for _ in range(9):
        one.begin("/v1/messages", ASK).answered(529, {})  # the program tries again, and may
    answer(one.begin("/v1/messages", ASK), output_tokens=1)
    answer(one.begin("/v1/messages", ASK + b" "), output_tokens=1)
    for _ in range(2):
        answer(one.begin("/v1/messages", ASK), output_tokens=1)
    assert "same_call" in one.begin("/v1/messages", ASK).refusal
    assert Path(base.soldiers, "soldier-1.stopped").read_text() == "same_call"
    assert not one.begin("/v1/messages", ASK + b" ").refusal


def test_soldiers_together_stay_within_the_day(base: BaseDir) -> None:
    limit = float(MAY_COST) * 2.5
    ones = [meter(base, f"soldier-{n}", day_usd=limit) for n in range(5)]
    calls = [one.begin("/v1/messages", ASK) for one in ones]  # all at once
    assert [bool(call.refusal) for call in calls] == [False, False, True, True, True]
    calls[0].answered(500, {})  # it cost nothing, so there is room again
    calls[0].end()
    assert not ones[4].begin("/v1/messages", ASK).refusal


def test_an_attempt_that_ended_counts_once_by_its_own_line(base: BaseDir) -> None:
    answer(meter(base, "soldier-1").begin("/v1/messages", ASK), output_tokens=1000)
    one = spending.Spent(
        "x", "task-1", "soldier-1", "gen-a", "", "claude", (), Decimal("0.5"), {"output": 1}
    )
    spending.note(base, datetime(2026, 2, 7, tzinfo=UTC).date(), one)
    room = 0.5 + float(MAY_COST)
    assert not meter(base, "soldier-2", day_usd=room + 0.001).begin("/v1/messages", ASK).refusal
    assert "day" in meter(base, "soldier-3", day_usd=room).begin("/v1/messages", ASK).refusal


def test_one_general_s_budget_is_not_another_s(base: BaseDir) -> None:
    room = float(MAY_COST) * 1.5
    assert not meter(base, "s-1", "gen-a", general_usd=room).begin("/v1/messages", ASK).refusal
    assert (
        "general"
        in meter(base, "s-2", "gen-a", general_usd=room).begin("/v1/messages", ASK).refusal
    )
    assert not meter(base, "s-3", "gen-b", general_usd=room).begin("/v1/messages", ASK).refusal


def test_an_engine_without_prices_is_stopped_by_its_tokens(base: BaseDir) -> None:
    one = meter(base, tokens=1000)
    answer(one.begin("/responses", b"{}"), input_tokens=900, output_tokens=100)
    assert "tokens" in one.begin("/responses", b"{}").refusal


@pytest.mark.parametrize(
    "noise", [b"data: {", b'data: {"usage": 7}', b'{"usage": {"output_tokens": "1"}}', b"\xff" * 99]
)
def test_an_answer_that_tells_nothing_counts_as_what_was_reserved(
    base: BaseDir, noise: bytes
) -> None:
    one = meter(base, usd=float(MAY_COST) * 1.5)
    call = one.begin("/v1/messages", ASK)
    call.answered(200, {})
    call.read(noise)
    call.end()
    assert "task" in one.begin("/v1/messages", ASK).refusal


SOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
SECONDS = int(SOON.timestamp())


@pytest.mark.parametrize(
    ("status", "error", "headers", "until"),
    [
        (429, {"message": f"Claude AI usage limit reached|{SECONDS}"}, {}, SOON),
        (429, {"type": "usage_limit_reached", "resets_at": SECONDS}, {}, SOON),
        (
            429,
            {"message": "Error"},
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(SECONDS),
            },
            SOON,
        ),
        (429, {"type": "rate_limit_error", "message": "Number of requests exceeded"}, {}, None),
        (529, {"message": f"Claude AI usage limit reached|{SECONDS}"}, {}, None),
        (429, {"message": ["?"], "resets_at": "?"}, {}, None),
    ],
)
def test_a_usage_limit_closes_the_engine_the_moment_it_is_answered(
    base: BaseDir, status: int, error: Any, headers: dict[str, str], until: datetime | None
) -> None:
    call = Meter(base, "gen-a", "soldier-1", {"day": DAY}, "claude").begin("/v1/messages", ASK)
    call.answered(status, headers)
    call.read(json.dumps({"type": "error", "error": error}).encode())
    call.end()
    known = Standings(base).of("claude")
    if until is None:
        assert known is None
        return
    assert known is not None
    now = SOON - timedelta(minutes=1)
    assert (known.code, known.told) == (LIMIT, False)
    told = Standings(base).note_fault("claude", LIMIT, "", until, now)  # by its general, once
    assert told is not None
    assert Standings(base).note_fault("claude", LIMIT, "", until, now) is None
