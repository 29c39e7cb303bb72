"""A general that dies leaves its soldiers at work; the next one goes on from what is on disk."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.barracks import Barracks
from tests.support.processes import is_alive, state_of
from tests.support.soldiers import ALONE, REPORT, WAIT_FOR_GO, check_run_alone, go, ran
from tests.support.waiting import eventually

ALONE_UNTIL_GO = ALONE + WAIT_FOR_GO


def has_crashed(barracks: Barracks, id_: str, times: int) -> bool:
    """Whether the life after so many crashes has taken it up."""
    return bool(barracks.task(id_)[1]["delivery"].get("crash_count", 0) == times)


@pytest.fixture
def left_alone(barracks: Barracks) -> tuple[Barracks, str]:
    """A soldier at work, whose general was killed."""
    barracks.command(ALONE_UNTIL_GO)
    barracks.package(retry={"max_attempts": 2, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    pid = barracks.spawn()
    eventually(lambda: ran(barracks, id_), "a soldier")
    eventually(lambda: barracks.states() == ["running"], "registered")
    barracks.kill(pid)
    return barracks, id_


def test_a_living_soldier_is_adopted(left_alone: tuple[Barracks, str]) -> None:
    barracks, id_ = left_alone
    soldier = barracks.soldier(id_)
    assert barracks.processes(soldier)
    with barracks.general() as life:
        life.until(lambda: barracks.states() == ["running"], "it is registered")
        assert barracks.task(id_)[0] == "in_progress"
        go(barracks)
        result = life.result_of(id_)
    assert (result["metrics"]["soldier_id"], result["metrics"]["attempts"]) == (soldier, 1)
    assert ran(barracks, id_) == [soldier]
    assert "adopted" in Path(barracks.base.tasks_log).read_text("utf-8")
    assert len(barracks.events("soldier.spawned")) == 1
    assert barracks.leftovers() == []


def test_a_soldier_that_ended_meanwhile_is_harvested(left_alone: tuple[Barracks, str]) -> None:
    barracks, id_ = left_alone
    soldier = barracks.soldier(id_)
    go(barracks)
    eventually(lambda: Path(barracks.base.soldiers, f"{soldier}.exit").exists(), "it ended")
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
    assert ran(barracks, id_) == [soldier]
    assert barracks.sessions() == []


@pytest.mark.parametrize("by", ["tmux", "wrapper"])
def test_a_lost_soldier_is_tried_again(left_alone: tuple[Barracks, str], by: str) -> None:
    barracks, id_ = left_alone
    first, wrapper = barracks.soldier(id_), barracks.wrapper(id_)
    if by == "tmux":
        barracks.tmux().end_server()
    else:
        os.kill(wrapper, signal.SIGKILL)
    eventually(lambda: not is_alive(wrapper), "its wrapper is gone")
    go(barracks)
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["status"], result["metrics"]["attempts"]) == ("success", 2)
    assert ran(barracks, id_) == [first, result["metrics"]["soldier_id"]]
    check_run_alone(barracks, id_)


def test_what_people_asked_while_it_was_down_is_done(left_alone: tuple[Barracks, str]) -> None:
    barracks, id_ = left_alone
    soldier = barracks.soldier(id_)
    barracks.ask(f"{id_}.cancel")
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
    assert barracks.task(id_)[1]["status"] == "cancelled"
    assert barracks.processes(soldier) == set()


def test_a_frozen_soldier_is_adopted_frozen_and_thawed(left_alone: tuple[Barracks, str]) -> None:
    barracks, id_ = left_alone
    soldier = barracks.soldier(id_)

    def states() -> set[str]:
        return {state_of(pid) for pid in barracks.processes(soldier)}

    barracks.ask(f"{id_}.freeze")
    pid = barracks.spawn()
    eventually(lambda: states() == {"T"}, "stopped")
    eventually(lambda: barracks.states() == ["frozen"], "registered")
    barracks.kill(pid)
    barracks.ask(f"{id_}.freeze", gone=True)
    assert states() == {"T"}
    go(barracks)
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "it goes on")
    assert ran(barracks, id_) == [soldier]


def test_a_general_that_is_stopped_in_order_leaves_its_soldiers_at_work(
    barracks: Barracks,
) -> None:
    barracks.command(ALONE_UNTIL_GO)
    barracks.package()
    (id_,) = barracks.publish()
    pid = barracks.spawn()
    eventually(lambda: ran(barracks, id_), "a soldier")
    assert barracks.kill(pid, signal.SIGTERM) == 0
    soldier = barracks.soldier(id_)
    assert barracks.processes(soldier)
    pid = barracks.spawn()
    go(barracks)
    eventually(lambda: barracks.result(id_), "a result")
    assert barracks.kill(pid, signal.SIGTERM) == 0
    assert ran(barracks, id_) == [soldier]


def test_what_was_prepared_and_never_started_is_started_without_counting(
    barracks: Barracks,
) -> None:
    barracks.command(f"{ALONE}{REPORT}")
    barracks.package()
    (id_,) = barracks.publish()
    pid = barracks.spawn(env=barracks.with_tmux("exec sleep 1000"))
    eventually(lambda: barracks.sessions(), "a soldier that does not begin")
    barracks.kill(pid)
    first = barracks.soldier(id_)
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["metrics"]["attempts"] == 1
    assert ran(barracks, id_) == [result["metrics"]["soldier_id"]]
    assert first not in ran(barracks, id_)


def test_a_task_put_back_by_hand_waits_for_its_old_soldier_to_end(
    left_alone: tuple[Barracks, str],
) -> None:
    barracks, id_ = left_alone
    first = barracks.soldier(id_)
    file = Path(barracks.base.queue, "tasks", "in_progress", f"{id_}.json")
    task = json.loads(file.read_text("utf-8"))
    task["delivery"] = {}
    file.unlink()
    Path(barracks.base.queue, "tasks", "pending", f"{id_}.json").write_text(json.dumps(task))
    with barracks.general() as life:
        life.until(lambda: len(ran(barracks, id_)) == 2, "a new soldier")
        assert barracks.processes(first) == set()
        go(barracks)
        life.until(lambda: barracks.result(id_), "a result")
    check_run_alone(barracks, id_)
    assert barracks.leftovers() == []


def test_soldiers_of_a_task_that_ended_without_them_are_ended(
    left_alone: tuple[Barracks, str],
) -> None:
    barracks, id_ = left_alone
    soldier, wrapper = barracks.soldier(id_), barracks.wrapper(id_)
    queue = Path(barracks.base.queue, "tasks")
    queue.joinpath("in_progress", f"{id_}.json").rename(queue / "dead" / f"{id_}.json")
    with barracks.general() as life:
        life.until(lambda: not barracks.processes(soldier), "its processes are ended")
        life.until(lambda: not is_alive(wrapper), "its wrapper is gone")
        barracks.clock.shift(1)  # when it looks again
        life.until(lambda: barracks.leftovers() == [], "its files are removed")
    assert barracks.result(id_) is None


def test_a_task_whose_general_dies_each_time_is_given_up(barracks: Barracks) -> None:
    barracks.command(ALONE_UNTIL_GO, delivery={"tasks": {"max_crashes": 1}})
    barracks.package()
    (id_,) = barracks.publish()
    for crashes in range(2):
        pid = barracks.spawn()
        eventually(lambda: ran(barracks, id_), "a soldier")
        eventually(partial(has_crashed, barracks, id_, crashes), "a life")
        barracks.kill(pid)
    soldier = barracks.soldier(id_)
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["error_code"] == "crashed_too_often"
    assert barracks.processes(soldier) == set()


def test_killed_at_random_moments_every_task_has_one_result_and_never_two_soldiers(
    barracks: Barracks,
) -> None:
    chance = random.Random(2)
    barracks.command(f"{ALONE}sleep 0.1\n{REPORT}")
    barracks.configure("king", concurrency={"max_soldiers": 8})
    barracks.package(retry={"max_attempts": 9, "backoff_seconds": 0.05})
    ids = barracks.publish(24)
    lives = []

    def live_for_a_while(_: float) -> None:
        pid, moment = barracks.spawn(), time.monotonic() + chance.uniform(0.1, 0.9)
        lives.append(pid)
        eventually(
            lambda: time.monotonic() > moment or all(map(barracks.result, ids)), "its time to die"
        )
        barracks.kill(pid)

    eventually(lambda: all(map(barracks.result, ids)), "all results", meanwhile=live_for_a_while)
    with barracks.general() as life:
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
        life.until(lambda: barracks.leftovers() == [], "nothing is left")
    assert len(lives) > 1
    check_run_alone(barracks, *ids)
    for id_ in ids:
        result = barracks.result(id_)
        assert result is not None
        assert result["status"] == "success"
        assert len(ran(barracks, id_)) == 1, "nothing was lost, so nothing ran again"
        assert barracks.task(id_)[0] == "completed"
