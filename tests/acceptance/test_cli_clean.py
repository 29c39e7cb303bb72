"""`kingdom clean`: what has had its time, and why the rest stays."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from kingdom.chamberlain.cleaning.round import LOCK
from kingdom.clock import SystemClock
from kingdom.ops.init import init
from kingdom.runtime.timekeeping import Timekeeping
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom
from tests.support.household import internal_events

DAY = 86_400.0


@pytest.fixture
def old(base: BaseDir) -> BaseDir:
    """With a prompt that nobody needs, one that a waiting task needs, and a young one."""
    init(base)
    task = {
        "id": "task-20260207-002",
        "event_id": "evt-1",
        "target_general": "gen-pr",
        "type": "github.pr.comment",
        "created_at": "2026-02-07T10:00:00.000Z",
    }
    pending = Path(base.path("queue/tasks/pending"))
    pending.mkdir(parents=True, exist_ok=True)
    (pending / "task-20260207-002.json").write_text(json.dumps(task))
    for number, days in ((1, 4), (2, 4), (3, 2)):
        path = Path(base.prompts, f"task-20260207-{number:03d}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 3000)
        moment = time.time() - days * DAY
        os.utime(path, (moment, moment))
    return base


def prompts(base: BaseDir) -> list[str]:
    return sorted(os.listdir(base.prompts))


def test_a_dry_run_says_what_would_go_and_why_the_rest_stays(old: BaseDir) -> None:
    said = kingdom("clean", "--dry-run", base=old)
    assert said.code == 0
    assert said.lines == [
        "KIND     FILES  SIZE  OLDEST  KEPT FOR",
        "prompts  1      3 KB  4d      3 days",
        "prompts: 1 file kept. task-20260207-002 has not ended.",
        "1 file would go, 3 KB.",
    ]
    assert len(prompts(old)) == 3


def test_it_does_what_it_said(old: BaseDir) -> None:
    assert kingdom("clean", base=old).lines[-1] == "1 file removed, 3 KB."
    assert prompts(old) == ["task-20260207-002.md", "task-20260207-003.md"]
    assert kingdom("clean", base=old).lines[-1] == "Nothing has had its time."
    told = internal_events(old, "recovery.files_cleaned")
    assert [one["data"]["deleted_count"] for one in told] == [1, 0]


def test_it_cleans_whatever_is_wrong_with_files_that_it_does_not_go_by(old: BaseDir) -> None:
    Path(old.config, "local").mkdir(exist_ok=True)
    Path(old.config, "local", "envoy.yaml").write_text("nonsense: 1\n")
    broken = Path(old.config, "generals", "gen-x")
    broken.mkdir(parents=True)
    (broken / "manifest.yaml").write_text("nonsense: 1\n")
    said = kingdom("clean", base=old)
    assert (said.code, len(prompts(old))) == (0, 2)
    assert "`nonsense` is not a setting" in said.err
    Path(old.config, "local", "chamberlain.yaml").write_text("nonsense: 1\n")
    assert kingdom("clean", base=old).code == 2


def test_for_programs(old: BaseDir) -> None:
    told = json.loads(kingdom("clean", "--dry-run", "--json", base=old).out)
    assert (told["dry_run"], told["count"], told["bytes"]) == (True, 1, 3000)
    (found,) = [one for one in told["kinds"] if one["kind"] == "prompts"]
    assert found["rule"] == "3 days"
    assert found["kept"] == [{"reason": "task-20260207-002 has not ended.", "count": 1}]


def test_while_the_chamberlain_cleans(old: BaseDir) -> None:
    path = Path(old.path(*LOCK))
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = Lock(str(path))
    assert lock.try_acquire()
    said = kingdom("clean", base=old)
    lock.close()
    assert said.code == 1
    assert "The chamberlain is cleaning just now." in said.err
    assert len(prompts(old)) == 3


def test_by_a_clock_that_was_moved_only_if_a_person_says_that_it_is_right(old: BaseDir) -> None:
    """As the chamberlain saw it, ten days ago by this clock and a moment ago by the other."""
    path = old.path("state", "chamberlain", "clock.json")
    keeper = Timekeeping(old, path, SystemClock())
    keeper.look()
    seen = json.loads(Path(path).read_text())
    Path(path).write_text(json.dumps(seen | {"looked_at": "2026-01-01T00:00:00.000Z"}))
    said = kingdom("clean", base=old)
    assert said.code == 1
    assert "kingdom clean --clock-is-right" in said.err
    assert len(prompts(old)) == 3
    assert "The clock was moved by more than a day" in said.err
    assert "was moved by more than a day" in clock_line(old)
    dry = kingdom("clean", "--dry-run", base=old)
    assert (dry.code, dry.err.count("\n")) == (0, 1)
    assert "Nothing would go now: The clock was moved by more than a day" in dry.err
    assert "kingdom clean --clock-is-right" in dry.err
    sure = kingdom("clean", "--dry-run", "--clock-is-right", base=old)
    assert (sure.code, sure.err) == (0, "")
    assert kingdom("clean", base=old).code == 1, "dry is dry"
    assert kingdom("clean", "--clock-is-right", base=old).code == 0
    assert "It is trusted:" in clock_line(old)
    assert len(prompts(old)) == 2


def clock_line(base: BaseDir) -> str:
    (found,) = [one for one in kingdom("doctor", base=base).lines if one.split()[1:2] == ["clock"]]
    return found


def test_on_the_first_day_nobody_says_that_the_clock_was_moved(old: BaseDir) -> None:
    assert "It is trusted when the kingdom has run for a day." in clock_line(old)
    path = old.path("state", "chamberlain", "clock.json")
    for _ in range(2):  # lives of the chamberlain
        Timekeeping(old, path, SystemClock()).look()
    said = kingdom("clean", base=old)
    assert said.code == 1
    assert "moved" not in said.err
    assert "The clock is trusted when the kingdom has run for a day" in said.err
    assert "kingdom clean --clock-is-right" in said.err
    assert "which it has not yet." in clock_line(old)


def test_workspaces_are_shown_with_who_removes_them(old: BaseDir) -> None:
    place = Path(old.path("workspace/gen-gone/task-20260101-001"))
    place.mkdir(parents=True)
    moment = time.time() - 9 * DAY
    os.utime(place, (moment, moment))
    said = kingdom("clean", base=old)
    assert (
        f"workspace {place}: It was last worked in 9 days ago. "
        "(gen-gone is not installed: remove it yourself, if nothing in it is wanted)"
    ) in said.lines
    assert place.is_dir()
