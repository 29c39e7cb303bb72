"""What each kind of result means for its event, and what people read of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kingdom.failures import FAILURES
from kingdom.king.outcomes import (
    Draft,
    Outcome,
    burial_of,
    outcome,
    resumption_of,
    retry_of,
    start_of,
)
from kingdom.models.message import HumanInputRequest, Notification, ThreadStart, ThreadUpdate
from kingdom.models.result import RESULT
from kingdom.words import LANGUAGES, Words
from tests.support.kingdom import START, task

WEEK = 7 * 86_400.0
TASK = task(repo="acme/api", payload={"number": 7, "title": "Log in"}, trust="member")


def decided(status: str, language: str = "en", **fields: Any) -> Outcome:
    raw = {"task_id": TASK.id, "status": status, "summary": "It is so."} | fields
    result = RESULT.validate_python(raw)
    return outcome(result, TASK, Words(language), START, WEEK)


def last(found: Outcome) -> Draft:
    return found.drafts[-1]


def ended(how: str) -> dict[str, Any]:
    return {"context": {"final": True}, "reply_context": {"outcome": how}}


def test_a_success_completes_the_event_and_closes_the_thread() -> None:
    found = decided("success")
    assert found.event_status == "completed"
    assert len(found.drafts) == 1
    assert (last(found).kind, last(found).content) == (ThreadUpdate, "Done. It is so.")
    assert last(found).fields == ended("done")


def test_what_was_skipped_completes_the_event_with_its_reason() -> None:
    found = decided("skipped", reason="It is a draft.")
    assert found.event_status == "completed"
    assert last(found).content == "Nothing was done: It is a draft."
    assert last(found).fields == ended("done")


@pytest.mark.parametrize("status", ["failed", "killed"])
def test_a_failure_is_told_with_error_code_and_what_helps(status: str) -> None:
    found = decided(
        status, error="It took 3 hours.", error_code="timed_out", metrics={"soldier_id": "s-1"}
    )
    assert found.event_status == "failed"
    assert last(found).kind is ThreadUpdate
    assert last(found).fields == ended("failed") | {"urgency": "high"}
    assert last(found).content == (
        f"{TASK.id} failed (timed_out): It took 3 hours.\n{FAILURES['timed_out'].remedy}"
    )


@pytest.mark.parametrize("code", FAILURES)
def test_every_failure_names_this_very_task_and_soldier_in_what_helps(code: str) -> None:
    content = last(
        decided("failed", error="x", error_code=code, metrics={"soldier_id": r"s-1\g<0>"})
    ).content
    assert "TASK" not in content
    assert "SOLDIER" not in content
    assert ("SOLDIER" in FAILURES[code].remedy) == (r"s-1\g<0>" in content)


def test_a_failure_of_an_unknown_kind_is_told_all_the_same() -> None:
    assert last(decided("failed", error="Oh.")).content == f"{TASK.id} failed (failed): Oh."
    later = decided("failed", error="Oh.", error_code="from_a_later_version")
    assert last(later).content == f"{TASK.id} failed (from_a_later_version): Oh."
    assert "(soldier_killed)" in last(decided("killed", error="Oh.")).content


def test_of_a_long_error_people_are_told_how_it_begins_and_ends() -> None:
    error = f"A check did not pass. {'output ' * 300}1 failed."
    content = last(decided("failed", error=error, error_code="verification_failed")).content
    assert "A check did not pass." in content
    assert "[…]" in content
    assert "1 failed." in content
    assert len(content) < 1100


def test_a_question_is_asked_and_leaves_the_thread_open() -> None:
    found = decided("needs_human", question="Which?", options=["a", "b"], default="b")
    assert found.event_status == "completed"
    assert (last(found).kind, last(found).content) == (HumanInputRequest, "Which?")
    fields = last(found).fields
    assert (fields["options"], fields["default"]) == (["a", "b"], "b")
    assert fields["expires_at"] == START + timedelta(days=7)
    assert "final" not in fields.get("context", {})


@pytest.mark.parametrize("default", [None, ""])
def test_a_question_without_a_default_waits_for_ever(default: str | None) -> None:
    fields = last(decided("needs_human", question="?", default=default, options=["a"])).fields
    assert (fields["default"], fields["expires_at"]) == (None, None)


ALL_KINDS: list[tuple[str, dict[str, Any]]] = [
    ("success", {}),
    ("failed", {"error": "No."}),
    ("killed", {"error": "No."}),
    ("skipped", {"reason": "No."}),
    ("needs_human", {"question": "No?"}),
]


@pytest.mark.parametrize(("status", "fields"), ALL_KINDS)
def test_every_kind_may_proclaim_and_notify_and_the_thread_comes_last(
    status: str, fields: dict[str, Any]
) -> None:
    found = decided(
        status,
        proclamation={"channel": "#all", "message": "Hear!"},
        notify_channel="#ops",
        **fields,
    )
    kinds = [draft.kind for draft in found.drafts]
    assert kinds[:2] == [Notification, Notification]
    assert kinds[2] is (HumanInputRequest if status == "needs_human" else ThreadUpdate)
    proclaimed, notified = found.drafts[:2]
    assert (proclaimed.fields["channel"], proclaimed.content) == ("#all", "Hear!")
    assert notified.fields["channel"] == "#ops"
    assert fields.get("error", fields.get("reason", fields.get("question", "It is so."))) in (
        notified.content
    )
    assert [bool(one.fields.get("context")) for one in found.drafts] == [
        False,
        False,
        status != "needs_human",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("status", "fields"), ALL_KINDS)
def test_braces_in_what_others_wrote_are_only_text(
    language: str, status: str, fields: dict[str, Any]
) -> None:
    strange = dict.fromkeys(fields, "{general} {0} {{x}} %s")
    found = decided(status, language, summary="{task} {}", notify_channel="#ops", **strange)
    text = strange.get("question") or strange.get("error") or strange.get("reason") or "{task} {}"
    assert text in last(found).content


def test_the_other_messages_of_a_task() -> None:
    words = Words("en")
    start = start_of(TASK, words)
    assert (start.kind, start.content) == (
        ThreadStart,
        f"gen-pr takes up {TASK.id} (github.pr.comment)\nacme/api#7 Log in",
    )
    again = retry_of(TASK, words, "task-20260206-009", answers=False)
    assert (again.kind, again.fields) == (ThreadStart, {})
    assert "task-20260206-009" in again.content
    closing = retry_of(TASK, words, "task-20260206-009", answers=True)
    assert closing.fields == {"context": {"answers": "task-20260206-009"}}
    resumed = resumption_of(TASK, words, "Use b.", "ada", "task-20260206-009")
    assert resumed.kind is ThreadUpdate
    assert resumed.fields["context"] == {
        "inherits": "task-20260206-009",
        "answers": "task-20260206-009",
    }
    assert "ada answered: Use b." in resumed.content


def test_a_task_without_a_result_is_buried_in_words() -> None:
    draft = burial_of(TASK, Words("en"))
    assert draft.fields == ended("failed") | {"urgency": "high"}
    assert "(dropped)" in draft.content
    delivery = TASK.delivery.revised(
        last_error_code="crashed_too_often", last_error_message="Its worker died 21 times."
    )
    content = burial_of(TASK.revised(delivery=delivery), Words("en")).content
    assert "(crashed_too_often): Its worker died 21 times." in content
