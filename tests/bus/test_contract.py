"""What every adapter of the port promises. Tests know the bus only through its verbs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from kingdom.bus.backoff import Backoff, Policy
from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move, New, Problem
from kingdom.errors import LeaseLost, NeverWorks
from kingdom.models.base import Record
from tests.support.kingdom import MovableClock, event, message, result, task

OpenBus = Callable[..., FileBus]
FAULT = Problem("network", "The line went dead.")


def ids(claims: list[Claim]) -> list[str]:
    return [claim.id for claim in claims]


def test_publish_says_whether_an_id_is_new(bus: FileBus) -> None:
    assert bus.publish("events", event("1"), event("2")) == [True, True]
    assert bus.publish("events", event("2"), event("3")) == [False, True]


def test_an_id_stays_known_wherever_the_message_went(bus: FileBus) -> None:
    bus.publish("events", event("1"), event("2"))
    done, buried = bus.claim("events", "king", 2)
    bus.commit([Move(done, "dispatched")])
    bus.bury(buried, FAULT)
    assert bus.publish("events", event("1"), event("2")) == [False, False]


def test_claims_come_by_priority_then_age_then_number(bus: FileBus, clock: MovableClock) -> None:
    later = clock.now() + timedelta(milliseconds=1)
    bus.publish("tasks", task(1000), task(3), task(2, created_at=later), task(20))
    bus.publish("tasks", task(4, priority="low"), task(5, priority="high", created_at=later))
    wanted = [5, 3, 20, 1000, 2, 4]
    assert ids(bus.claim("tasks", "gen-pr", 10)) == [f"task-20260207-{n:03d}" for n in wanted]


def test_a_general_sees_only_its_own_tasks(open_bus: OpenBus) -> None:
    bus = open_bus(general="gen-test")
    bus.publish("tasks", task(1), task(2, target_general="gen-test"))
    assert ids(bus.claim("tasks", "gen-test", 5)) == ["task-20260207-002"]


def test_nobody_claims_what_another_holds(open_bus: OpenBus) -> None:
    first, second = open_bus(), open_bus()
    first.publish("events", event("1"))
    assert len(first.claim("events", "king")) == 1
    assert second.claim("events", "king") == []
    assert second.claim("events", "king", ids=["evt-test-1"]) == []


def test_a_lease_that_ran_out_is_taken_over_and_counted(
    open_bus: OpenBus, clock: MovableClock
) -> None:
    first, second = open_bus(), open_bus()
    first.publish("tasks", task(1))
    (old,) = first.claim("tasks", "gen-pr", lease=timedelta(seconds=30))
    clock.advance(31)
    (new,) = second.claim("tasks", "gen-pr")
    assert new.taken_over
    assert new.message.delivery.crash_count == 1
    with pytest.raises(LeaseLost):
        first.commit([Move(old, "completed")])
    with pytest.raises(LeaseLost):
        first.extend(old, timedelta(seconds=30))
    second.commit([Move(new, "completed")])


def test_an_extended_lease_lasts_longer(open_bus: OpenBus, clock: MovableClock) -> None:
    first, second = open_bus(), open_bus()
    first.publish("tasks", task(1))
    (claim,) = first.claim("tasks", "gen-pr", lease=timedelta(seconds=30))
    clock.advance(20)
    claim = first.extend(claim, timedelta(seconds=30))
    clock.advance(20)
    assert second.claim("tasks", "gen-pr") == []
    first.commit([Move(claim, "completed")])


def test_an_older_claim_is_refused_after_an_extend(bus: FileBus) -> None:
    bus.publish("tasks", task(1))
    (old,) = bus.claim("tasks", "gen-pr")
    bus.extend(old, timedelta(seconds=60))
    with pytest.raises(LeaseLost):
        bus.commit([Move(old, "completed")])


def test_a_commit_moves_and_makes_in_one_step(bus: FileBus) -> None:
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    answers = bus.commit(
        [Move(claim, "completed", "needs_human", {"retry_count": 2})],
        [New("results", result(1)), New("messages", message(1))],
    )
    assert answers == [True, True]
    (found,) = bus.claim("results", "king")
    assert found.id == "task-20260207-001"
    assert bus.claim("tasks", "gen-pr") == []


def test_one_lost_claim_fails_the_whole_commit(open_bus: OpenBus, clock: MovableClock) -> None:
    first, second = open_bus(), open_bus()
    first.publish("events", event("1"), event("2"))
    lost, kept = first.claim("events", "king", 2, lease=timedelta(seconds=5))
    kept = first.extend(kept, timedelta(seconds=100))
    clock.advance(6)
    second.claim("events", "king")
    with pytest.raises(LeaseLost):
        first.commit([Move(kept, "dispatched"), Move(lost, "dispatched")], [New("tasks", task(1))])
    assert second.claim("tasks", "gen-pr") == []
    first.commit([Move(kept, "dispatched")])


def test_a_status_the_state_does_not_know_is_a_programming_error(bus: FileBus) -> None:
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    with pytest.raises(ValueError, match="knows completed"):
        bus.commit([Move(claim, "completed", "sent")])


def test_a_retry_waits_longer_each_time_and_ends_dead(
    open_bus: OpenBus, clock: MovableClock
) -> None:
    policy = Policy(max_attempts=3, backoff=Backoff(jitter=0))
    bus = open_bus(policies={"messages": policy})
    bus.publish("messages", message(1))
    for wait in (1, 2):
        (claim,) = bus.claim("messages", "envoy")
        assert bus.retry(claim, FAULT) == "pending"
        clock.advance(wait - 0.1)
        assert bus.claim("messages", "envoy") == []
        clock.advance(0.1)
    (claim,) = bus.claim("messages", "envoy")
    assert claim.message.delivery.last_error_code == "network"
    assert bus.retry(claim, FAULT) == "dead"
    assert bus.stats()["messages"].dead == 1


def test_a_deferred_message_waits_and_no_attempt_is_counted(
    bus: FileBus, clock: MovableClock
) -> None:
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    bus.defer(claim, clock.now() + timedelta(hours=1), "The engine rests until 11:00.")
    assert bus.claim("tasks", "gen-pr") == []
    clock.advance(3600)
    (claim,) = bus.claim("tasks", "gen-pr")
    assert claim.message.delivery.attempt_count == 0
    assert claim.message.delivery.crash_count == 0


def test_a_task_waits_for_its_not_before(bus: FileBus, clock: MovableClock) -> None:
    bus.publish("tasks", task(1, not_before=clock.now() + timedelta(seconds=5)))
    assert bus.claim("tasks", "gen-pr") == []
    clock.advance(5)
    assert len(bus.claim("tasks", "gen-pr")) == 1


def test_what_kills_its_handler_again_and_again_is_buried(
    open_bus: OpenBus, clock: MovableClock
) -> None:
    bus = open_bus(policies={"events": Policy(max_crashes=2)})
    bus.publish("events", event("1"), event("2"))
    for _ in range(3):
        bus.claim("events", "king", ids=["evt-test-1"], lease=timedelta(seconds=1))
        clock.advance(2)
    assert ids(bus.claim("events", "king", 5)) == ["evt-test-2"]
    assert bus.stats()["events"].dead == 1


def test_messages_of_one_task_keep_their_order(bus: FileBus, clock: MovableClock) -> None:
    for number in (1, 2, 3):
        bus.publish("messages", message(number, task_id="task-20260207-001"))
    bus.publish("messages", message(4, task_id="task-20260207-002"), message(5))
    first, other, free = bus.claim("messages", "envoy", 10)
    assert ids([first, other, free]) == [f"msg-20260207-{n:03d}" for n in (1, 4, 5)]
    bus.retry(first, FAULT)
    assert bus.claim("messages", "envoy", 10) == []
    clock.advance(2)
    (first,) = bus.claim("messages", "envoy", 10)
    bus.commit([Move(first, "sent")])
    assert ids(bus.claim("messages", "envoy", 10)) == ["msg-20260207-002"]


def test_a_dead_message_does_not_block_its_thread_for_ever(bus: FileBus) -> None:
    for number in (1, 2):
        bus.publish("messages", message(number, task_id="task-20260207-001"))
    (first,) = bus.claim("messages", "envoy", 10)
    bus.bury(first, FAULT)
    assert ids(bus.claim("messages", "envoy", 10)) == ["msg-20260207-002"]


def test_urgent_messages_overtake_other_threads(bus: FileBus) -> None:
    bus.publish("messages", message(1), message(2, urgency="urgent"), message(3, urgency="high"))
    order = ids(bus.claim("messages", "envoy", 3))
    assert order == [f"msg-20260207-{n:03d}" for n in (2, 3, 1)]


def test_a_result_is_handled_once_and_stays(bus: FileBus) -> None:
    bus.publish("results", result(1))
    (claim,) = bus.claim("results", "king")
    bus.commit([Move(claim, "handled")])
    assert bus.claim("results", "king") == []
    assert bus.publish("results", result(1)) == [False]


def test_ids_are_never_given_twice_even_between_processes(open_bus: OpenBus) -> None:
    first, second = open_bus(), open_bus()
    given = [bus.next_id(kind) for bus in (first, second, first) for kind in ("task", "msg")]
    assert given == [
        f"{kind}-20260207-{number:03d}" for number in (1, 2, 3) for kind in ("task", "msg")
    ]


def test_the_date_in_an_id_never_goes_back(bus: FileBus, clock: MovableClock) -> None:
    assert bus.next_id("task") == "task-20260207-001"
    clock.set_wall(clock.now() - timedelta(days=2))
    assert bus.next_id("task") == "task-20260207-002"
    clock.set_wall(clock.now() + timedelta(days=3))
    assert bus.next_id("task") == "task-20260208-001"


def test_stats_count_and_tell_the_oldest(bus: FileBus, clock: MovableClock) -> None:
    bus.publish("tasks", task(1), task(2), task(3))
    bus.claim("tasks", "gen-pr")
    clock.advance(7)
    found = bus.stats()["tasks"]
    assert (found.pending, found.processing, found.dead) == (2, 1, 0)
    assert found.oldest_pending_seconds == 7


def test_pruning_forgets_what_ended_before(bus: FileBus, clock: MovableClock) -> None:
    clock.set_wall(clock.now() + timedelta(days=400))  # mtimes are of today, whenever that is
    bus.publish("messages", message(1), message(2))
    (claim,) = bus.claim("messages", "envoy")
    bus.commit([Move(claim, "sent")])
    assert bus.prune("messages", clock.now()) == 0
    clock.advance(86400)
    assert bus.prune("messages", clock.now()) == 1
    assert bus.publish("messages", message(1), message(2)) == [True, False]


def test_wait_returns_what_is_due_at_once_and_otherwise_in_time(bus: FileBus) -> None:
    assert bus.wait(["events", "messages"], 0) == set()
    bus.publish("messages", message(1))
    assert bus.wait(["events", "messages"], 60) == {"messages"}


def test_wake_ends_a_wait(bus: FileBus) -> None:
    bus.wake()
    assert bus.wait(["events"], 60) == set()


def test_a_claim_by_name_finds_a_message_in_any_state(bus: FileBus) -> None:
    bus.publish("events", event("1"))
    (claim,) = bus.claim("events", "king")
    bus.commit([Move(claim, "dispatched", fields={"task_id": "task-20260207-001"})])
    (claim,) = bus.claim("events", "king", ids=["evt-test-1", "evt-unknown"])
    assert claim.state == "dispatched"
    bus.commit([Move(claim, "completed", "failed", {"reason": "no luck"})])
    assert bus.claim("events", "king") == []


def test_a_claim_by_name_takes_what_was_judged_or_nothing(open_bus: OpenBus) -> None:
    first, second = open_bus(), open_bus()
    first.publish("events", event("1"), event("2"))
    seen: list[tuple[str, str]] = []

    def judge(state: str, message: Record) -> None:
        seen.append((state, message.id))
        if message.id == "evt-test-2":
            raise NeverWorks("Not this one.")
        if len(seen) == 1:
            (claim,) = second.claim("events", "king", ids=["evt-test-1"])
            second.commit([Move(claim, "dispatched")])

    assert first.claim("events", "operator", ids=["evt-test-1"], judge=judge) == []
    with pytest.raises(NeverWorks):
        first.claim("events", "operator", ids=["evt-test-1", "evt-test-2"], judge=judge)
    assert len(second.claim("events", "king", ids=["evt-test-1", "evt-test-2"])) == 2
    assert seen == [
        ("pending", "evt-test-1"), ("dispatched", "evt-test-1"), ("pending", "evt-test-2"),
    ]  # fmt: skip


def test_who_lives_to_renew_a_lease_clears_the_message_of_crashes(
    open_bus: OpenBus, clock: MovableClock
) -> None:
    first = open_bus()
    first.publish("tasks", task(1))
    first.claim("tasks", "gen-pr", lease=timedelta(seconds=1))
    clock.advance(2)
    (claim,) = open_bus().claim("tasks", "gen-pr", ids=["task-20260207-001"])
    assert claim.message.delivery.crash_count == 1
    second = open_bus()
    clock.advance(120)
    (claim,) = second.claim("tasks", "gen-pr")
    assert claim.message.delivery.crash_count == 2
    renewed = second.extend(claim, timedelta(seconds=60))
    assert renewed.message.delivery.crash_count == 0
