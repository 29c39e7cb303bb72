"""Whole journeys through one running kingdom: real roles, real tmux, rehearsing soldiers.

All events are sent at once; each test looks at what became of one of them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.failures import FAILURES
from kingdom.ops.init import init
from kingdom.ops.stopping import end_soldiers
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.kingdom import files, load
from tests.support.puppets import ended_afterwards, until_up
from tests.support.waiting import eventually

RETRY = "retry: {max_attempts: 2, backoff_seconds: 0.05}\n"
GENERALS = {
    "gen-trial": f"subscribes: [trial.*]\ntimeout_seconds: 60\n{RETRY}",
    "gen-hasty": f"subscribes: [hasty.work]\ntimeout_seconds: 1\n{RETRY}",
    "gen-patient": f"subscribes: [patient.work]\ntimeout_seconds: 120\n{RETRY}",
    "gen-strict": f"subscribes: [strict.work]\nverify: ['false']\n{RETRY}",
    "gen-picky": "subscribes: [picky.work]\nsupported_engines: [claude]\n",
    "gen-ear": "subscribes: [slack.app_mention]\n",
}
# What the soldier is told to do: the result's status, its code, the event's status, attempts.
PARTS = {
    "succeed": ("success", None, "completed", 1),
    "skip": ("skipped", None, "completed", 1),
    "ask": ("needs_human", None, "completed", 1),
    "route": ("success", None, "completed", 1),
    "fail": ("failed", "reported_failure", "failed", 2),
    "killed": ("killed", "reported_failure", "failed", 2),
    "crash": ("failed", "soldier_crashed", "failed", 2),
    "die": ("killed", "soldier_killed", "failed", 2),
    "nothing": ("failed", "no_result", "failed", 2),
    "garbage": ("failed", "result_unreadable", "failed", 2),
    "huge": ("failed", "result_too_large", "failed", 2),
    "contradict": ("failed", "result_contradictory", "failed", 2),
    "other_task": ("failed", "result_of_another_task", "failed", 2),
    "late": ("killed", "timed_out", "failed", 2),
    "hang": ("killed", "timed_out", "failed", 2),
}
FOR_EVER = ("late", "hang")  # until their time is up
OTHERS = {
    "strict": ("strict.work", {}, ("failed", "verification_failed", "failed", 2)),
    "picky": ("picky.work", {}, ("failed", "engine_unsupported", "failed", 1)),
    "large": (
        "trial.work",
        {"title": "x" * 1_100_000},
        ("failed", "prompt_too_large", "failed", 1),
    ),
}


@pytest.fixture(scope="module")
def realm() -> Iterator[BaseDir]:
    root = tempfile.mkdtemp(prefix="kingdom-test-", dir="/dev/shm")
    base = BaseDir(root)
    found(base)
    try:
        with ended_afterwards(base):
            assert kingdom("start", base=base).code == 0
            for part in PARTS:
                kind = "hasty.work" if part in FOR_EVER else "trial.work"
                send(base, part, kind, {"rehearsal": {"do": part}})
            for name, (kind, payload, _) in OTHERS.items():
                send(base, name, kind, payload)
            yield base
    finally:
        end_soldiers(base, environment())  # after the generals: they would begin them again
        shutil.rmtree(root, ignore_errors=True)


def found(base: BaseDir) -> None:
    init(base)
    shutil.rmtree(base.path("config", "generals"))
    local = Path(base.path("config", "local"))
    (local / "system.yaml").write_text("runtime: {engine: rehearsal}\n")
    (local / "king.yaml").write_text("concurrency: {max_soldiers: 12}\n")
    for name, manifest in GENERALS.items():
        add_general(base, name, manifest)


def add_general(base: BaseDir, name: str, manifest: str) -> None:
    package = Path(base.path("config", "generals", name))
    package.mkdir(parents=True)
    (package / "prompt.md").write_text("Do {{TASK_TYPE}}: {{payload.title}}\n")
    (package / "manifest.yaml").write_text(f"name: {name}\ndescription: Tries.\n{manifest}")


def send(base: BaseDir, name: str, kind: str, payload: dict[str, Any]) -> str:
    whole = {"id": f"evt-cli-{name}", "type": kind, "payload": payload}
    said = kingdom("send", "--file", "-", base=base, stdin=json.dumps(whole))
    assert said.code == 0, said.err
    return said.out.strip()


def done(base: BaseDir, event: str) -> dict[str, Any]:
    """The event once it has ended."""
    eventually(lambda: event in files(base).get("events/completed", []), f"{event} has ended")
    return load(base, "events/completed", event)


def result_of(base: BaseDir, task: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        Path(base.path("state", "results", f"{task}.json")).read_text()
    )
    return found


def messages(base: BaseDir, task: str) -> list[dict[str, Any]]:
    sent = [load(base, "messages/sent", one) for one in files(base).get("messages/sent", [])]
    return sorted((one for one in sent if one.get("task_id") == task), key=lambda one: one["id"])


def told(base: BaseDir, task: str, count: int) -> list[dict[str, Any]]:
    eventually(lambda: len(messages(base, task)) >= count, f"{count} messages about {task}")
    return messages(base, task)


def internal(base: BaseDir, task: str) -> list[str]:
    lines = [json.loads(one) for one in Path(base.events_log).read_text().splitlines() if one]
    return [one["type"] for one in lines if one["data"].get("task_id") == task]


@pytest.mark.parametrize("name", [*PARTS, *OTHERS])
def test_an_event_ends_in_one_result_and_one_set_of_messages(realm: BaseDir, name: str) -> None:
    status, code, ended, attempts = PARTS[name] if name in PARTS else OTHERS[name][2]
    event = done(realm, f"evt-cli-{name}")
    result = result_of(realm, event["task_id"])
    assert (event["status"], result["status"], result.get("error_code")) == (ended, status, code)
    assert result["metrics"]["attempts"] == attempts
    first, last = told(realm, event["task_id"], 2)
    asks = status == "needs_human"
    kinds = ["thread_start", "human_input_request" if asks else "thread_update"]
    assert [first["type"], last["type"]] == kinds
    assert bool(last["context"].get("final")) is not asks
    assert {first["trace_id"], last["trace_id"], result["trace_id"]} == {event["trace_id"]}
    if code:
        assert (
            FAILURES[code].sentence.split(":")[0].rstrip(".") in last["content"]
            or code in last["content"]
        )
    seen = internal(realm, event["task_id"])
    assert seen.count("task.started") == attempts
    assert seen.count("task.retried") == attempts - 1


def test_an_answer_resumes_the_task_in_its_thread_and_only_once(realm: BaseDir) -> None:
    event = send(realm, "resumed", "trial.work", {"rehearsal": {"do": "ask"}})
    task = done(realm, event)["task_id"]
    told(realm, task, 2)
    eventually(lambda: task in kingdom("ask", base=realm).out, "it is asked")
    assert kingdom("answer", task, "perhaps", base=realm).code != 0
    assert kingdom("answer", task, "yes", base=realm).code == 0
    answers = [one for one in _events(realm) if one["type"] == "slack.human_response"]
    (answer,) = [one for one in answers if one["payload"]["task_id"] == task]
    resumed = done(realm, answer["id"])["task_id"]
    result = result_of(realm, resumed)
    assert (result["status"], '"yes"' in result["summary"]) == ("success", True)
    threads = {one["thread_ts"] for one in messages(realm, task) + told(realm, resumed, 2)}
    assert len(threads) == 1
    assert kingdom("answer", task, "no", base=realm).code != 0
    assert "task.resumed" in internal(realm, resumed)


def mention(base: BaseDir, name: str, text: str, **payload: Any) -> str:
    said = {"text": text, "channel": "C1", "user": "U1", "ts": f"{name}.1"}
    return send(base, name, "slack.app_mention", said | payload)


def test_what_a_person_wants_is_passed_on_in_the_persons_own_thread(realm: BaseDir) -> None:
    part = {"do": "route", "to": "gen-trial"}
    event = done(realm, mention(realm, "5", "please try it", rehearsal=part))
    task = load(realm, "tasks/completed", event["task_id"])
    assert task["target_general"] == "gen-trial"
    first = load(realm, "tasks/completed", task["payload"]["routed_by"])
    assert (first["target_general"], first["trace_id"]) == ("gen-ear", event["trace_id"])
    spoken = [*told(realm, first["id"], 1), *told(realm, task["id"], 2)]
    assert {(one["channel"], one["thread_ts"]) for one in spoken} == {("C1", "5.1")}
    mapped = json.loads(Path(realm.path("state/envoy/thread-mappings.json")).read_text())
    assert not {first["id"], task["id"]} & mapped.keys()


def test_a_person_who_asks_what_goes_on_is_told_without_a_soldier(realm: BaseDir) -> None:
    event = done(realm, mention(realm, "6", "<@U9> what are you doing?"))
    assert "task_id" not in event
    eventually(lambda: "6.1" in Path(realm.path("logs/console.log")).read_text(), "it was told")


def _events(base: BaseDir) -> list[dict[str, Any]]:
    places = ("events/pending", "events/dispatched", "events/completed")
    while True:
        try:
            return [
                load(base, place, one) for place in places for one in files(base).get(place, [])
            ]
        except FileNotFoundError:
            continue  # it moved on while we looked


def test_a_cancelled_task_ends_as_killed(realm: BaseDir) -> None:
    event, task = at_work(realm, "cancelled")
    assert kingdom("cancel", task, base=realm).code == 0
    assert done(realm, event)["status"] == "failed"
    result = result_of(realm, task)
    assert (result["status"], result["error_code"]) == ("killed", "cancelled")
    assert load(realm, "tasks/completed", task)["status"] == "cancelled"


def at_work(base: BaseDir, name: str) -> tuple[str, str]:
    event = send(base, name, "patient.work", {"rehearsal": {"do": "hang"}})
    eventually(lambda: any(one["event"] == event for one in _at_work(base)), "its soldier")
    return event, next(one["task_id"] for one in _at_work(base) if one["event"] == event)


def _at_work(base: BaseDir) -> list[dict[str, Any]]:
    """Soldiers whose wrapper has begun, and the event each is about."""
    found = json.loads(Path(base.path("state", "sessions.json")).read_text())
    for one in found:
        try:
            one["event"] = load(base, "tasks/in_progress", one["task_id"])["event_id"]
        except FileNotFoundError:
            one["event"] = ""
    return [one for one in found if one["state"] == "running"]


def test_a_general_that_is_killed_adopts_its_soldier(realm: BaseDir) -> None:
    event, task = at_work(realm, "adopted")
    pid = int(Path(realm.path("state", "gen-patient", "pid")).read_text())
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: "adopted" in _lines(realm, task), "it is adopted")
    kingdom("cancel", task, base=realm)
    done(realm, event)
    assert internal(realm, task).count("soldier.spawned") == 1
    assert internal(realm, task).count("task.started") == 1


def _lines(base: BaseDir, task: str) -> str:
    log = Path(base.tasks_log).read_text()
    return "\n".join(line for line in log.splitlines() if task in line)


def test_a_soldier_whose_processes_are_killed_is_lost_and_tried_again(realm: BaseDir) -> None:
    event, task = at_work(realm, "lost")
    for _ in range(2):
        soldier = next(one["id"] for one in _at_work(realm) if one["task_id"] == task)
        claim = Path(realm.path("state", "soldiers", f"{soldier}.claim")).read_text()
        os.kill(int(claim.split()[1]), signal.SIGKILL)
        eventually(
            lambda soldier=soldier: (
                event in files(realm).get("events/completed", [])
                or any(one["task_id"] == task and one["id"] != soldier for one in _at_work(realm))
            ),
            "another soldier, or the end",
        )
    assert done(realm, event)["status"] == "failed"
    assert result_of(realm, task)["error_code"] == "soldier_lost"


def test_a_general_added_while_all_runs_is_started_and_a_broken_one_changes_nothing(
    realm: BaseDir,
) -> None:
    package = Path(realm.path("config", "generals", "gen-trial", "manifest.yaml"))
    before = package.read_text()
    package.write_text(before + "surprise: yes\n")
    eventually(lambda: "surprise" in kingdom("status", base=realm).out, "the mistake is told")
    assert done(realm, send(realm, "meanwhile", "trial.work", {}))["status"] == "completed"
    package.write_text(before)
    add_general(realm, "gen-new", "subscribes: [new.work]\nschedules:\n"
        "  - {name: often, cron: '* * * * *', task_type: new.chore}\n")  # fmt: skip
    event = send(realm, "new", "new.work", {})
    until_up(realm, "gen-new")
    sent = Path(realm.path("state", "king", "schedule-sent.json"))
    eventually(lambda: sent.exists() and "often" in sent.read_text(), "the king knows it, too")
    # Sent before the king knew it, an event may have been discarded; sent now, it is done.
    done(realm, event)
    assert result_of(realm, done(realm, send(realm, "newer", "new.work", {}))["task_id"])
