"""Commands about soldiers at work: real roles, real tmux, a rehearsal that takes its time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.tmux import Tmux, socket_name
from kingdom.ops.status import soldiers
from kingdom.ops.stopping import end_soldiers
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom, one_sentence
from tests.support.kingdom import files, load
from tests.support.puppets import ended_afterwards, enough, found_kingdom
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("kingdom.runtime.warden.LONGEST_PAUSE", 0.05)
    found_kingdom(base, "gen-a", "gen-b")
    try:
        with ended_afterwards(base):
            assert kingdom("start", base=base).code == 0
            yield
    finally:
        end_soldiers(base, environment())  # after the generals: they would begin them again


def at_work(base: BaseDir, general: str = "gen-a", **part: Any) -> tuple[str, str, str]:
    """An event, its task, and the soldier that has begun with it."""
    payload = json.dumps({"rehearsal": part or {"do": "hang"}})
    event = kingdom("send", f"test.{general}", "--payload", payload, base=base).out.strip()
    eventually(lambda: soldiers(base) and sessions(base), "a soldier at work")
    (one,) = soldiers(base)
    return event, one["task_id"], one["id"]


def sessions(base: BaseDir) -> set[str]:
    return Tmux(base, environment()).sessions()


def status_of(base: BaseDir, task: str) -> str:
    return str(load(base, "tasks/completed", task)["status"])


def ended(base: BaseDir, task: str) -> bool:
    return task in files(base).get("tasks/completed", [])


def until_ended(base: BaseDir, task: str) -> None:
    eventually(lambda: ended(base, task), f"{task} has ended")


def until_soldier_is(base: BaseDir, state: str) -> None:
    eventually(lambda: [one["state"] for one in soldiers(base)] == [state], f"it is {state}")


def test_attach_prints_the_exact_command_where_there_is_no_terminal(base: BaseDir) -> None:
    event, task, soldier = at_work(base)
    command = f"tmux -L {socket_name(base)} attach-session -t ={soldier}\n"
    for typed in (event, task, soldier):
        assert kingdom("attach", typed, base=base).out == command
    listed = ["tmux", "-L", socket_name(base), "has-session", "-t", f"={soldier}"]
    assert subprocess.run(listed, check=False).returncode == 0
    assert f"soldier    {soldier} for {task}, gen-a" in kingdom("status", base=base).out


def test_soldiers_go_on_over_a_stop_unless_they_are_to_end_too(base: BaseDir) -> None:
    _, task, soldier = at_work(base)
    kingdom("stop", base=base)
    assert sessions(base) == {soldier}
    kingdom("start", base=base)
    assert [one["id"] for one in soldiers(base)] == [soldier]
    said = kingdom("stop", "--soldiers", base=base)
    assert said.lines[-1] == f"Ended 1 soldier: {soldier}."
    assert sessions(base) == set()
    assert soldiers(base) == []
    assert kingdom("stop", "--soldiers", base=base).lines == [
        "Nothing runs here.",
        "No soldier is at work.",
    ]
    assert not ended(base, task)


def test_soldiers_that_were_stopped_cost_no_attempt_and_their_tasks_go_on_at_once(
    base: BaseDir,
) -> None:
    _, task, soldier = at_work(base)
    for _ in range(4):  # more often than it may be tried
        kingdom("stop", "--soldiers", base=base)
        kingdom("start", base=base)
        eventually(
            lambda soldier=soldier: [one["id"] for one in soldiers(base)] not in ([], [soldier]),
            "another soldier",
        )
        (one,) = soldiers(base)
        assert (one["task_id"], one["attempt"]) == (task, 1)
        soldier = one["id"]
        eventually(lambda soldier=soldier: soldier in sessions(base), "its session")
    assert load(base, "tasks/in_progress", task)["retry_count"] == 0
    log = Path(base.tasks_log).read_text()
    assert "waits code=stopped" in log
    assert "soldier_lost" not in log
    kingdom("cancel", task, base=base)
    until_ended(base, task)


def test_a_general_taken_out_of_the_configuration_sees_to_its_soldiers_first(
    base: BaseDir,
) -> None:
    _, task, soldier = at_work(base)
    kingdom("freeze", task, base=base)
    until_soldier_is(base, "frozen")
    os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
    log = Path(base.system_log)
    eventually(lambda: "role_removed target=gen-a" in log.read_text(), "its removal")
    kingdom("thaw", task, base=base)
    until_soldier_is(base, "running")
    kingdom("cancel", task, base=base)
    until_ended(base, task)
    assert status_of(base, task) == "cancelled"
    eventually(lambda: soldier not in sessions(base), "its session is gone")
    eventually(lambda: not Seat(base, "gen-a").is_taken(), "gen-a has ended")
    assert "role_not_restarted" not in log.read_text()


def test_after_a_restart_each_general_has_its_own_soldiers_again(base: BaseDir) -> None:
    _, task, soldier = at_work(base, "gen-b")
    for _ in range(3):
        assert kingdom("restart", base=base).code == 0
        assert [(one["id"], one["general"]) for one in soldiers(base)] == [(soldier, "gen-b")]
    kingdom("cancel", task, base=base)
    until_ended(base, task)
    log = Path(base.tasks_log).read_text()
    assert "[gen-a]" not in log
    assert log.count("adopted") == 3


def test_cancel_ends_the_task_and_its_soldier_and_retry_makes_a_new_one(base: BaseDir) -> None:
    event, task, soldier = at_work(base)
    refusal = one_sentence(kingdom("retry", task, base=base), 1)
    assert refusal == f"{task} has not ended yet; stop it with: kingdom cancel {task}"
    assert kingdom("cancel", event, base=base).out == f"{task} is being cancelled.\n"
    until_ended(base, task)
    assert status_of(base, task) == "cancelled"
    eventually(lambda: soldier not in sessions(base), "its session is gone")
    assert "has ended already" in one_sentence(kingdom("cancel", soldier, base=base), 1)
    again = kingdom("retry", task, "--fresh", base=base).out.split()[0]
    eventually(
        lambda: again in [one["task_id"] for one in soldiers(base)], "a soldier for the new task"
    )
    made = load(base, "tasks/in_progress", again)
    assert (made["original_task_id"], made["fresh"]) == (task, True)
    kingdom("cancel", again, base=base)
    until_ended(base, again)


def test_a_retry_that_is_not_let_in_says_what_it_waits_for(base: BaseDir) -> None:
    _, task, _ = at_work(base)
    kingdom("cancel", task, base=base)
    until_ended(base, task)
    kingdom("freeze", base=base)
    said = kingdom("retry", task, base=base)
    waiting = files(base)["events/pending"][0]
    assert (said.code, said.out) == (0, "")
    assert said.err == f"kingdom: It waits: The kingdom is frozen. See: kingdom why {waiting}\n"
    told = kingdom("why", waiting, base=base).out
    assert "The kingdom is frozen. It is due again in" in told
    assert "as soon as it looks" not in told
    kingdom("thaw", base=base)
    eventually(lambda: soldiers(base), "a soldier for the new task")
    (again,) = [one["task_id"] for one in soldiers(base)]
    assert load(base, "tasks/in_progress", again)["original_task_id"] == task


def test_a_frozen_soldier_goes_on_when_it_is_thawed(base: BaseDir) -> None:
    _, task, _ = at_work(base, until="enough")
    assert kingdom("freeze", task, base=base).out == f"{task} is frozen.\n"
    until_soldier_is(base, "frozen")
    shown = kingdom("status", base=base).out
    assert f"frozen     {task}" in shown
    assert f"for {task}, gen-a (frozen)" in shown
    assert kingdom("freeze", base=base).out == "The kingdom is frozen.\n"
    assert not ended(base, task)
    kingdom("thaw", base=base)
    assert not ended(base, task)
    assert kingdom("thaw", task, base=base).out == f"{task} is thawed.\n"
    enough(base, "gen-a", task)
    until_ended(base, task)
    assert status_of(base, task) == "completed"


def test_logs_of_a_task_tell_its_steps_and_of_its_soldier_what_it_said(base: BaseDir) -> None:
    _, task, soldier = at_work(base, until="enough")
    enough(base, "gen-a", task)
    until_ended(base, task)
    told = kingdom("logs", task, base=base)
    assert task in told.lines[0]
    assert any(soldier in line for line in told.lines)
    assert task in kingdom("logs", soldier, base=base).out
    offered = kingdom("complete", "--", "--base-dir", base.root, "retry", "")
    assert offered.out == f"{task}\tcompleted\n"
