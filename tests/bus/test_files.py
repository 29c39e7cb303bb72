"""What is particular to files: leases of dead processes, wake-ups, sequences, what `ls` shows."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.lease import Holder
from kingdom.bus.port import Move, New, Problem
from kingdom.store.paths import BaseDir
from kingdom.store.watch import Watch
from tests.support.calls import in_child, observed
from tests.support.kingdom import MovableClock, counts, drop, event, files, load, result, task
from tests.support.scenarios import small_bus

OpenBus = Callable[..., FileBus]


def test_cat_shows_the_seed_s_form(bus: FileBus, base: BaseDir) -> None:
    bus.publish(
        "events", event("1", repo="querypie/frontend", payload={"title": "한글", "n": None})
    )
    text = Path(base.path("queue/events/pending/evt-test-1.json")).read_text("utf-8")
    assert text.startswith('{\n  "id": "evt-test-1",\n  "type": "github.pr.comment",\n')
    assert '"title": "한글"' in text
    assert list(json.loads(text)) == [
        "id", "type", "source", "repo", "payload", "priority", "created_at", "status",
        "schema_version", "delivery",
    ]  # fmt: skip


def test_a_task_of_a_dead_general_is_taken_over_at_once(base: BaseDir) -> None:
    def work() -> None:
        bus = small_bus(base)
        bus.publish("tasks", task(1))
        bus.claim("tasks", "gen-pr", lease=timedelta(hours=9))

    assert in_child(work) == 0
    assert counts(base) == {"tasks/in_progress": 1}
    bus = small_bus(base)
    (claim,) = bus.claim("tasks", "gen-pr")
    assert claim.taken_over
    assert claim.message.delivery.crash_count == 1
    bus.close()


def test_a_lease_from_another_host_lasts_until_its_time(bus: FileBus, base: BaseDir) -> None:
    elsewhere = Holder("gen-pr", "another-host", "abc.1", 1, 1)
    held = json.loads(task(1).to_json())
    held["delivery"] |= {
        "locked_by": str(elsewhere),
        "locked_until": "2026-02-07T10:00:30.000Z",
    }
    drop(base, "tasks/in_progress", "task-20260207-001.json", json.dumps(held))
    assert bus.claim("tasks", "gen-pr") == []


def test_a_late_but_living_holder_that_is_committing_is_left_alone(
    open_bus: OpenBus, clock: MovableClock, base: BaseDir
) -> None:
    """Its record may be in the journal already; whoever took the message now would double it."""
    clock_of_child = MovableClock()
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        bus = small_bus(base, clock_of_child)
        bus.publish("tasks", task(1))
        (claim,) = bus.claim("tasks", "gen-pr", lease=timedelta(seconds=30))

        def stall(name: str, arguments: object, call: Callable[[], object]) -> object:
            if name == "fdatasync":
                os.write(ready_write, b".")
                os.read(go_read, 1)
            return call()

        with observed(stall):
            bus.commit([Move(claim, "completed")], [New("results", result(1))])
        os._exit(0)
    os.read(ready_read, 1)
    bus = open_bus()
    clock.advance(60)
    claims = bus.claim("tasks", "gen-pr", 1)
    os.write(go_write, b".")
    assert os.waitpid(child, 0)[1] == 0
    assert claims == []
    assert counts(base) == {"tasks/completed": 1, "results": 1}
    for descriptor in (ready_read, ready_write, go_read, go_write):
        os.close(descriptor)


def test_arrival_wakes_a_waiting_process(base: BaseDir) -> None:
    """The other one publishes only when this one is known to wait; no clock is asked."""
    bus = FileBus(base)
    bus.wait(["events"], 0)

    def publish() -> None:
        other = FileBus(base)
        other.publish("events", event("1"))
        other.close()

    thread = threading.Timer(0.05, publish)
    thread.start()
    assert bus.wait(["events"], 60) == {"events"}
    thread.join()
    bus.close()


def test_a_file_moved_in_by_hand_wakes_too(base: BaseDir) -> None:
    bus = FileBus(base)
    bus.wait(["events"], 0)
    thread = threading.Timer(
        0.05, lambda: drop(base, "events/pending", "evt-test-1.json", event("1").to_json())
    )
    thread.start()
    assert bus.wait(["events"], 60) == {"events"}
    thread.join()
    bus.close()


def test_a_consumer_without_notifications_finds_everything_by_looking(
    bus: FileBus, clock: MovableClock, base: BaseDir
) -> None:
    assert bus.claim("events", "king") == []
    bus._view.watch.close()
    clock.advance(1)
    drop(base, "events/pending", "evt-test-1.json", event("1").to_json())
    assert len(bus.claim("events", "king")) == 1
    clock.advance(1)
    assert bus.claim("events", "king") == []
    bus.publish("events", event("2"))
    clock.advance(1)
    assert len(bus.claim("events", "king")) == 1


def test_lost_notifications_are_made_up_for_by_looking(bus: FileBus, base: BaseDir) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    assert bus.claim("events", "king") == []
    noise = Path(base.path("queue/events/pending/noise"))
    for _ in range(limit // 3 + 10):  # each makes three notifications that differ from the last
        noise.touch()
        noise.unlink()
    drop(base, "events/pending", "evt-test-1.json", event("1").to_json())
    assert [claim.id for claim in bus.claim("events", "king")] == ["evt-test-1"]


def test_a_swap_of_two_names_is_not_taken_for_a_departure(scratch: Path) -> None:
    watch = Watch()
    (scratch / "one").touch()
    (scratch / "in").mkdir()
    (scratch / "in" / "two").touch()
    watch.add(str(scratch / "in"))
    from kingdom.store import disk

    disk.exchange(str(scratch / "one"), str(scratch / "in" / "two"))
    assert watch.changes() == [(str(scratch / "in"), "two")]
    watch.close()


@pytest.mark.parametrize("damage", [None, "", "nonsense", "20269999:001\n", "\0\0\0"])
def test_a_damaged_sequence_is_rebuilt_from_the_highest_id(
    bus: FileBus, base: BaseDir, damage: str | None
) -> None:
    bus.publish("tasks", task(7), task(1234))
    bus.publish("results", result(9))
    path = Path(base.path("state/king/task-seq"))
    if damage is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(damage)
    assert bus.next_id("task") == "task-20260207-1235"
    assert path.read_text() == "20260207:1235\n"


def test_the_date_of_an_id_is_that_of_the_kingdom_s_zone(
    open_bus: OpenBus, clock: MovableClock
) -> None:
    clock.set_wall(datetime(2026, 2, 7, 23, 30, tzinfo=UTC))
    assert open_bus().next_id("task") == "task-20260207-001"
    assert open_bus(zone=ZoneInfo("Asia/Seoul")).next_id("task") == "task-20260208-001"
    assert open_bus().next_id("task") == "task-20260208-002"


def test_a_new_day_starts_at_one_and_the_file_stays_readable(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    assert bus.next_ids("msg", 1200)[-1] == "msg-20260207-1200"
    clock.advance(86400)
    assert bus.next_id("msg") == "msg-20260208-001"
    assert bus.next_id("msg") == "msg-20260208-002"


def test_pruning_reaches_what_a_living_process_still_has_in_its_journal(
    open_bus: OpenBus, base: BaseDir, clock: MovableClock
) -> None:
    """Otherwise that one's crash would bring the pruned message back to life."""
    clock.set_wall(clock.now() + timedelta(days=400))
    other, bus = open_bus(), open_bus()
    other.publish("events", event("1"))
    (claim,) = other.claim("events", "king")
    other.commit([Move(claim, "completed")])
    clock.advance(86400)
    assert bus.prune("events", clock.now()) == 1
    other.close()
    for journal in Path(base.path("state/bus/journal")).glob("*.journal"):
        data = journal.read_bytes()
        journal.write_bytes(data.replace(b"process=", b"process=x", 1)[: len(data)])
    third = open_bus()
    third.recover()
    assert files(base) == {}


