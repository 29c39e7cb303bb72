"""Soldiers that nobody owns are ended and struck out; one that a general owns, or will adopt, never
is. Generals and soldiers are real processes; only the chamberlain's clock is moved by hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.strays import EVERY, PATIENCE, Strays
from kingdom.engines import attempts
from kingdom.runtime.registry import registry_of
from kingdom.store.paths import BaseDir
from tests.support.barracks import NAME, Barracks
from tests.support.household import internal_events, office_in
from tests.support.kingdom import MovableClock
from tests.support.processes import is_alive
from tests.support.waiting import eventually

GRACE = 240.0  # two missed heartbeats
REASON = f"orphaned: {{}} is not in progress, and {NAME} does not run"


@pytest.fixture
def barracks(base: BaseDir) -> Iterator[Barracks]:
    made = Barracks(base)
    made.package()
    try:
        yield made
    finally:
        made.close()


class Round:
    """The duty, and time that goes by for it."""

    def __init__(self, office: Office, clock: MovableClock) -> None:
        self.base, self.config, self.clock = office.base, office.setting.config, clock
        self.duty = Strays(office)
        self.duty.start()

    def go_on(self, seconds: float) -> None:
        while seconds > 0:
            wait = min(self.duty.step(), seconds)
            self.clock.advance(wait)
            seconds -= wait
        self.duty.step()

    def until(self, type_: str) -> list[dict[str, Any]]:
        """What is told of this, as soon as there is any; the processes take their time."""

        def is_told() -> bool:
            self.duty.step()
            return bool(self.told(type_))

        eventually(is_told, type_)
        return self.told(type_)

    def told(self, *types: str) -> list[dict[str, Any]]:
        return [one["data"] for one in internal_events(self.base) if one["type"] in types]

    def nothing_told(self) -> bool:
        ours = [one for one in internal_events(self.base) if one["actor"] == "chamberlain"]
        return ours == []


@pytest.fixture
def duty(base: BaseDir, clock: MovableClock, barracks: Barracks) -> Iterator[Round]:
    with office_in(base, clock) as office:
        yield Round(office, clock)


def at_work(barracks: Barracks) -> tuple[int, str, int]:
    """A general, its task, and the wrapper of the soldier that is at it and goes on for ever."""
    (task,) = barracks.publish(payload={"rehearsal": {"do": "hang"}})
    general = barracks.spawn()
    eventually(lambda: barracks.wrapper(task), "a soldier has begun")
    eventually(lambda: barracks.states() == ["running"], "it is registered")
    return general, task, barracks.wrapper(task)


def taken_away(barracks: Barracks, task: str) -> None:
    """As a person may do it, while its general is down."""
    queue = Path(barracks.base.queue, "tasks")
    (queue / "in_progress" / f"{task}.json").rename(queue / "completed" / f"{task}.json")


@pytest.mark.provokes("system.session_orphaned", "recovery.sessions_cleaned")
def test_what_is_left_of_a_killed_soldier_and_its_general_is_struck_out(
    barracks: Barracks, duty: Round
) -> None:
    general, task, wrapper = at_work(barracks)
    soldier = barracks.soldier(task)
    barracks.kill(general)
    os.kill(wrapper, signal.SIGKILL)
    eventually(lambda: not is_alive(wrapper), "its wrapper is gone")
    duty.go_on(GRACE - EVERY)
    assert duty.nothing_told()
    assert len(barracks.sessions()) == 1
    duty.go_on(EVERY)
    assert duty.told("system.session_orphaned") == [{"soldier_id": soldier, "task_id": task}]
    assert duty.told("recovery.sessions_cleaned") == [{"removed_count": 1}]
    assert barracks.sessions() == []
    duty.go_on(GRACE * 2)
    assert len(internal_events(duty.base, "system.session_orphaned")) == 1
    assert duty.told("soldier.killed") == []
    assert barracks.task(task)[0] == "in_progress", "its general will try again"


def test_a_registry_in_other_hands_is_left_for_later(barracks: Barracks, duty: Round) -> None:
    general, _, wrapper = at_work(barracks)
    barracks.kill(general)
    os.kill(wrapper, signal.SIGKILL)
    eventually(lambda: not is_alive(wrapper), "its wrapper is gone")
    with registry_of(duty.base) as is_ours:
        assert is_ours
        duty.go_on(GRACE + EVERY * 2)
        assert len(barracks.sessions()) == 1
    duty.go_on(EVERY)
    assert barracks.sessions() == []
    assert len(duty.told("system.session_orphaned")) == 1
    assert duty.told("recovery.sessions_cleaned") == [{"removed_count": 1}]


def test_a_soldier_whose_general_is_gone_goes_on_while_its_task_is_in_progress(
    barracks: Barracks, duty: Round
) -> None:
    general, task, wrapper = at_work(barracks)
    barracks.kill(general)
    duty.go_on(GRACE * 10)
    assert is_alive(wrapper)
    assert duty.nothing_told()
    assert len(barracks.sessions()) == 1
    barracks.spawn()
    eventually(lambda: "adopted" in Path(duty.base.tasks_log).read_text(), "it is adopted")
    assert barracks.wrapper(task) == wrapper


@pytest.mark.provokes("soldier.killed", "recovery.session_killed")
def test_one_without_a_task_and_a_general_is_ended_with_all_that_it_started(
    barracks: Barracks, duty: Round
) -> None:
    general, task, wrapper = at_work(barracks)
    soldier = barracks.soldier(task)
    barracks.kill(general)
    taken_away(barracks, task)
    duty.go_on(GRACE - EVERY)
    assert is_alive(wrapper)
    assert duty.nothing_told()
    duty.go_on(EVERY)
    (killed,) = duty.until("soldier.killed")
    assert killed == {"soldier_id": soldier, "reason": REASON.format(task)}
    assert duty.told("recovery.session_killed") == [killed]
    assert not is_alive(wrapper)
    assert barracks.processes(soldier) == set()
    assert barracks.tmux().sessions() == set()
    assert barracks.sessions() == []
    duty.go_on(GRACE)
    assert len(duty.told("soldier.killed")) == 1


def test_one_whose_wrapper_hangs_is_killed(barracks: Barracks, duty: Round) -> None:
    general, task, wrapper = at_work(barracks)
    soldier = barracks.soldier(task)
    barracks.kill(general)
    taken_away(barracks, task)
    os.kill(wrapper, signal.SIGSTOP)
    duty.go_on(GRACE)
    assert is_alive(wrapper)
    duty.go_on(PATIENCE + 1)
    duty.until("soldier.killed")
    assert not is_alive(wrapper)
    assert barracks.processes(soldier) == set()


def test_a_general_that_is_back_sees_to_it_itself(barracks: Barracks, duty: Round) -> None:
    general, task, wrapper = at_work(barracks)
    barracks.kill(general)
    taken_away(barracks, task)
    duty.go_on(GRACE - EVERY)
    again = barracks.spawn()
    eventually(lambda: not is_alive(wrapper), "it ends its leftover")
    duty.go_on(GRACE * 3)
    assert duty.nothing_told()
    assert is_alive(again)


def test_a_machine_that_slept_gives_everyone_time_anew(barracks: Barracks, duty: Round) -> None:
    general, task, wrapper = at_work(barracks)
    barracks.kill(general)
    taken_away(barracks, task)
    for _ in range(3):
        duty.go_on(GRACE - EVERY)
        duty.clock.advance(8 * 3600)
    duty.duty.step()
    assert is_alive(wrapper)
    assert duty.nothing_told()


def test_one_that_no_file_names_is_ended_after_a_while(barracks: Barracks, duty: Round) -> None:
    general, task, wrapper = at_work(barracks)
    soldier = barracks.soldier(task)
    barracks.kill(general)
    attempts.forget(duty.base, soldier)
    Path(duty.base.sessions_file).unlink()
    duty.go_on(GRACE - EVERY)
    assert is_alive(wrapper)
    duty.go_on(EVERY)
    (killed,) = duty.until("recovery.session_killed")
    assert killed == {"soldier_id": soldier, "reason": "orphaned: no file tells whose it is"}
    assert not is_alive(wrapper)


def test_files_of_a_general_that_is_not_installed_go_with_its_soldier(
    barracks: Barracks, duty: Round
) -> None:
    general, task, _ = at_work(barracks)
    barracks.kill(general)
    taken_away(barracks, task)
    package = Path(duty.base.config, "generals", NAME)
    package.rename(Path(duty.base.root, "gone"))
    duty.go_on(GRACE - EVERY)
    duty.config.refresh()  # as the chamberlain does before each round
    duty.go_on(EVERY)
    duty.until("soldier.killed")
    assert barracks.leftovers() == []


@pytest.mark.parametrize("damage", ["", "{}", '[{"id": "../../x", "general": "gen-x"}, 3]', "["])
def test_a_damaged_registry_costs_nothing(base: BaseDir, duty: Round, damage: str) -> None:
    Path(base.sessions_file).write_text(damage)
    duty.go_on(GRACE * 2)
    assert duty.nothing_told()
    assert Path(base.sessions_file).read_text() == damage
