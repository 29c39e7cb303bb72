"""Soldiers that spoil the place where their result belongs: they fail, and nobody else does."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from kingdom.runtime.processes import Seat
from tests.support.barracks import Barracks
from tests.support.soldiers import REPORT, WAIT_FOR_GO, go, report
from tests.support.waiting import eventually

PLACE = 'place=$(dirname "$KINGDOM_RESULT_PATH")\n'
TEMPORARY = ".tmp-4194303-1-x"  # of a writer that cannot live: pids are smaller
SHAPES = {
    "none": 'rm -r "$place"',
    "a file": 'rm -r "$place"; touch "$place"',
    "a link to itself": 'rm -r "$place"; ln -s "$place" "$place"',
    "with a directory like a temporary": f'mkdir "$place/{TEMPORARY}"',
}
SAID = json.dumps({"status": "success", "summary": "done"})
RESULT = json.dumps({"type": "result", "is_error": False, "result": SAID, "total_cost_usd": 0.25})


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_became_of_its_place_a_soldier_only_fails(barracks: Barracks, shape: str) -> None:
    barracks.command(f"{PLACE}{SHAPES[shape]}\nsleep 1")
    barracks.package(limits={"no_progress_seconds": 30.0})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
    assert result["error_code"] in ("no_result", "result_unreadable")
    assert list(Path(barracks.base.soldiers).iterdir()) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_when_the_result_is_in_what_it_said(barracks: Barracks, shape: str) -> None:
    barracks.claude(f"{PLACE}{SHAPES[shape]}\ncat <<'END'\n{RESULT}\nEND")
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    is_there = shape not in ("a file", "a link to itself")
    assert result["status"] == ("success" if is_there else "failed")


def test_a_directory_named_like_a_temporary_keeps_no_role_from_its_seat(
    barracks: Barracks,
) -> None:
    for place in (barracks.base.results, barracks.base.state):
        Path(place, TEMPORARY).mkdir(parents=True)
    Path(barracks.base.state, ".tmp-4194303-1-y").touch()
    Seat(barracks.base, "king").take().close()
    assert sorted(path.name for path in Path(barracks.base.state).glob(".tmp-*")) == [TEMPORARY]


def test_what_it_put_in_the_place_of_a_file_is_moved_aside(barracks: Barracks) -> None:
    said = {"status": "failed", "summary": "no", "error": "no"}
    barracks.command(f'{PLACE}mkdir -p "${{place%-raw-*}}-checkpoint.json"\n' + report(said))
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.task(id_)[0] == "completed", "it has ended")
    assert (barracks.result(id_) or {})["error_code"] == "reported_failure"


def _has_it(barracks: Barracks, id_: str, pid: int) -> bool:
    return f"/{pid}/" in str(barracks.task(id_)[1]["delivery"].get("locked_by"))


def crash(barracks: Barracks, id_: str, times: int) -> None:
    """So many lives of a general that end while they have this task in hand."""
    for _ in range(times):
        pid = barracks.spawn()
        eventually(partial(_has_it, barracks, id_, pid), "it has the task")
        barracks.kill(pid)
    assert barracks.result(id_) is None


def test_a_task_that_its_general_dies_over_comes_to_its_end(barracks: Barracks) -> None:
    barracks.command("exec sleep 1000", delivery={"tasks": {"max_crashes": 2}})
    barracks.package()
    (id_,) = barracks.publish()
    crash(barracks, id_, 3)  # one more than may be: the next life ends it
    pid = barracks.spawn()
    eventually(lambda: barracks.result(id_), "a result")
    assert (barracks.result(id_) or {})["error_code"] == "crashed_too_often"
    eventually(lambda: not list(Path(barracks.base.soldiers).iterdir()), "its files are gone")
    barracks.kill(pid)


def test_and_can_be_cancelled_before_that(barracks: Barracks) -> None:
    barracks.command("exec sleep 1000")
    barracks.package()
    (id_,) = barracks.publish()
    crash(barracks, id_, 1)
    barracks.ask(f"{id_}.cancel")
    pid = barracks.spawn()
    eventually(lambda: barracks.result(id_), "a result")
    assert (barracks.result(id_) or {})["error_code"] == "cancelled"
    barracks.kill(pid)


@pytest.mark.breaks
def test_a_task_whose_end_cannot_be_judged_fails_and_costs_no_other(barracks: Barracks) -> None:
    barracks.command(f'case "$KINGDOM_TASK_ID" in *-001) {WAIT_FOR_GO};; *) {REPORT};; esac')
    barracks.package()
    (spoilt,) = barracks.publish()
    general = barracks.spawn()
    eventually(lambda: barracks.wrapper(spoilt), "its soldier has begun")
    barracks.kill(general)
    go(barracks)
    end = Path(barracks.base.soldiers, f"{barracks.soldier(spoilt)}.exit")
    eventually(end.exists, "its soldier has ended")
    end.write_text(json.dumps(json.loads(end.read_text()) | {"ended_at": "never"}))
    (other,) = barracks.publish()
    with barracks.general() as life:
        assert life.result_of(other)["status"] == "success"
        result = life.result_of(spoilt)
        life.until(lambda: not list(Path(barracks.base.soldiers).iterdir()), "no files are left")
    assert result["error_code"] == "handling_failed"


@pytest.mark.parametrize(
    "left",
    [{"workspace": "/a\0b"}, {"engine": "command", "session_id": 7}, {"told": [], "failed": {}}],
)
def test_what_an_earlier_task_left_may_be_anything(
    barracks: Barracks, left: dict[str, object]
) -> None:
    barracks.command(REPORT)
    barracks.package()
    before = "task-20260101-001"
    (id_,) = barracks.publish(original_task_id=before)
    Path(barracks.base.results).mkdir(parents=True, exist_ok=True)
    Path(barracks.base.results, f"{before}-checkpoint.json").write_text(json.dumps(left))
    with barracks.general() as life:
        assert life.result_of(id_)["status"] == "success"
