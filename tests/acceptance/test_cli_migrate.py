"""`kingdom migrate`: the predecessor's directories become ours, after a backup."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence
from tests.support.kingdom import counts, load

MADE = "2026-02-07T10:00:00+09:00"


def old_event(id_: str, **fields: Any) -> dict[str, Any]:
    made = {
        "id": id_, "type": "github.pr.review_requested", "source": "github", "repo": "acme/web",
        "payload": {"number": 7}, "priority": "normal", "created_at": MADE, "status": "pending",
    }  # fmt: skip
    return made | fields


def old_task(number: int, event_id: str, **fields: Any) -> dict[str, Any]:
    made = {
        "id": f"task-20260207-{number:03d}", "event_id": event_id, "target_general": "gen-pr",
        "type": "github.pr.review_requested", "payload": {}, "priority": "high",
        "created_at": MADE, "status": "pending",
    }  # fmt: skip
    return made | fields


@pytest.fixture
def old(base: BaseDir) -> BaseDir:
    """As the predecessor left it: no `dead/`, no format, `status` pending for ever."""
    files: dict[str, Any] = {
        "queue/events/pending/evt-github-1.json": old_event("evt-github-1"),
        "queue/events/dispatched/evt-github-2.json": old_event("evt-github-2"),
        "queue/events/completed/evt-github-3.json": old_event("evt-github-3", status="failed"),
        "queue/tasks/in_progress/task-20260207-001.json": old_task(1, "evt-github-2"),
        "queue/tasks/completed/task-20260207-002.json": old_task(2, "evt-github-3"),
        "queue/tasks/completed/task-20260207-003.json": old_task(3, "evt-github-2"),
        "queue/messages/sent/msg-20260207-001.json": {
            "id": "msg-20260207-001", "type": "notification", "channel": "dev", "urgency": "normal",
            "content": "안녕", "context": {}, "created_at": MADE, "status": "pending",
        },
        "state/results/task-20260207-002.json": result(2),
        "state/results/task-20260207-003.json": result(3),
        "state/results/task-20260207-003-raw.json": result(3),
        "state/king/task-seq": "20260207:003\n",
        "config/system.yaml": "",
    }  # fmt: skip
    for name, content in files.items():
        path = Path(base.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    for name in ("logs", "memory", "workspace", "queue/messages/pending", "queue/tasks/pending"):
        Path(base.path(name)).mkdir(parents=True, exist_ok=True)
    return base


def result(number: int) -> dict[str, Any]:
    return {"task_id": f"task-20260207-{number:03d}", "status": "success", "summary": "done"}


def test_the_predecessors_files_become_ours(old: BaseDir, tmp_path: Path) -> None:
    before = counts(old)
    said = kingdom("migrate", base=old, cwd=tmp_path)
    assert said.code == 0, said
    (archive,) = os.listdir(tmp_path)
    assert said.lines == [
        f"The backup is {tmp_path / archive}.",
        "9 messages brought to format 1.",
    ]
    assert counts(old) == before
    event = load(old, "events/completed", "evt-github-3")
    assert (event["status"], event["schema_version"]) == ("failed", 1)
    assert event["created_at"] == "2026-02-07T01:00:00.000Z"
    assert load(old, "messages/sent", "msg-20260207-001")["status"] == "sent"
    assert load(old, "tasks/in_progress", "task-20260207-001")["status"] == "in_progress"
    assert Path(old.format_file).read_text() == "1\n"


def test_afterwards_everything_else_works(old: BaseDir, tmp_path: Path) -> None:
    kingdom("migrate", base=old, cwd=tmp_path)
    kingdom("init", old.root)
    assert kingdom("fsck", base=old).code == 0
    with closing(FileBus(old, durable=False)) as bus:
        assert [claim.id for claim in bus.claim("results", "king", 9)] == ["task-20260207-003"]
        (claim,) = bus.claim("tasks", "gen-pr", 9)
        assert (claim.id, claim.taken_over) == ("task-20260207-001", False)


def test_the_backup_is_of_what_was_there_before(old: BaseDir, tmp_path: Path) -> None:
    before = Path(old.path("queue/events/pending/evt-github-1.json")).read_text()
    kingdom("migrate", "--backup", "b.tar.gz", base=old, cwd=tmp_path)
    kingdom("restore", "b.tar.gz", "old", cwd=tmp_path)
    restored = BaseDir(tmp_path / "old")
    assert Path(restored.path("queue/events/pending/evt-github-1.json")).read_text() == before
    assert not os.path.exists(restored.format_file)
    assert kingdom("migrate", base=restored, cwd=tmp_path).code == 0


def test_a_dry_run_changes_nothing(old: BaseDir, tmp_path: Path) -> None:
    shutil.copytree(old.root, tmp_path / "same")
    said = kingdom("migrate", "--dry-run", base=old, cwd=tmp_path)
    assert said.out == "Would write a backup and bring 9 messages to format 1.\n"
    assert os.listdir(tmp_path) == ["same"]
    assert tree(old.root) == tree(str(tmp_path / "same"))


def tree(root: str) -> dict[str, bytes]:
    paths = [path for path in Path(root).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_a_second_time_there_is_nothing_to_do(old: BaseDir, tmp_path: Path) -> None:
    kingdom("migrate", base=old, cwd=tmp_path)
    said = kingdom("migrate", base=old, cwd=tmp_path)
    assert said.code == 0
    assert said.out.endswith("is of format 1, the current one; there is nothing to do.\n")
    assert len(os.listdir(tmp_path)) == 1


def test_an_interrupted_migration_is_simply_run_again(old: BaseDir, tmp_path: Path) -> None:
    """Killed before the version was named: some messages are upgraded already."""
    with closing(FileBus(old, durable=False)) as bus:
        from kingdom.ops.migration import Plan, plan
        from kingdom.ops.rewriting import rewrite_all

        planned: Plan = plan(old)
        rewrite_all(bus, "tasks", planned.messages["tasks"])
    said = kingdom("migrate", base=old, cwd=tmp_path)
    assert said.lines[-1] == "6 messages brought to format 1."
    assert load(old, "tasks/completed", "task-20260207-002")["delivery"]["revision"] == 2


def test_what_cannot_be_read_stays_and_is_named(old: BaseDir, tmp_path: Path) -> None:
    broken = Path(old.path("queue/events/completed/evt-github-9.json"))
    broken.write_text("{")
    said = kingdom("migrate", base=old, cwd=tmp_path)
    assert said.code == 0
    assert (
        said.err == f"kingdom: {broken} cannot be read and stays as it is; kingdom fsck says why.\n"
    )
    assert broken.read_text() == "{"


def test_without_a_backup_nothing_is_migrated(old: BaseDir) -> None:
    refused = one_sentence(kingdom("migrate", "--backup", "/none/b.tar.gz", base=old), 2)
    assert refused.startswith("There is no directory /none.")
    assert "delivery" not in load(old, "events/pending", "evt-github-1")
