"""`mv` on a task's file while its soldier is at it, in a whole kingdom: what becomes of it, and
what `why`, `trace`, `queue show` and `fsck` say meanwhile and afterwards."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.ops.status import soldiers
from kingdom.ops.stopping import end_soldiers, is_running
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.kingdom import files, load
from tests.support.puppets import ended_afterwards, enough, found_kingdom
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> Iterator[None]:
    found_kingdom(base, "gen-a")
    Path(base.config, "king.yaml").write_text("polling: {interval_seconds: 0.2}\n")
    try:
        with ended_afterwards(base):
            assert kingdom("start", base=base).code == 0
            yield
    finally:
        end_soldiers(base, environment())  # after the generals: they would begin them again


def at_work(base: BaseDir, **part: object) -> tuple[str, str]:
    """A task, and the soldier that has begun with it."""
    payload = json.dumps({"rehearsal": part or {"do": "hang"}})
    kingdom("send", "test.gen-a", "--payload", payload, base=base)
    eventually(lambda: [one["state"] for one in soldiers(base)] == ["running"], "a soldier")
    (one,) = soldiers(base)
    return one["task_id"], one["id"]


def move(base: BaseDir, task: str, to: str) -> None:
    place = base.path("queue", "tasks")
    os.rename(f"{place}/in_progress/{task}.json", f"{place}/{to}/{task}.json")


def why(base: BaseDir, task: str) -> str:
    said = kingdom("why", task, base=base)
    assert said.code == 0, said
    return said.out


def fsck(base: BaseDir) -> list[dict[str, str]]:
    """What it finds about the task's file; this kingdom is not complete in other respects."""
    found = json.loads(kingdom("fsck", "--json", base=base).out)["findings"]
    return [one for one in found if "queue/tasks/" in one["path"] and not one["note"]]


def said_last(base: BaseDir, task: str) -> list[str]:
    sent = [load(base, "messages/sent", one) for one in files(base).get("messages/sent", [])]
    closing = [one for one in sent if one.get("task_id") == task and one["context"].get("final")]
    return [one["content"] for one in closing]


def stand_still(base: BaseDir, role: str) -> int:
    """As one that is busy: it lives, and looks at nothing."""
    pid = Seat(base, role).holder()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_back_to_pending_it_goes_on_with_its_soldier_and_is_done_once(base: BaseDir) -> None:
    task, soldier = at_work(base, until="enough")
    pid = stand_still(base, "gen-a")
    move(base, task, "pending")
    said = why(base, task)
    assert f"{soldier} still runs: someone moved the file here by hand meanwhile." in said
    assert "gen-a puts it back, and goes on with that soldier." in said
    assert "is at it just now" not in said
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: task in files(base).get("tasks/in_progress", []), "it is put back")
    said = why(base, task)
    assert f"{soldier} has been at it for" in said
    assert "Someone moved its file to pending/ by hand; gen-a put it back" in said
    assert fsck(base) == []
    enough(base, "gen-a", task)
    eventually(lambda: said_last(base, task), "the thread is told")
    assert len(said_last(base, task)) == 1
    assert load(base, "tasks/completed", task)["status"] == "completed"
    story = kingdom("trace", task, base=base).out
    assert "put_back found_in=pending" in story
    assert story.count("set to work on") == 1
    assert fsck(base) == []


def test_back_to_pending_while_its_general_is_down(base: BaseDir) -> None:
    task, soldier = at_work(base, until="enough")
    kingdom("stop", base=base)
    move(base, task, "pending")
    said = why(base, task)
    assert f"{soldier} still runs: someone moved the file here by hand meanwhile." in said
    assert "gen-a, which would go on with that soldier, is not running." in said
    assert "kingdom start" in said
    assert kingdom("start", base=base).code == 0
    enough(base, "gen-a", task)
    eventually(lambda: said_last(base, task), "the thread is told")
    assert len(said_last(base, task)) == 1
    assert kingdom("trace", task, base=base).out.count("set to work on") == 1


@pytest.mark.parametrize("to", ["completed", "dead"])
def test_to_where_ended_ones_lie_it_is_cancelled(base: BaseDir, to: str) -> None:
    task, soldier = at_work(base)
    move(base, task, to)
    eventually(lambda: said_last(base, task), "the thread is told")
    (closing,) = said_last(base, task)
    assert "(cancelled)" in closing
    assert not is_running(base, soldier)
    assert load(base, "tasks/completed", task)["status"] == "cancelled"
    assert "A person cancelled it." in why(base, task)
    assert f"put_back found_in={to}" in kingdom("trace", task, base=base).out
    shown = json.loads(kingdom("queue", "show", f"tasks/{task}", "--json", base=base).out)
    assert [(one["state"], one["content"]["status"]) for one in shown] == [
        ("completed", "cancelled")
    ]
    assert fsck(base) == []
    assert files(base)["events/completed"]


def test_to_completed_while_its_general_is_down(base: BaseDir) -> None:
    """The king ends it; its soldier is ended by the general, when that is back."""
    task, soldier = at_work(base)
    kingdom("stop", base=base)
    move(base, task, "completed")
    said = why(base, task)
    assert "Someone moved its file here by hand, and nobody has reported on it." in said
    assert "The king, who would end it, is not running." in said
    assert f"{soldier} still runs, until gen-a is back and ends it." in said
    statuses = [one["sentence"] for one in fsck(base) if one["check"] == "status"]
    assert statuses == ["Its status is in_progress, its directory says completed."]
    assert any(one["check"] == "leases" for one in fsck(base))
    assert kingdom("start", "--roles", "king,envoy", base=base).code == 0
    eventually(lambda: said_last(base, task), "the thread is told")
    assert "(dropped): A person took it out of the queue." in said_last(base, task)[0]
    assert load(base, "tasks/completed", task)["status"] == "cancelled"
    assert f"{soldier} still runs, until gen-a is back and ends it." in why(base, task)
    assert fsck(base) == []
    kingdom("stop", base=base)
    assert kingdom("start", base=base).code == 0
    eventually(lambda: not is_running(base, soldier), "its soldier is ended")
    eventually(lambda: "still runs" not in why(base, task), "that is said no more")
    assert len(said_last(base, task)) == 1


def test_a_default_taken_is_told_by_why(base: BaseDir) -> None:
    Path(base.config, "king.yaml").write_text(
        "polling: {interval_seconds: 0.2}\nquestions: {default_after_seconds: 1}\n"
    )
    kingdom("restart", base=base)
    payload = json.dumps({"rehearsal": {"do": "ask", "default": "yes", "options": ["yes", "no"]}})
    kingdom("send", "test.gen-a", "--payload", payload, base=base)
    eventually(lambda: len(files(base).get("results", [])) >= 1, "it asks")
    task = files(base)["results"][0]
    eventually(lambda: "goes on with that" in why(base, task), "the default is taken")
    assert "Nobody answered it until 20" in why(base, task)
    assert "so its default was taken: yes." in why(base, task)
    console = Path(base.logs, "console.log")
    eventually(lambda: "Nobody answered until 20" in console.read_text(), "it is said")
    assert "so the default was taken: yes" in console.read_text()
    assert "default answered" not in console.read_text()
