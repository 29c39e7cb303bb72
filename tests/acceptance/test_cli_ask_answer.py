"""Questions and answers as a newcomer types them: in the wrong order, twice, for a wrong task."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.models.result import NeedsHuman
from kingdom.ops.init import init
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import Said, kingdom, one_sentence
from tests.support.envoy import TASK, Life, publish, question, start
from tests.support.kingdom import MovableClock, files, load, message, task

OTHER = "task-20260207-002"


@pytest.fixture
def ready(base: BaseDir) -> BaseDir:
    init(base)
    return base


def ask(base: BaseDir, *messages: object) -> None:
    """The envoy shows these."""
    publish(base, *messages)
    life = Life(base, MovableClock())
    life.go()
    life.end()


def answered(base: BaseDir) -> dict[str, object]:
    (id_,) = files(base)["events/pending"]
    return load(base, "events/pending", id_)


def say(base: BaseDir, *words: str, **env: str) -> Said:
    return kingdom("answer", *words, base=base, env={"USER": "ada", **env})


# Asking


def test_nothing_is_asked(ready: BaseDir) -> None:
    assert kingdom("ask", base=ready).out == "No question is open.\n"
    assert kingdom("ask", "--json", base=ready).out == "[]\n"


def test_questions_are_listed_oldest_first_with_the_command_that_answers(ready: BaseDir) -> None:
    until = "2099-02-07T10:00:00Z"
    ask(
        ready,
        start(1),
        question(2, options=["main", "next week"], default="main", expires_at=until),
        question(3, task_id=OTHER, content="How?\nIn detail.", created_at="2026-02-07T11:00:00Z"),
    )
    said = kingdom("ask", base=ready)
    assert said.code == 0
    lines = [line for line in said.lines if "asked" not in line]
    assert lines == [
        "  Which branch?",
        "    1. main",
        "    2. next week",
        "  If nobody answers by 2099-02-07 10:00 UTC, it will be: main",
        "  Answer with: kingdom answer task-20260207-001 main",
        "",
        "  How?",
        "  In detail.",
        '  Answer with: kingdom answer task-20260207-002 "your answer"',
        "",
    ]
    listed = json.loads(kingdom("ask", "--json", base=ready).out)
    assert [one["task_id"] for one in listed] == [TASK, OTHER]
    assert listed[0]["options"] == ["main", "next week"]
    assert listed[0]["shown"] is True


def test_a_question_the_envoy_has_not_shown_yet_is_listed(ready: BaseDir) -> None:
    publish(ready, question(1))
    said = kingdom("ask", base=ready)
    assert "not shown by the envoy yet" in said.lines[0]
    assert say(ready, "main").code == 0


def test_a_parked_question_is_listed_as_such_and_can_be_answered(ready: BaseDir) -> None:
    ask(ready, question(1), message(2, task_id=TASK, context={"parks": TASK}))
    assert "parked: nobody is reminded of it" in kingdom("ask", base=ready).lines[0]
    assert f"question   {TASK} (parked): Which branch?" in kingdom("status", base=ready).lines
    assert say(ready, "main").code == 0


def test_control_characters_of_a_question_are_spelled(ready: BaseDir) -> None:
    ask(ready, question(1, content="\x1b[2Jgo?", options=["\x9b1m", "no"]))
    for words in (["ask"], ["ask", "--json"]):
        out = kingdom(*words, base=ready).out
        assert "\x1b" not in out
        assert "\x9b" not in out


def test_damaged_state_is_no_reason_to_stop(ready: BaseDir) -> None:
    ask(ready, question(1))
    path = Path(ready.path("state/envoy/awaiting-responses.json"))
    for content in ("", "[", "[]", '{"x": 1}', '{"task-20260207-001": {"question": 7}}'):
        path.write_text(content)
        assert kingdom("ask", base=ready).out == "No question is open.\n"


# Answering


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([TASK, "the main branch"], "the main branch"),
        ([TASK, "the", "main", "branch"], "the main branch"),
        (["the main branch"], "the main branch"),
        (["the", "main", "branch"], "the main branch"),
        ([TASK, "  답: 네  "], "답: 네"),
        ([TASK, "-1"], "-1"),
        ([TASK, "--", "--force"], "--force"),
        ([TASK, "$(reboot) `x` {{TASK_ID}}"], "$(reboot) `x` {{TASK_ID}}"),
    ],
    ids=str,
)
def test_an_answer_reaches_the_king_as_an_event(
    ready: BaseDir, words: list[str], text: str
) -> None:
    ask(ready, question(1, trace_id="t1"))
    said = say(ready, *words)
    assert (said.code, said.out) == (0, f"Answered {TASK}: {text}\n")
    assert "The king is not running" in said.err
    event = answered(ready)
    assert str(event["id"]).startswith(f"evt-slack-response-{TASK}-")
    assert event["type"] == "slack.human_response"
    assert (event["source"], event["trust"], event["priority"]) == ("cli", "member", "high")
    assert event["payload"] == {"task_id": TASK, "text": text, "answered_by": "ada"}
    assert event["trace_id"] == "t1"


def test_with_a_king_there_is_nothing_to_add(ready: BaseDir) -> None:
    ask(ready, question(1))
    seat = Seat(ready, "king")
    lock = seat.take()
    said = say(ready, "main")
    lock.close()
    assert (said.code, said.err) == (0, "")


def test_whoever_has_no_name_has_a_number(ready: BaseDir) -> None:
    ask(ready, question(1))
    assert say(ready, "main", USER="").code == 0
    assert answered(ready)["payload"]["answered_by"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("main", "Main"), (" MAIN ", "Main"), ("2", "next week"), ("next week", "next week")],
)
def test_an_option_is_named_by_its_words_or_its_number(
    ready: BaseDir, typed: str, meant: str
) -> None:
    ask(ready, question(1, options=["Main", "next week"]))
    assert say(ready, TASK, typed).out == f"Answered {TASK}: {meant}\n"
    assert answered(ready)["payload"]["text"] == meant  # type: ignore[index]


def test_an_option_that_is_a_number_is_meant_by_its_words(ready: BaseDir) -> None:
    ask(ready, question(1, options=["3", "2", "1"]))
    assert say(ready, TASK, "1").out == f"Answered {TASK}: 1\n"


@pytest.mark.parametrize("typed", ["maybe", "0", "3", "²", "99999999999999999999", "main next"])
def test_an_answer_that_is_no_option_is_refused(ready: BaseDir, typed: str) -> None:
    ask(ready, question(1, options=["main", "next"]))
    sentence = one_sentence(say(ready, TASK, typed), 1)
    assert sentence.endswith("is not among the answers to choose from. They are: main, next.")
    assert "events/pending" not in files(ready)


def test_an_answer_without_words_is_refused(ready: BaseDir) -> None:
    ask(ready, question(1))
    for words in ([], [TASK], [TASK, "  "], [""]):
        sentence = one_sentence(say(ready, *words), 2)
        assert sentence.startswith("answer: it does not say what the answer is."), words


def test_the_words_in_the_wrong_order_are_put_right(ready: BaseDir) -> None:
    ask(ready, question(1))
    sentence = one_sentence(say(ready, "yes", "please", TASK), 2)
    assert sentence.endswith(f'Like this: kingdom answer {TASK} "yes please"')


def test_before_anything_was_asked(ready: BaseDir) -> None:
    assert one_sentence(say(ready, "yes"), 1).startswith("No question is open.")
    assert one_sentence(say(ready, TASK, "yes"), 1).startswith(f"There is no task {TASK}.")


def test_a_second_answer_is_refused_whoever_has_the_first_by_now(ready: BaseDir) -> None:
    ask(ready, question(1))
    assert say(ready, TASK, "yes").code == 0
    assert "has been answered and waits for the king" in kingdom("ask", base=ready).out
    assert kingdom("ask", "--json", base=ready).out == "[]\n"
    assert one_sentence(say(ready, "no"), 1).startswith("No question is open: each has been")
    (event,) = files(ready)["events/pending"]
    sentence = f"{TASK} has been answered already ({event}). See what comes of it: kingdom trace"
    assert one_sentence(say(ready, TASK, "no"), 1).startswith(sentence)

    bus = FileBus(ready)
    bus.publish("results", NeedsHuman(task_id=TASK, summary="", question="Which branch?"))
    (answer,) = bus.claim("events", "king", ids=[event])
    (result,) = bus.claim("results", "king", ids=[TASK])
    bus.commit([Move(answer, "completed"), Move(result, "handled", fields={"answered_by": event})])
    bus.close()
    assert one_sentence(say(ready, TASK, "no"), 1).startswith(sentence)


def test_an_answer_that_the_king_refused_leaves_the_question_open(ready: BaseDir) -> None:
    ask(ready, question(1))
    assert say(ready, "yes").code == 0
    bus = FileBus(ready)
    (answer,) = bus.claim("events", "king")
    bus.commit([Move(answer, "completed", "failed", {"reason": "gen-pr is not installed."})])
    bus.close()
    assert TASK in kingdom("ask", base=ready).out


def test_which_of_several_has_to_be_said(ready: BaseDir) -> None:
    ask(ready, question(1), question(2, task_id=OTHER))
    sentence = one_sentence(say(ready, "yes"), 2)
    assert sentence.startswith("answer: 2 questions are open, so say which task it is for.")
    assert TASK in sentence
    assert OTHER in sentence
    assert say(ready, OTHER, "yes").code == 0


def test_the_wrong_task(ready: BaseDir) -> None:
    ask(ready, question(1))
    publish(ready, task(2), stream="tasks")
    assert one_sentence(say(ready, OTHER, "yes"), 1).startswith(f"{OTHER} has not asked anything.")
    sentence = one_sentence(say(ready, "task-20260207-003", "yes"), 1)
    assert sentence.startswith("There is no task task-20260207-003. Did you mean:")


def test_a_question_that_only_the_result_remembers_can_be_answered(ready: BaseDir) -> None:
    asked = NeedsHuman(task_id=TASK, summary="", question="?", options=["a", "b"], trace_id="t9")
    publish(ready, asked, stream="results")
    assert one_sentence(say(ready, TASK, "c"), 1).endswith("They are: a, b.")
    assert say(ready, TASK, "b").code == 0
    assert answered(ready)["trace_id"] == "t9"


@pytest.mark.skipif(os.geteuid() != 0, reason="root may write anywhere, so it takes another user")
def test_a_queue_that_cannot_be_written_is_one_sentence(ready: BaseDir) -> None:
    from tests.support.cli import NORMAL_USER

    ask(ready, question(1))
    os.chmod(ready.root, 0o755)
    said = kingdom("answer", "yes", base=ready, command=NORMAL_USER)
    assert "config belongs to root, and this user may not look into it." in one_sentence(said, 2)
    for place in ("config", "queue", "state"):
        os.chmod(ready.path(place), 0o755)
    os.chmod(ready.format_file, 0o644)
    said = kingdom("answer", "yes", base=ready, command=NORMAL_USER)
    assert "Permission denied" in one_sentence(said, 1)


def test_tasks_that_ask_are_completed(ready: BaseDir) -> None:
    ask(ready, question(1))
    said = kingdom("complete", "--", "answer", "task", cwd=ready.root)
    assert said.out == f"{TASK}\tWhich branch?\n"