def test_a_claim_held_while_another_makes_all_safe_can_still_be_committed(
    open_bus: OpenBus, base: BaseDir
) -> None:
    holder, other = open_bus(), open_bus()
    holder.publish("events", event("1"), event("2"))
    first, second = holder.claim("events", "king", 2)
    with other.quiet():
        pass
    holder.commit([Move(first, "completed")])
    holder.retry(second, Problem("network", "The line went dead."))
    assert counts(base) == {"events/pending": 1, "events/completed": 1}


def test_a_claim_extended_for_hours_leaves_one_old_version(bus: FileBus, base: BaseDir) -> None:
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    for _ in range(20):
        claim = bus.extend(claim, timedelta(seconds=60))
    assert len(os.listdir(base.path("state/bus/attic/0"))) == 1
    bus.commit([Move(claim, "completed")])
    assert os.listdir(base.path("state/bus/attic/0")) == []


def test_what_a_person_removed_does_not_come_back_when_its_worker_dies(base: BaseDir) -> None:
    def work() -> None:
        bus = small_bus(base)
        bus.publish("tasks", task(1))
        bus.claim("tasks", "gen-pr")

    assert in_child(work) == 0
    os.unlink(base.path("queue/tasks/in_progress/task-20260207-001.json"))
    bus = small_bus(base)
    bus.recover()
    assert files(base) == {}
    bus.close()


