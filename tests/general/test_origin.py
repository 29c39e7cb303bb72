"""Answers and retries: they continue the pull request that it all began with, also elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kingdom.general.origin import origin_of
from kingdom.models.task import Task
from tests.support.barracks import Barracks
from tests.support.git_remotes import BareRemote
from tests.support.kingdom import task
from tests.support.soldiers import REPORT

PULL: dict[str, Any] = {"number": 7, "head_sha": "a" * 40, "base_branch": "release"}
AS_PULL = {"pull_request": 7, "head_sha": "a" * 40, "base_branch": "release"}


def row(first: Task, length: int) -> list[Task]:
    """A task, an answer to it, an answer to that one's question, and so on."""
    found = [first]
    for number in range(2, length + 1):
        payload = {"answer": "yes", "original": first.payload}
        before = found[-1].id
        found.append(task(number, type="resume", payload=payload, original_task_id=before))
    return found


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_what_continues_a_pull_request_begins_at_its_head(length: int) -> None:
    tasks = row(task(type="github.pr.mentioned", payload=PULL), length)
    known = {one.id: one for one in tasks}
    assert origin_of(tasks[-1], known.get).wish() == AS_PULL


@pytest.mark.parametrize("type_", ["github.issue.assigned", "test.requested"])
def test_what_continues_something_else_does_not(type_: str) -> None:
    tasks = row(task(type=type_, payload={"number": 7}), 3)
    known = {one.id: one for one in tasks}
    assert origin_of(tasks[-1], known.get).wish() == {"head_sha": None}


def test_of_a_first_task_that_is_gone_the_payload_tells() -> None:
    for first, wish in ((PULL, AS_PULL), ({"number": 7}, {"head_sha": None})):
        *_, last = row(task(type="github.pr.mentioned", payload=first), 3)
        assert origin_of(last, lambda _: None).wish() == wish


def test_a_task_that_names_itself_is_no_riddle() -> None:
    one = task(type="resume", payload={"original": PULL}, original_task_id="task-20260207-001")
    assert origin_of(one, {one.id: one}.get).wish() == AS_PULL


def test_an_answer_whose_worktree_is_gone_goes_on_at_the_head_of_its_pull_request(
    barracks: Barracks, tmp_path: Path
) -> None:
    remote = BareRemote(tmp_path / "acme" / "web.git", {"a.txt": "one"})
    release = remote.branch_off("release", {"released.txt": "r\n"})
    head = remote.pull_request(7, {"p.txt": "p\n"}, base="release")
    seen = tmp_path / "seen"
    barracks.command(
        f"echo $(git rev-parse HEAD) $(cat) >> {seen}\n{REPORT}",
        git={"url": f"{tmp_path}/{{repo}}.git", "use_gh": False},
    )
    barracks.package(prompt="Compare with {{BASE}}")
    payload: dict[str, Any] = {"number": 7, "base_branch": "release"}
    fields: dict[str, Any] = {"type": "github.pr.mentioned", "payload": payload}
    with barracks.general() as life:
        for _ in range(4):  # the task, an answer, an answer to its question, and that one retried
            (id_,) = barracks.publish(repo="acme/web", trust="member", **fields)
            life.result_of(id_)
            life.until(lambda: barracks.sessions() == [], "its soldier has ended")
            shutil.rmtree(barracks.workspace(id_))
            answer = {"answer": "yes", "question": "?", "answered_by": "a", "original": payload}
            fields = {"type": "resume", "payload": answer, "original_task_id": id_}
    lines = seen.read_text("utf-8").splitlines()
    assert [line.split()[0] for line in lines] == [head] * 4
    assert all(f"with {release}" in line for line in lines)
