"""Soldiers that are lost, late, hung or refused: nothing is left, and each failure is told."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from kingdom.bus.port import Claim, Problem
from kingdom.runtime.control import Control
from kingdom.runtime.waits import waits
from tests.support.barracks import NAME, Barracks, environment
from tests.support.kingdom import START
from tests.support.processes import is_alive
from tests.support.soldiers import ALONE, DEAF, SPREAD, STAY, is_up, ran, report
from tests.support.waiting import eventually


@pytest.mark.provokes("soldier.timeout")
def test_a_soldier_that_takes_too_long_is_ended_with_all_its_processes(barracks: Barracks) -> None:
    barracks.command(SPREAD + STAY)
    barracks.package(timeout_seconds=30.0)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        soldier = barracks.soldier(id_)
        life.until(lambda: len(barracks.processes(soldier)) >= 3, "all of its processes")
        barracks.revise(id_, timeout_seconds=0)
        result = life.result_of(id_)
    assert (result["status"], result["error_code"]) == ("killed", "timed_out")
    assert barracks.processes(soldier) == set()
    (event,) = barracks.events("soldier.timeout")
    assert event["data"] == {"task_id": id_, "soldier_id": soldier, "timeout_seconds": 30.0}
    eventually(lambda: soldier not in barracks.tmux().sessions(), "its session is gone")


def test_signs_of_life_give_as_much_time_again_and_no_more(barracks: Barracks) -> None:
    barracks.command("while :; do touch $KINGDOM_HEARTBEAT_PATH; sleep 0.1; done")
    barracks.package(timeout_seconds=0.7)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["error_code"] == "timed_out"
    assert result["metrics"]["duration_seconds"] >= 1.4


# Reports when it is asked to end, and starts nothing for that: it would be asked to end as well.
LATE = f"""
report() {{
    echo '{{"task_id": "'$KINGDOM_TASK_ID'", "status": "success", "summary": "late"}}' \\
        > $KINGDOM_RESULT_PATH
    exit
}}
trap report TERM
{ALONE}
while :; do :; done
"""


def has_run(barracks: Barracks, id_: str, times: int) -> bool:
    return len(ran(barracks, id_)) == times


def test_what_a_soldier_writes_after_its_time_counts_for_nothing(barracks: Barracks) -> None:
    barracks.command(LATE)
    barracks.package(timeout_seconds=30.0, retry={"max_attempts": 2, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        for attempt in (1, 2):
            life.until(partial(has_run, barracks, id_, attempt), f"attempt {attempt} is at work")
            barracks.revise(id_, timeout_seconds=0)
        result = life.result_of(id_)
    assert (result["error_code"], result["metrics"]["attempts"]) == ("timed_out", 2)
    assert len(list(Path(barracks.base.results).glob(f"{id_}-raw-*"))) == 2, "they did write"
    assert not Path(barracks.base.results, f"{id_}-raw.json").exists()


@pytest.mark.provokes("task.retried")
def test_a_soldier_whose_tmux_server_is_killed_is_tried_again(barracks: Barracks) -> None:
    again = report({"status": "skipped", "summary": "again", "reason": "lost"})
    barracks.command(f"if [ -e up ]; then\n{again}else {STAY}; fi")
    barracks.package(retry={"max_attempts": 2, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        first = barracks.soldier(id_)
        barracks.tmux().end_server()
        result = life.result_of(id_)
    assert (result["status"], result["metrics"]["attempts"]) == ("skipped", 2)
    assert barracks.processes(first) == set()
    (retried,) = barracks.events("task.retried")
    assert "session is gone" in retried["data"]["error"]


def test_a_soldier_whose_wrapper_is_killed_is_lost_with_all_its_processes(
    barracks: Barracks,
) -> None:
    barracks.command(SPREAD + DEAF + STAY)
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        soldier = barracks.soldier(id_)
        os.kill(barracks.wrapper(id_), signal.SIGKILL)
        result = life.result_of(id_)
    assert (result["status"], result["error_code"]) == ("failed", "soldier_lost")
    assert barracks.processes(soldier) == set()
    assert barracks.leftovers() == []


@pytest.mark.provokes("task.cancelled")
@pytest.mark.parametrize(("frozen", "code"), [(False, "superseded"), (True, "cancelled")])
def test_a_cancelled_task_is_ended_with_all_its_processes(
    barracks: Barracks, frozen: bool, code: str
) -> None:
    barracks.command(SPREAD + STAY)
    barracks.package(retry={"max_attempts": 3, "backoff_seconds": 0.05})
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        soldier = barracks.soldier(id_)
        if frozen:
            barracks.ask(f"{id_}.freeze")
            life.until(lambda: barracks.states() == ["frozen"], "frozen")
        Control(barracks.base).ask("cancel", id_, by="evt-2", at=START, code=code)
        result = life.result_of(id_)
        life.until(lambda: barracks.sessions() == [], "not registered")
    assert (result["status"], result["error_code"]) == ("killed", code)
    assert result["error"].endswith("Superseded by evt-2." if code == "superseded" else "it.")
    assert barracks.task(id_)[1]["status"] == "cancelled"
    assert barracks.processes(soldier) == set()
    assert os.listdir(barracks.base.control) == []
    (event,) = barracks.events("task.cancelled")
    assert event["data"]["task_id"] == id_


def test_a_task_that_waits_is_cancelled_without_a_soldier(barracks: Barracks) -> None:
    barracks.command("sleep 1000")
    barracks.package(max_soldiers=1)
    busy, waiting = barracks.publish(2)
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(busy), "the first soldier")
        barracks.ask(f"{waiting}.cancel")
        life.until(lambda: barracks.result(waiting), "a result")
        assert barracks.task(busy)[0] == "in_progress"
        assert barracks.soldier(waiting) == ""
        assert os.listdir(barracks.base.control) == []
        barracks.ask(f"{waiting}.cancel")
        life.until(lambda: os.listdir(barracks.base.control) == [], "what is void is removed")


def test_a_task_that_was_taken_away_is_let_go_with_its_soldier(barracks: Barracks) -> None:
    barracks.command(STAY, delivery={"tasks": {"lease_seconds": 0.3}})
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        soldier, wrapper = barracks.soldier(id_), barracks.wrapper(id_)
        with barracks.outside_bus() as bus:  # while the general does nothing, its lease runs out
            taken: list[Claim] = []
            eventually(
                lambda: taken.extend(bus.claim("tasks", "operator", ids=[id_])) or taken,
                "its lease has run out",
            )
            bus.bury(taken[0], Problem("dropped", "An operator dropped it."))
        life.until(lambda: not barracks.processes(soldier), "its processes are ended")
        life.until(lambda: not is_alive(wrapper), "its wrapper is gone")
        barracks.clock.shift(1)  # when it looks again
        life.until(lambda: barracks.sessions() == [], "it is not registered")
        life.until(lambda: barracks.leftovers() == [], "its files are removed")
    assert barracks.result(id_) is None
    assert barracks.task(id_)[0] == "dead"


def test_a_prompt_that_is_too_large_is_not_tried_again(barracks: Barracks) -> None:
    barracks.package(
        prompt="Look at {{payload.title}}.", retry={"max_attempts": 3, "backoff_seconds": 0.05}
    )
    (id_,) = barracks.publish(payload={"title": "x" * 1_100_000})
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["error_code"], result["metrics"]["attempts"]) == ("prompt_too_large", 1)
    assert barracks.leftovers() == []


def test_an_engine_that_the_general_does_not_support_is_said(barracks: Barracks) -> None:
    barracks.package(supported_engines=["claude"])
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["error_code"] == "engine_unsupported"


def test_a_workspace_that_cannot_be_made_is_said(barracks: Barracks) -> None:
    barracks.package()
    Path(barracks.base.root, "workspace").write_text("in the way", "utf-8")
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert result["error_code"] == "workspace_failed"
    assert barracks.leftovers() == []


def test_without_tmux_work_waits_and_the_log_says_what_is_missing(barracks: Barracks) -> None:
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general(env=environment(PATH=barracks.base.root)) as life:
        life.until(lambda: "general.waits" in life.said.getvalue(), "it says so")
        assert "apt-get install tmux" in life.said.getvalue()
        assert barracks.task(id_)[0] == "pending"
        barracks.with_tmux(f'PATH={os.environ["PATH"]} exec tmux "$@"')
        life.until(lambda: barracks.result(id_), "it goes on by itself")


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ("no more ptys", "no more ptys"),
        (
            "create window failed: fork failed: Resource temporarily unavailable",
            "No more processes or threads can be started",
        ),
    ],
)
def test_a_tmux_that_refuses_costs_no_attempt(barracks: Barracks, says: str, sentence: str) -> None:
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general(env=barracks.with_tmux(f"echo {says} >&2; exit 1")) as life:
        life.until(lambda: "task.waits" in life.said.getvalue(), "it is put off")
        place, task = barracks.task(id_)
        assert (place, task["retry_count"], task["delivery"]["attempt_count"]) == ("pending", 0, 0)
        assert sentence in task["delivery"]["last_error_message"]
        assert barracks.sessions() == []
        assert barracks.leftovers() == []
        (told,) = waits(barracks.base, NAME)
        assert told["sentence"].startswith("No soldier can be started.")
        assert sentence in told["sentence"]
        barracks.with_tmux(f'PATH={os.environ["PATH"]} exec tmux "$@"')
        barracks.clock.shift(100)
        life.until(lambda: barracks.result(id_), "it goes on by itself")
        assert waits(barracks.base, NAME) == []


def test_a_tmux_that_hangs_holds_up_nothing_else(barracks: Barracks) -> None:
    barracks.package()
    (id_,) = barracks.publish()
    pids, hanging = Path(barracks.base.root, "pids"), set[int]()

    def stepped_beside_one() -> bool:
        before = set(hanging)
        known = pids.read_text("utf-8").split() if pids.exists() else []
        hanging.clear()
        hanging.update(pid for pid in map(int, known) if is_alive(pid))
        return bool(before & hanging)

    env = barracks.with_tmux(f"echo $$ >> {pids}; exec sleep 1000")
    with barracks.general(env=env) as life:
        life.until(stepped_beside_one, "a step of the general while one and the same tmux hangs")
        life.until(lambda: barracks.sessions(), "it is registered")
        barracks.ask(f"{id_}.cancel")
        life.until(lambda: barracks.result(id_), "it can be cancelled")
