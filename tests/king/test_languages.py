"""What people read is whole in their language: failures, what helps, refusals, defaults taken."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from kingdom.envoy.answers import BY_DEFAULT, answer_event
from kingdom.envoy.questions import Question
from kingdom.failures import FAILURES
from kingdom.king import commands
from kingdom.king.outcomes import burial_of, outcome, resumption_of
from kingdom.models.result import RESULT, Failed
from kingdom.words import LANGUAGES, Words, ko
from tests.king.test_petitions import TASK, answer, question
from tests.support.court import Court
from tests.support.kingdom import START, event, task

KOREAN = "language: ko\nruntime: {engine: command, command: {argv: [agent]}}\n"
HANGUL = re.compile("[\uac00-\ud7a3]")
# What is the same in every language: names of files, keys, programs, commands, ids.
KEPT = re.compile(
    r"kingdom [a-z]+|[\w/-]+\.(?:json|yaml|md|log)|[a-z]+(?:[._][a-z_]+)+|TASK|SOLDIER"
)


def said(code: str, language: str, details: str = "") -> str:
    """The last message about a task that failed so, as its general writes the result."""
    failure = FAILURES[code]
    raw = {
        "task_id": TASK,
        "status": "failed",
        "summary": failure.sentence,
        "error": f"{failure.sentence} {details}".strip(),
        "error_code": code,
        "metrics": {"soldier_id": "soldier-1-1"},
    }
    result = RESULT.validate_python(raw)
    assert isinstance(result, Failed)
    return outcome(result, task(), Words(language), START, 60.0).drafts[-1].content


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", FAILURES)
def test_every_failure_is_known_in_every_language(code: str, language: str) -> None:
    told = Words(language).failure(code)
    assert told is not None
    assert told.sentence.strip()
    assert told.remedy.strip()
    is_korean = bool(HANGUL.search(told.sentence)) and bool(HANGUL.search(told.remedy))
    assert is_korean == (language == "ko")
    assert set(KEPT.findall(told.remedy)) == set(KEPT.findall(FAILURES[code].remedy)), told.remedy


def test_no_language_knows_failures_that_there_are_none_of() -> None:
    assert ko.FAILURES.keys() == FAILURES.keys()
    assert Words("ko").failure("from_a_later_version") is None


@pytest.mark.parametrize("code", FAILURES)
def test_a_failure_is_told_in_korean_from_its_code(code: str) -> None:
    content = said(code, "ko", "Exit code 3.")
    sentence, remedy = ko.FAILURES[code]
    assert f"({code}): {sentence} Exit code 3.\n" in content
    assert FAILURES[code].sentence not in content
    assert FAILURES[code].remedy not in content
    named = remedy.replace("TASK", TASK).replace("SOLDIER", "soldier-1-1")
    assert content.endswith(f"\n{named}")


@pytest.mark.parametrize("code", FAILURES)
def test_in_english_it_is_what_the_result_says(code: str) -> None:
    assert f"({code}): {FAILURES[code].sentence} Exit code 3.\n" in said(code, "en", "Exit code 3.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_soldier_s_own_words_are_told_as_they_are(language: str) -> None:
    own = {"summary": "It broke", "error": "It broke: {task} \\1", "error_code": "reported_failure"}
    result = RESULT.validate_python({"task_id": TASK, "status": "failed", **own})
    content = outcome(result, task(), Words(language), START, 60.0).drafts[-1].content
    assert "(reported_failure): It broke: {task} \\1\n" in content


def test_also_where_a_result_is_announced() -> None:
    failure = FAILURES["timed_out"]
    raw = {"summary": failure.sentence, "error": f"{failure.sentence} 3 h.", "status": "killed",
           "error_code": "timed_out", "notify_channel": "#ops", "task_id": TASK}  # fmt: skip
    told = outcome(RESULT.validate_python(raw), task(trust="member"), Words("ko"), START, 60.0)
    notice = told.drafts[0]
    assert notice.content == f"{TASK} (gen-pr, 강제 종료): {ko.FAILURES['timed_out'][0]} 3 h."


@pytest.mark.parametrize("code", ["dropped", "crashed_too_often"])
def test_a_buried_task_is_told_of_in_korean_too(code: str) -> None:
    delivery = task().delivery.revised(last_error_code=code, last_error_message="English words.")
    content = burial_of(task().revised(delivery=delivery), Words("ko")).content
    assert f"({code}): {ko.FAILURES[code][0]}\n" in content
    assert "English" not in content


# Refusals


def test_a_refused_answer_is_told_in_the_language_of_people_and_noted_in_english(
    court: Court,
) -> None:
    court.configure(system=KOREAN)
    king = court.king()
    court.send(event())
    king.step()
    court.report(question())
    king.step()
    court.send(first := answer("a"), second := answer("b", name="2"))
    king.step()
    english = f"The question of {TASK} was answered already."
    reasons = [court.event(one.id).get("reason") for one in (first, second)]
    assert english in reasons
    (told,) = [one["content"] for one in court.all("messages") if "받지" in one["content"]]
    assert told == f"답을 받지 않았습니다: {TASK}의 질문에는 이미 답이 있습니다."


# Defaults


def by_default(**fields: Any) -> Any:
    asked = Question(
        msg_id="msg-20260207-001", question="?", asked_at=START, channel="c", thread_ts="t"
    )
    until = datetime(2026, 2, 7, 15, 30, tzinfo=UTC)
    return answer_event(
        TASK, asked, "main", answered_by=BY_DEFAULT, source="envoy", at=until, now=START,
        **({"until": until} | fields),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Nobody answered until 2026-02-08 00:30:00, so the default was taken: main"),
        ("ko", "2026-02-08 00:30:00까지 아무도 답하지 않아 기본값으로 정했습니다: main"),
    ],
)
def test_a_default_that_was_taken_says_that_nobody_answered_and_until_when(
    court: Court, language: str, sentence: str
) -> None:
    zone = "timezone: Asia/Seoul\n"
    court.configure(system=KOREAN.replace("ko", language, 1) + zone)
    king = court.king()
    court.send(event())
    king.step()
    court.report(question())
    king.step()
    court.send(by_default())
    king.step()
    (told,) = [one["content"] for one in court.all("messages") if one["context"].get("answers")]
    assert told.splitlines()[0] == sentence
    assert len(told.splitlines()) == 2


def test_a_person_who_is_called_so_has_answered(court: Court) -> None:
    king = court.king()
    court.send(event())
    king.step()
    court.report(question())
    king.step()
    court.send(answer("main", answered_by="default"))
    king.step()
    (told,) = [one["content"] for one in court.all("messages") if one["context"].get("answers")]
    assert told.startswith("default answered: main\n")


@pytest.mark.parametrize("until", ["soon", 7, None, "2026-02-07T10:00:00", "9" * 500])
def test_a_moment_that_is_none_does_not_stop_the_answer(until: object) -> None:
    payload = {"task_id": TASK, "text": "x", "answered_by": "default", "until": until}
    assert commands.read_answer(payload).until is None


def test_envoy_and_king_mean_the_same_nobody() -> None:
    assert commands.BY_DEFAULT == BY_DEFAULT
    assert commands.read_answer(by_default().payload).until is not None
    plain = resumption_of(task(), Words("en"), "x", "ada", TASK)
    assert plain.content.startswith("ada answered: x\n")
