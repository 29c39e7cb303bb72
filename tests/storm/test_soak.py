"""Five minutes of everything at once, and proof that what goes wrong there would be seen."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.storm import soak
from tests.storm.faults import Scene
from tests.storm.kingdom import Land
from tests.storm.verdict import Findings, judge_files, judge_leftovers, judge_logs, judge_state

MINUTES = 2.5  # of each seed


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_doubled_stuck_leaked_or_grows(scratch: Path, seed: int) -> None:
    words = ["--minutes", str(MINUTES), "--seed", str(seed), "--dir", str(scratch)]
    ended = subprocess.run(
        [sys.executable, "-P", soak.__file__, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


EVENT, TASK, MESSAGE = "evt-storm-00001", "task-20260207-001", "msg-20260207-001"
EVENTS, TASKS, SENT = "queue/events/completed", "queue/tasks/completed", "queue/messages/sent"


def put(scene: Scene, place: str, id_: str, **content: Any) -> None:
    path = Path(scene.land.base.path(place, f"{id_}.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": id_, "delivery": {}} | content))


def gone(place: str, id_: str) -> Callable[[Scene], None]:
    return lambda scene: Path(scene.land.base.path(place, f"{id_}.json")).unlink()


def added(place: str, id_: str, **content: Any) -> Callable[[Scene], None]:
    return lambda scene: put(scene, place, id_, **content)


def said(name: str, text: str) -> Callable[[Scene], None]:
    def write(scene: Scene) -> None:
        with Path(scene.land.base.path("logs", name)).open("a") as file:
            file.write(text)

    return write


FAILED = {"delivery": {"last_error_code": "failed_too_often"}}
DROPPED = {"delivery": {"last_error_code": "dropped"}}
DAMAGE: dict[str, tuple[Callable[[Scene], None], str]] = {
    "nothing": (lambda _: None, ""),
    "a dropped event": (added("queue/events/dead", "evt-storm-00002", **DROPPED), ""),
    "no event": (gone(EVENTS, EVENT), "lost"),
    "no task": (gone(TASKS, TASK), "lost"),
    "no result": (gone("state/results", TASK), "lost"),
    "a dead task": (added("queue/tasks/dead", TASK, **FAILED), "doubled"),
    "an event twice": (added("queue/events/dead", EVENT, **DROPPED), "doubled"),
    "two tasks": (added(TASKS, "task-20260207-002", event_id=EVENT), "doubled"),
    "a dead message": (added("queue/messages/dead", "msg-20260207-002", **FAILED), "lost"),
    "never said": (added(SENT, "msg-20260207-002"), "lost"),
    "said twice": (said("console.log", f"{MESSAGE}\n"), "doubled"),
    "two threads": (added(SENT, "msg-20260207-003", type="thread_start", task_id=TASK), "doubled"),
    "two soldiers": (lambda scene: _append(scene.land.runs, f"twice {TASK} 1\n"), "doubled"),
    "a broken duty": (said("system.log", '{"event": "duty.broke"}\n'), "broken"),
    "a traceback": (lambda scene: _append(scene.complaints, "Traceback\n"), "broken"),
    "a temporary": (lambda scene: _append(Path(scene.land.base.path("state/.tmp-1"))), "leaked"),
    "a wish": (added("state/control/cancel", TASK), "leaked"),
}


def _append(path: Path, text: str = "") -> None:
    with path.open("a") as file:
        file.write(text)


def test_what_goes_wrong_is_seen(scratch: Path) -> None:
    land = Land(scratch, soldiers=1)
    for name, (damage, kind) in DAMAGE.items():
        scene = Scene(land, random.Random(1), scratch, None, None, sent=[EVENT])
        _reset(scene)
        damage(scene)
        found = Findings()
        found.add(judge_files(scene))
        found.add(judge_logs(scene))
        if kind in ("leaked", ""):  # takes longer
            found.add(one for one in judge_leftovers(land) if not one[1].startswith("fsck"))
        kinds = {one for one, sentences in found.by_kind.items() if sentences}
        assert kind in kinds if kind else not kinds, f"{name}: {found.by_kind}"


def _reset(scene: Scene) -> None:
    base = scene.land.base
    for place in ("queue", "state/results", "state/control", "logs"):
        shutil.rmtree(base.path(place), ignore_errors=True)
    Path(base.path("state/.tmp-1")).unlink(missing_ok=True)
    Path(base.path("logs")).mkdir()
    Path(base.path("state/sessions.json")).write_text("[]")
    scene.complaints.unlink(missing_ok=True)
    scene.land.runs.write_text("")
    put(scene, EVENTS, EVENT, task_id=TASK)
    put(scene, TASKS, TASK, event_id=EVENT)
    put(scene, "state/results", TASK)
    put(scene, SENT, MESSAGE, type="thread_start", task_id=TASK)
    _append(Path(base.path("logs/console.log")), f"{MESSAGE}\nmsg-20260207-003\n")


def test_what_stays_in_state_when_all_has_had_its_time_is_growth() -> None:
    before = Counter({"king/task-seq": 1, "bus/journal/N.mark": 9})
    fine = Counter({"king/task-seq": 1, "king/reminded.json": 1, "bus/journal/N.mark": 14})
    assert not list(judge_state(before, fine))
    for name, times in (("results/task-N-N.json", 1), ("bus/journal/N.mark", 60)):
        assert list(judge_state(before, before + Counter({name: times})))
