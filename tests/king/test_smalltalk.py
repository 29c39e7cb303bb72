"""What is small talk, in both languages, and what the king says to it."""

from __future__ import annotations

from typing import get_args

import pytest

from kingdom.king.smalltalk import MOST_NAMED, Kind, Standing, answer, kind_of
from kingdom.words import LANGUAGES, Words


@pytest.mark.parametrize(
    "text",
    [
        "hi", "Hi!", "hello there", "Hey kingdom 👋", "good morning, everyone", ":wave: hello",
        "HELLO!!!", "안녕", "안녕하세요!", "안녕하세요, 왕국", "좋은 아침입니다", "반갑습니다 :)",
    ],
)  # fmt: skip
def test_a_greeting(text: str) -> None:
    assert kind_of(text) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        "what are you doing?", "What are you doing right now?", "hi, what are you working on?",
        "what's up", "What’s going on?", "status", "Status, please", "how are you?",
        "are you there?", "what is running", "how's it going?", "hey kingdom, are you busy?",
        "뭐해?", "지금 뭐 해요?", "뭐하고 있어?", "안녕하세요, 지금 뭐 하고 계세요?", "상태 알려줘",
        "상태는 어때?", "현황", "진행 상황 알려 주세요", "잘 지내?", "바빠?", "무엇을 하고 있나요?",
    ],
)  # fmt: skip
def test_a_question_about_how_things_stand(text: str) -> None:
    assert kind_of(text) == "standing"


@pytest.mark.parametrize("text", ["thanks!", "Thank you so much", "고마워", "감사합니다!"])
def test_thanks(text: str) -> None:
    assert kind_of(text) == "thanks"


@pytest.mark.parametrize("text", ["", "   ", "👍", "?!", ":tada:", "\n"])
def test_what_has_no_words(text: str) -> None:
    assert kind_of(text) == "wordless"


@pytest.mark.parametrize(
    "text",
    [
        "hi, please review acme/web#42", "what are you doing with acme/web?",
        "status of task-20260207-001", "hi" + "i" * 200, "history", "thanks, now merge it",
        "what happened to the review?", "안녕 그리고 리뷰 좀 해줘", "상태 코드 404를 고쳐줘",
        "gen-pr: hi", "hello world does not compile", "뭐해야 하는지 정리해줘",
    ],
)  # fmt: skip
def test_whatever_has_more_content_is_none(text: str) -> None:
    assert kind_of(text) is None


def test_it_is_said_what_runs_what_waits_and_what_is_asked() -> None:
    many = [f"t{number}" for number in range(MOST_NAMED + 2)]
    standing = Standing(at_work=["gen-pr, t: x"], queued=many, waiting=3, questions=["t: Which?"])
    said = answer("standing", standing, Words("en"))
    assert said.splitlines() == [
        "At work (1):",
        "- gen-pr, t: x",
        "Next (7):",
        *(f"- t{number}" for number in range(MOST_NAMED)),
        "- and 2 more",
        "Waiting to be let in: 3",
        "Questions that wait for your answer (1):",
        "- t: Which?",
        "All is well.",
    ]


def test_a_greeting_is_returned_and_trouble_is_said_instead_of_well() -> None:
    said = answer("greeting", Standing(trouble="It is frozen."), Words("en"))
    assert said.splitlines() == [
        "Hello! This is how things stand:",
        "Nothing is being done just now.",
        "It is frozen.",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_an_answer(language: str) -> None:
    words = Words(language)
    answers = [answer(kind, Standing(), words) for kind in get_args(Kind)]
    assert len(set(answers)) == 4
