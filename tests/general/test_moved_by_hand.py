"""A person moves the file of a task while its soldier is at it: one soldier at a time all the same,
nothing done twice, and an end that says what happened."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.barracks import Barracks
from tests.support.calls import in_child
from tests.support.soldiers import ALONE, DEAF, STAY, WAIT_FOR_GO, check_run_alone, go, is_up, ran
from tests.support.waiting import eventually

SHORT_LEASE: dict[str, Any] = {"delivery": {"tasks": {"lease_seconds": 1}}}


def move(barracks: Barracks, id_: str, to: str) -> None:
    """`mv queue/tasks/in_progress/T.json queue/tasks/…/`"""
    place = Path(barracks.base.queue, "tasks")
    os.rename(place / "in_progress" / f"{id_}.json", place / to / f"{id_}.json")


def lies_in(barracks: Barracks, id_: str) -> list[str]:
    return [path.parent.name for path in Path(barracks.base.queue, "tasks").glob(f"*/{id_}.json")]


def log_of(barracks: Barracks) -> str:
    return Path(barracks.base.tasks_log).read_text("utf-8")


def at_work(barracks: Barracks, script: str = ALONE + WAIT_FOR_GO, **system: Any) -> str:
    """A task for a soldier that runs this script."""
    barracks.command(script, **system)
    barracks.package(retry={"max_attempts": 3, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    return id_


def test_one_moved_back_to_pending_is_put_back_and_its_soldier_goes_on(barracks: Barracks) -> None:
    id_ = at_work(barracks)
    with barracks.general() as life:
        life.until(lambda: ran(barracks, id_), "a soldier")
        soldier = barracks.soldier(id_)
        move(barracks, id_, "pending")
        life.until(lambda: lies_in(barracks, id_) == ["in_progress"], "it is put back")
        assert barracks.task(id_)[1]["status"] == "in_progress"
        assert barracks.processes(soldier)
        go(barracks)
        result = life.result_of(id_)
    metrics = result["metrics"]
    assert (result["status"], metrics["soldier_id"], metrics["attempts"]) == ("success", soldier, 1)
    assert ran(barracks, id_) == [soldier]
    assert lies_in(barracks, id_) == ["completed"]
    assert f"{id_} put_back found_in=pending soldier={soldier}" in log_of(barracks)
    assert len(barracks.events("soldier.spawned", "task.started")) == 2
    assert barracks.leftovers() == []


def test_again_and_again_over_several_leases(barracks: Barracks) -> None:
    """With a general of its own process, which is given no time to rest."""
    id_ = at_work(barracks, **SHORT_LEASE)
    barracks.spawn()
    eventually(lambda: ran(barracks, id_), "a soldier")
    soldier = barracks.soldier(id_)

    def is_past(revision: int) -> bool:
        return bool(barracks.task(id_)[1]["delivery"]["revision"] > revision)

    for _ in range(6):
        before = barracks.task(id_)[1]["delivery"]["revision"]
        move(barracks, id_, "pending")
        eventually(lambda: lies_in(barracks, id_) == ["in_progress"], "it is put back")
        eventually(partial(is_past, before), "its lease is renewed")
    go(barracks)
    eventually(lambda: barracks.result(id_), "a result")
    result = barracks.result(id_)
    assert result is not None
    assert (result["status"], result["metrics"]["soldier_id"]) == ("success", soldier)
    assert ran(barracks, id_) == [soldier]
    check_run_alone(barracks, id_)
    assert log_of(barracks).count("put_back") == 6


def test_one_that_ended_while_its_file_lay_elsewhere_is_harvested(barracks: Barracks) -> None:
    id_ = at_work(barracks)
    with barracks.general() as life:
        life.until(lambda: ran(barracks, id_), "a soldier")
        soldier = barracks.soldier(id_)
        go(barracks)
        eventually(lambda: Path(barracks.base.soldiers, f"{soldier}.exit").exists(), "it ended")
        move(barracks, id_, "pending")
        result = life.result_of(id_)
    assert (result["status"], result["metrics"]["soldier_id"]) == ("success", soldier)
    assert ran(barracks, id_) == [soldier]
    assert lies_in(barracks, id_) == ["completed"]


@pytest.mark.parametrize("ends_meanwhile", [False, True])
def test_one_moved_while_its_general_was_down_is_adopted(
    barracks: Barracks, ends_meanwhile: bool
) -> None:
    id_ = at_work(barracks)
    pid = barracks.spawn()
    eventually(lambda: ran(barracks, id_), "a soldier")
    soldier = barracks.soldier(id_)
    barracks.kill(pid)
    move(barracks, id_, "pending")
    if ends_meanwhile:
        go(barracks)
        eventually(lambda: Path(barracks.base.soldiers, f"{soldier}.exit").exists(), "it ended")
    with barracks.general() as life:
        assert ends_meanwhile or lies_in(barracks, id_) == ["in_progress"]
        go(barracks)
        result = life.result_of(id_)
    assert (result["metrics"]["soldier_id"], result["metrics"]["attempts"]) == (soldier, 1)
    assert ran(barracks, id_) == [soldier]


def test_one_that_nobody_was_at_is_begun_as_any_other(barracks: Barracks) -> None:
    """Its general died before it had a soldier; the lease is all that is left."""
    id_ = at_work(barracks)
    go(barracks)

    def claims() -> None:
        with barracks.outside_bus() as bus:
            assert bus.claim("tasks", "gen-pr")

    assert in_child(claims) == 0
    move(barracks, id_, "pending")
    with barracks.general() as life:
        assert life.result_of(id_)["status"] == "success"
    assert len(ran(barracks, id_)) == 1


@pytest.mark.parametrize("script", [STAY, DEAF + STAY], ids=["obedient", "deaf"])
@pytest.mark.parametrize("to", ["completed", "dead"])
def test_one_moved_to_where_ended_ones_lie_is_cancelled(
    barracks: Barracks, to: str, script: str
) -> None:
    id_ = at_work(barracks, script)
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "a soldier")
        soldier = barracks.soldier(id_)
        move(barracks, id_, to)
        result = life.result_of(id_)
        life.until(lambda: not barracks.sessions(), "it is struck out")
    assert (result["status"], result["error_code"]) == ("killed", "cancelled")
    state, task = barracks.task(id_)
    assert (state, task["status"]) == ("completed", "cancelled")
    assert "locked_by" not in task["delivery"]
    assert lies_in(barracks, id_) == ["completed"]
    assert barracks.processes(soldier) == set()
    assert len(barracks.events("task.cancelled")) == 1
    assert os.listdir(barracks.base.control) == []
    assert f"put_back found_in={to}" in log_of(barracks)


def test_one_that_was_frozen_too(barracks: Barracks) -> None:
    id_ = at_work(barracks, STAY)
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "a soldier")
        barracks.ask(f"{id_}.freeze")
        life.until(lambda: barracks.states() == ["frozen"], "it stands still")
        move(barracks, id_, "pending")
        life.until(lambda: lies_in(barracks, id_) == ["in_progress"], "it is put back")
        assert barracks.states() == ["frozen"]
        move(barracks, id_, "completed")
        assert life.result_of(id_)["error_code"] == "cancelled"
    assert barracks.processes(barracks.soldier(id_)) == set()


def test_a_general_that_was_down_ends_the_soldier_of_what_was_moved_to_completed(
    barracks: Barracks,
) -> None:
    id_ = at_work(barracks, STAY)
    pid = barracks.spawn()
    eventually(lambda: is_up(barracks, id_), "a soldier")
    soldier = barracks.soldier(id_)
    barracks.kill(pid)
    move(barracks, id_, "completed")
    with barracks.general() as life:
        life.until(lambda: not barracks.processes(soldier), "it is ended")
    assert lies_in(barracks, id_) == ["completed"]
    assert barracks.result(id_) is None, "the king reports on it"


def test_what_another_has_taken_over_is_not_moved(barracks: Barracks) -> None:
    """The revision tells: this is no move by hand, and the file is not ours any more."""
    id_ = at_work(barracks, ALONE + WAIT_FOR_GO)
    with barracks.general() as life:
        life.until(lambda: ran(barracks, id_), "a soldier")
        move(barracks, id_, "completed")
        path = Path(barracks.base.queue, "tasks", "completed", f"{id_}.json")
        text = path.read_text("utf-8")
        revision = barracks.task(id_)[1]["delivery"]["revision"]
        newer = text.replace(f'"revision": {revision}', f'"revision": {revision + 1}')
        assert newer != text
        path.write_text(newer, "utf-8")
        go(barracks)
        life.until(lambda: "task.lost" in life.said.getvalue(), "it is let go")
    assert lies_in(barracks, id_) == ["completed"]
    assert not barracks.events("task.cancelled")
    assert os.listdir(barracks.base.control) == []
