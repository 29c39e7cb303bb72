"""What a soldier can report, and what it can do wrong: each ends in exactly one final result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kingdom.failures import FAILURES
from tests.support.barracks import Barracks
from tests.support.soldiers import REPORT, WAIT, go, report

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n-old\n+new\n+newer\n"

# What the soldier does: status of the result, its code, status of the task.
KINDS = {
    "": ("success", None, "completed"),
    "skip": ("skipped", None, "skipped"),
    "ask": ("needs_human", None, "needs_human"),
    "fail": ("failed", "reported_failure", "failed"),
    "killed": ("killed", "reported_failure", "failed"),
}
FAULTS = {
    "nothing": ("failed", "no_result"),
    "garbage": ("failed", "result_unreadable"),
    "huge": ("failed", "result_too_large"),
    "other_task": ("failed", "result_of_another_task"),
    "contradict": ("failed", "result_contradictory"),
    "crash": ("failed", "soldier_crashed"),
    "die": ("killed", "soldier_killed"),
}


@pytest.mark.provokes("soldier.spawned", "soldier.completed", "task.started", "task.completed")
def test_each_kind_of_result_and_each_fault_ends_in_one_result(barracks: Barracks) -> None:
    barracks.package()
    wanted = {part: (*outcome, "failed")[:3] for part, outcome in (KINDS | FAULTS).items()}
    ids = {
        part: barracks.publish(payload={"diff": DIFF, "rehearsal": {"do": part}})[0]
        for part in wanted
    }
    with barracks.general() as life:
        life.until(lambda: all(map(barracks.result, ids.values())), "a result of each")
        life.until(lambda: barracks.sessions() == [], "no soldier is registered")
    for part, id_ in ids.items():
        status, code, task_status = wanted[part]
        result, (place, task) = barracks.result(id_), barracks.task(id_)
        assert result is not None
        assert (result["status"], result.get("error_code")) == (status, code), part
        assert (place, task["status"]) == ("completed", task_status), part
        assert result["trace_id"] == task["trace_id"]
        assert result["metrics"].keys() >= {"duration_seconds", "attempts", "engine", "soldier_id"}
    assert barracks.leftovers() == []
    assert not list(Path(barracks.base.results).glob(f"{ids['huge']}-raw-*"))
    assert len(barracks.events("soldier.spawned")) == len(ids)
    assert len(barracks.events("soldier.completed")) == len(ids)


def test_a_log_that_cannot_be_written_costs_its_lines_and_nothing_else(barracks: Barracks) -> None:
    said = {"task_id": "task-20260207-001", "status": "success", "summary": "done"}
    said |= {"memory_updates": ["tests live in tests/"]}
    barracks.command(WAIT + report(said))
    barracks.package()
    (id_,) = barracks.publish()
    log = Path(barracks.base.events_log)
    with barracks.general() as life:
        life.until(lambda: barracks.states() == ["running"], "a soldier")
        log.unlink()
        log.mkdir()
        go(barracks)
        life.result_of(id_)
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
        assert life.said.getvalue().count("log.not_written") == 2
    memory = Path(barracks.base.memory, "generals", "gen-pr")
    assert "tests live in tests/" in "".join(one.read_text() for one in memory.iterdir())
    assert "ended" in Path(barracks.base.tasks_log).read_text()
    assert barracks.leftovers() == []


def test_the_final_result_has_the_soldier_s_words_and_only_those_it_may_say(
    barracks: Barracks,
) -> None:
    said = {
        "task_id": "task-20260207-001",
        "status": "success",
        "summary": "done",
        "memory_updates": ["tests live in tests/"],
        "notify_channel": "#dev",
        "proclamation": {"channel": "#all", "message": "Shipped."},
        "metrics": {"tokens": 12, "attempts": 9},
        "answered_by": "evt-forged",
        "trace_id": "forged",
        "delivery": {"processed_at": "2026-02-07T10:00:00.000Z"},
    }
    barracks.command(report(said))
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["proclamation"] == {"channel": "#all", "message": "Shipped."}
    assert (result["summary"], result["notify_channel"]) == ("done", "#dev")
    assert (result["trace_id"], result.get("answered_by")) == ("trace-1", None)
    assert "processed_at" not in result["delivery"]
    assert result["metrics"]["soldier"] == {"tokens": 12, "attempts": 9}
    assert result["metrics"]["attempts"] == 1
    learned = Path(barracks.base.memory, "generals", "gen-pr", "learned-patterns.md")
    assert re.fullmatch(
        r"- \d{4}-\d\d-\d\d( \(untrusted\))? tests live in tests/\n", learned.read_text("utf-8")
    )


def test_the_accepted_raw_result_is_kept_under_the_task_s_name(barracks: Barracks) -> None:
    barracks.package()
    (id_,) = barracks.publish(payload={"diff": DIFF})
    with barracks.general() as life:
        life.result_of(id_)
    raw = json.loads(Path(barracks.base.results, f"{id_}-raw.json").read_text("utf-8"))
    assert raw["summary"] == "(rehearsal) The diff changes 1 file (+2 -1), most of it in x.py."
    assert not list(Path(barracks.base.results).glob(f"{id_}-raw-*"))


@pytest.mark.provokes("task.failed")
def test_a_failure_says_what_happened_and_what_the_program_said_last(barracks: Barracks) -> None:
    barracks.package()
    (id_,) = barracks.publish(payload={"rehearsal": {"do": "crash"}})
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["summary"] == FAILURES["soldier_crashed"].sentence
    assert result["error"].endswith("Exit code 3. It last said: It was told to crash.")
    (failed,) = barracks.events("task.failed")
    assert failed["data"] == {"task_id": id_, "error": result["error"], "retry_count": 0}


def test_a_program_that_cannot_be_started_says_why(barracks: Barracks) -> None:
    barracks.command("true")
    Path(barracks.base.root, "act").write_text("#!/nowhere/interpreter\n", "utf-8")
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["error_code"] == "soldier_crashed"
    assert "No such file" in result["error"]


def test_a_question_keeps_a_checkpoint_and_its_resumption_works_in_the_same_place(
    barracks: Barracks,
) -> None:
    barracks.package(prompt="Look at {{payload.what}}.")
    (id_,) = barracks.publish(payload={"what": "it", "rehearsal": {"do": "ask"}})
    with barracks.general() as life:
        life.result_of(id_)
        kept = json.loads(Path(barracks.base.results, f"{id_}-checkpoint.json").read_text("utf-8"))
        assert kept["workspace"] == str(barracks.workspace(id_))
        (resumed,) = barracks.publish(
            type="resume",
            original_task_id=id_,
            payload={
                "question": "Shall it go on?",
                "answer": "no",
                "answered_by": "ann",
                "original": {"what": "it", "rehearsal": {"do": "ask"}},
            },
        )
        result = life.result_of(resumed)
    assert result["status"] == "success"
    assert result["summary"].startswith('(rehearsal) Was told "no" and went on.')
    assert not barracks.workspace(resumed).exists()
    prompt = Path(barracks.base.prompts, f"{resumed}.md").read_text("utf-8")
    assert "it" in prompt
    assert "Shall it go on?" in prompt


@pytest.mark.provokes("task.needs_human")
def test_a_rehearsal_asks_what_it_is_told_to_ask(barracks: Barracks) -> None:
    barracks.package()
    part = {"do": "ask", "question": "Which one?", "options": ["a", "b"]}
    (id_,) = barracks.publish(payload={"rehearsal": part})
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["question"], result["options"]) == ("Which one?", ["a", "b"])
    assert "default" not in result
    (event,) = barracks.events("task.needs_human")
    assert event["data"] == {"task_id": id_, "question": "Which one?"}


def test_whoever_attaches_sees_what_the_program_writes(barracks: Barracks) -> None:
    barracks.command("echo thinking hard; echo about this >&2; sleep 1000")
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(id_), "a soldier")
        life.until(lambda: "about this" in barracks.screen(id_), "its words on the screen")
        soldier = barracks.soldier(id_)
        assert barracks.screen(id_).splitlines()[:2] == [f"{soldier}: {id_}", "thinking hard"]


@pytest.mark.parametrize(
    ("verify", "code", "said"),
    [
        (["test -f made.txt", "echo fine"], None, "fine"),
        (["echo looking", "exit 4", "touch never"], "verification_failed", "looking"),
    ],
)
def test_a_success_is_checked(
    barracks: Barracks, verify: list[str], code: str | None, said: str
) -> None:
    barracks.command(f"touch made.txt\n{REPORT}")
    barracks.package(verify=verify)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result.get("error_code") == code
    soldier = result["metrics"]["soldier_id"]
    assert said in Path(barracks.base.session_logs, f"{soldier}.err").read_text("utf-8")
    assert not barracks.workspace(id_).joinpath("never").exists()


def test_a_check_that_fails_is_quoted_at_its_end(barracks: Barracks) -> None:
    secret = "ghp_" + "a1B2" * 9
    check = f"seq -f 'line %g' 1000; echo {secret[:20]}''{secret[20:]}; echo 2 failed; exit 4"
    barracks.command(f"echo of the soldier >&2\n{REPORT}")
    barracks.package(verify=["echo of the first", check])
    (id_,) = barracks.publish()
    with barracks.general() as life:
        error = life.result_of(id_)["error"]
    first, *quoted = error.split("\n")
    assert first.endswith("ended with 4.")
    assert (len(quoted), quoted[0], quoted[-1]) == (20, "line 983", "2 failed")
    assert secret not in error


def test_a_check_that_fails_is_quoted_alone(barracks: Barracks) -> None:
    barracks.command(f"echo of the soldier >&2\n{REPORT}")
    barracks.package(verify=["echo of the first", "echo of the second; exit 4"])
    (id_,) = barracks.publish()
    with barracks.general() as life:
        error = life.result_of(id_)["error"]
    assert error.split("\n")[1:] == ["of the second"]