def test_without_syncs_a_killed_process_still_leaves_whole_commits(base: BaseDir) -> None:
    def work() -> None:
        bus = small_bus(base, durable=False)
        bus.publish("tasks", task(1))
        (claim,) = bus.claim("tasks", "gen-pr")
        bus.commit([Move(claim, "completed")], [New("results", result(1))])

    calls: list[str] = []

    def note(name: str, arguments: object, call: Callable[[], object]) -> object:
        calls.append(name)
        return call()

    with observed(note):
        work()
    assert counts(base) == {"tasks/completed": 1, "results": 1}
    assert not {"fsync", "fdatasync", "syncfs"} & set(calls[calls.index("renameat2") :])


def test_nothing_grows_while_work_flows(base: BaseDir, clock: MovableClock) -> None:
    bus = small_bus(base, clock)
    for number in range(300):
        bus.publish("tasks", task(number))
        (claim,) = bus.claim("tasks", "gen-pr")
        bus.commit([Move(claim, "completed")])
    bus.checkpoint()
    assert os.listdir(base.path("state/bus/tmp")) == []
    assert os.listdir(base.path("state/bus/attic/0")) == []
    assert Path(base.path("state/bus/journal/0.journal")).stat().st_size == 64 * 1024
    bus.close()


def test_threads_of_one_process_share_a_bus(bus: FileBus, base: BaseDir) -> None:
    def publish(start: int) -> None:
        for number in range(start, start + 50):
            bus.publish("events", event(str(number)))

    threads = [threading.Thread(target=publish, args=(start,)) for start in (0, 25, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(base) == {"events/pending": 100}
    assert load(base, "events/pending", "evt-test-99")["delivery"]["revision"] == 1


def test_what_is_held_is_only_for_the_owner_s_eyes(base: BaseDir) -> None:
    """Also where a backup was restored, and of actions that are held."""
    for place in ("queue/messages/held", "state/results/held"):
        Path(base.path(place)).mkdir(parents=True, mode=0o755)
    FileBus(base).close()
    for place in ("queue/messages/held", "state/results/held"):
        assert Path(base.path(place)).stat().st_mode & 0o777 == 0o700
    assert Path(base.path("queue/messages")).stat().st_mode & 0o777 == 0o755  # a start sees to it
