"""Where an attempt wrote its own result goes with its task, and never by way of a link."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from kingdom.bus.port import Problem
from kingdom.chamberlain.duty import Office
from kingdom.runtime import held_actions
from kingdom.runtime.held_actions import HeldActions
from kingdom.store.paths import BaseDir
from tests.chamberlain.test_cleaning import end, tidy
from tests.support.household import write
from tests.support.kingdom import MovableClock, counts, message, result, task

DAY = timedelta(days=1)
OF_1 = "state/results/task-20260207-001-raw-soldier-1-101"


def test_it_goes_with_the_result_of_its_task(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    left = write(base, f"{OF_1}/result.json", clock.now() - 20 * DAY)
    end(office, "results", result(1))
    clock.advance(6 * 86_400)
    tidy(office)
    assert left.exists(), "the result is young"
    clock.advance(2 * 86_400)
    assert tidy(office)["results"].count == 2
    assert os.listdir(base.results) == ["dead"]


def test_an_empty_one_goes_too(office: Office, base: BaseDir, clock: MovableClock) -> None:
    write(base, f"{OF_1}/result.json", clock.now()).unlink()
    os.utime(base.path(OF_1), (clock.now().timestamp(),) * 2)
    clock.advance(8 * 86_400)
    assert tidy(office, dry=True)["results"].count == 1
    assert tidy(office)["results"].count == 1
    assert not os.path.exists(base.path(OF_1))


def test_it_stays_while_anything_in_it_is_young_or_its_task_is_not_done(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    office.bus.publish("tasks", task(2))
    needed = write(base, f"{OF_1.replace('001', '002')}/result.json", clock.now())
    write(base, f"{OF_1}/result.json", clock.now())
    deep = write(base, f"{OF_1}/more/notes.txt", clock.now() + 5 * DAY)
    for path in (OF_1, f"{OF_1}/more"):
        os.utime(base.path(path), (clock.now().timestamp(),) * 2)
    clock.advance(9 * 86_400)
    assert tidy(office)["results"].count == 0
    assert deep.exists()
    clock.advance(4 * 86_400)
    assert tidy(office)["results"].count == 2
    assert not os.path.exists(base.path(OF_1))
    assert needed.exists()


def test_a_link_is_never_followed(
    office: Office, base: BaseDir, clock: MovableClock, scratch: Path
) -> None:
    mine = write(base, "memory/shared/mine.md", clock.now())
    write(base, f"{OF_1}/result.json", clock.now())
    Path(base.path(OF_1), "inside").symlink_to(mine.parent)
    beside = Path(base.path("state/results/task-20260207-003-raw-soldier-3-101"))
    beside.symlink_to(mine.parent)
    for path in (Path(base.path(OF_1)), Path(base.path(OF_1), "inside"), beside):
        os.utime(path, (clock.now().timestamp(),) * 2, follow_symlinks=False)
    clock.advance(8 * 86_400)
    tidy(office)
    assert mine.exists()
    assert not os.path.exists(base.path(OF_1))
    assert beside.is_symlink()


def test_what_is_held_keeps_its_task_and_goes_after_its_own_days(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    end(office, "tasks", task(1))
    end(office, "results", result(1))
    found = HeldActions("task-20260207-001", "soldier-1", (), [], {})
    held_actions.write(base, found, clock.now())
    path = Path(held_actions.directory(base), "task-20260207-001.json")
    office.bus.publish("messages", message(1))
    (claim,) = office.bus.claim("messages", "envoy")
    office.bus.hold(claim, Problem("outbound_held", "A token in content."))
    for one in (path, Path(base.path("queue/messages/held/msg-20260207-001.json"))):
        os.utime(one, (clock.now().timestamp(),) * 2)
    clock.advance(29 * 86_400)
    tidy(office)
    assert path.exists()
    assert counts(base) == {"messages/held": 1, "tasks/completed": 1, "results": 1}
    clock.advance(2 * 86_400)
    gone = tidy(office)
    assert (gone["held"].count, gone["held actions"].count) == (1, 1)
    tidy(office)
    assert counts(base) == {}
