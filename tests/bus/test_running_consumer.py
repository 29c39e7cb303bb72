"""A consumer that already runs, and never calls recover, meets what others leave behind."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New, Problem
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.kingdom import MovableClock, counts, drop, event, files, task
from tests.support.powerloss import as_of_another_boot
from tests.support.scenarios import small_bus

OpenBus = Callable[..., FileBus]


def ids(bus: FileBus, stream: str = "events") -> list[str]:
    return sorted(claim.id for claim in bus.claim(stream, "king", 20))


def test_a_corrected_file_under_the_name_of_a_dead_one_is_handled(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    drop(base, "events/pending", "evt-test-x.json", "{half")
    ids(bus)
    clock.advance(3)
    assert ids(bus) == []
    drop(base, "events/pending", "evt-test-x.json", event("x").to_json())
    bus.publish("events", event("other"))
    assert ids(bus) == ["evt-test-other", "evt-test-x"]
    assert Path(base.path("queue/events/dead/evt-test-x.json")).read_text() == "{half"


def test_garbage_of_the_same_name_does_not_stop_a_publish(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    drop(base, "events/pending", "evt-test-x.json", "{half")
    assert bus.publish("events", event("x")) == [True]
    assert ids(bus) == ["evt-test-x"]
    (claim,) = bus.claim("events", "king", ids=["evt-test-x"]) or [None]  # it is held
    assert claim is None


def test_a_message_dies_where_a_namesake_was_set_aside(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    drop(base, "events/pending", "evt-test-x.json", "{half")
    bus.publish("events", event("x"))
    (claim,) = bus.claim("events", "king")
    bus.bury(claim, Problem("x", "It cannot work."))
    dead = Path(base.path("queue/events/dead"))
    assert json.loads((dead / "evt-test-x.json").read_text())["status"] == "dead"
    assert not (dead / "evt-test-x.json.reason.json").exists()
    assert (dead / "evt-test-x~2.json").read_text() == "{half"
    assert (dead / "evt-test-x~2.json.reason.json").exists()


def test_a_move_that_another_left_half_shown_does_not_stop_the_stream(
    bus: FileBus, base: BaseDir
) -> None:
    bus.publish("events", event("x"))
    (claim,) = bus.claim("events", "king")
    bus.bury(claim, Problem("x", "y"))
    bus.publish("events", event("other"))

    def die_before_unlink(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        if name == "unlink" and "/dead/" in str(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    def retry_and_die() -> None:
        operator = small_bus(base)
        (dead,) = operator.claim("events", "operator", ids=["evt-test-x"])
        with observed(die_before_unlink):
            operator.commit([Move(dead, "pending")])

    assert in_child(retry_and_die) == -9
    assert ids(bus) == ["evt-test-other", "evt-test-x"]
    assert counts(base) == {"events/pending": 2}


def test_a_commit_recorded_by_the_dead_is_not_done_again_while_its_slot_is_adopted(
    bus: FileBus, base: BaseDir
) -> None:
    """A starting process holds the slot's life already, and has not replayed the journal yet."""
    bus.publish("events", event("x"))
    bus.checkpoint()

    def die_before_rename(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        if name == "renameat2":
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    def dispatch_and_die() -> None:
        king = small_bus(base)
        (claim,) = king.claim("events", "king")
        with observed(die_before_rename):
            king.commit([Move(claim, "dispatched")], [New("tasks", task(1))])

    assert in_child(dispatch_and_die) == -9
    starting = os.open(base.path("state/bus/journal/1.life"), os.O_RDWR)
    import fcntl

    fcntl.flock(starting, fcntl.LOCK_EX)
    assert ids(bus) == []
    os.close(starting)
    assert counts(base) == {"events/dispatched": 1, "tasks/pending": 1}


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM])
def test_a_passing_shortage_hides_nothing(base: BaseDir, code: int) -> None:
    small_bus(base).publish("events", *(event(str(n)) for n in range(6)))
    bus = small_bus(base)
    left = 3

    def short(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        nonlocal left
        if name == "open" and "/pending/" in str(arguments[0]):
            left -= 1
            if left == 0:
                raise OSError(code, os.strerror(code))
        return call()

    with observed(short):
        first = ids(bus)
    assert len(first + ids(bus)) == 6
    bus.close()


def test_one_file_the_disk_refuses_costs_that_file(base: BaseDir, clock: MovableClock) -> None:
    bus = small_bus(base, clock)
    bus.publish("events", event("bad"), event("good"))

    def broken(name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        if name == "open" and str(arguments[0]).endswith("pending/evt-test-bad.json"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return call()

    with observed(broken):
        assert ids(bus) == ["evt-test-good"]
        clock.advance(3)
        ids(bus)
    assert files(base)["events/dead"] == ["evt-test-bad"]
    bus.close()


def test_a_clock_put_back_does_not_lose_what_was_due(bus: FileBus, clock: MovableClock) -> None:
    bus.publish("tasks", task(1, not_before=clock.now() + timedelta(seconds=10)))
    clock.advance(11)
    assert bus.wait(["tasks"], 0) == {"tasks"}
    clock.set_wall(clock.now() - timedelta(seconds=5))
    assert ids(bus, "tasks") == []
    clock.set_wall(clock.now() + timedelta(seconds=5))
    assert ids(bus, "tasks") == ["task-20260207-001"]


def test_another_message_dropped_under_a_held_id_is_kept(bus: FileBus, base: BaseDir) -> None:
    drop(base, "tasks/pending", "task-20260207-001.json", task(1).to_json())
    assert ids(bus, "tasks") == ["task-20260207-001"]
    other = task(1, payload={"another": "one"})
    drop(base, "tasks/pending", "task-20260207-001.json", other.to_json())
    assert ids(bus, "tasks") == []
    assert files(base)["tasks/dead"] == ["task-20260207-001"]


def test_what_no_notification_told_of_is_found_at_the_polling_interval(base: BaseDir) -> None:
    bus = FileBus(base)
    assert bus.wait(["events"], 0) == set()
    pending = base.path("queue/events/pending")
    os.rename(pending, base.path("elsewhere"))
    os.mkdir(pending)
    drop(base, "events/pending", "evt-test-1.json", event("1").to_json())
    assert bus.wait(["events"], 0.1) == {"events"}
    bus.close()


def test_what_people_moved_by_hand_stays_so_after_a_clean_stop_and_another_boot(
    base: BaseDir,
) -> None:
    bus = small_bus(base)
    bus.publish("events", event("1"), event("2"))
    bus.commit([Move(claim, "completed") for claim in bus.claim("events", "king", 2)])
    bus.close()
    os.rename(
        base.path("queue/events/completed/evt-test-1.json"),
        base.path("queue/events/pending/evt-test-1.json"),
    )
    os.unlink(base.path("queue/events/completed/evt-test-2.json"))
    as_of_another_boot(base)
    again = small_bus(base)
    again.recover()
    assert counts(base) == {"events/pending": 1}
    again.close()
