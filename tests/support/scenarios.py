"""One scenario for each verb: what was there, what is done, and what may be true afterwards.

`prepare` runs undisturbed, `act` is crashed at every point, `judge` looks at the directories after
recovery and is told whether `act` had returned. It may not assume when the crash came.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New, Problem
from kingdom.errors import TryLater
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.full_disk import FailingOnce
from tests.support.kingdom import MovableClock, drop, event, files, message, result, task

FAULT = Problem("network", "The line went dead.")
ONE = "task-20260207-001"


@dataclass(frozen=True)
class Scenario:
    name: str
    prepare: Callable[[FileBus], Any]
    act: Callable[[FileBus, Any, MovableClock], Any]
    judge: Callable[[BaseDir, bool], None]


def nothing(bus: FileBus) -> None:
    bus.publish("messages", message(99))  # something that must survive everything


def claimed(bus: FileBus) -> Any:
    nothing(bus)
    bus.publish("tasks", task(1))
    return bus.claim("tasks", "gen-pr")[0]


def safely_claimed(bus: FileBus) -> Any:
    """Everything so far is on disk, and in no journal."""
    claim = claimed(bus)
    bus.checkpoint()
    return claim


def one_of(found: dict[str, list[str]], stream: str, id_: str) -> str:
    (place,) = [p for p, names in found.items() if p.split("/")[0] == stream and id_ in names]
    return place


def survivor(base: BaseDir) -> dict[str, list[str]]:
    found = files(base)
    assert one_of(found, "messages", "msg-20260207-099") == "messages/pending"
    return found


def published(base: BaseDir, returned: bool) -> None:
    names = survivor(base).get("events/pending", [])
    assert names in ([], ["evt-test-1"])
    assert names or not returned


def batch(base: BaseDir, returned: bool) -> None:
    """A batch is one commit: all of it or none."""
    names = survivor(base).get("events/pending", [])
    assert len(names) in (0, 5)
    assert names or not returned


def still_there(base: BaseDir, returned: bool) -> None:
    assert one_of(survivor(base), "tasks", ONE) in ("tasks/pending", "tasks/in_progress")


def all_or_nothing(base: BaseDir, returned: bool) -> None:
    found = survivor(base)
    finished = one_of(found, "tasks", ONE) == "tasks/completed"
    assert found.get("results", []) == ([ONE] if finished else [])
    assert ("msg-20260207-001" in found["messages/pending"]) == finished
    assert finished or not returned


def back_or_held(base: BaseDir, returned: bool) -> None:
    place = one_of(survivor(base), "tasks", ONE)
    assert place in ("tasks/pending", "tasks/in_progress")
    assert place == "tasks/pending" or not returned


def dead_or_held(base: BaseDir, returned: bool) -> None:
    place = one_of(survivor(base), "tasks", ONE)
    assert place in ("tasks/dead", "tasks/in_progress", "tasks/pending")  # a claim needs no sync
    assert place == "tasks/dead" or not returned


def message_waits(base: BaseDir, returned: bool) -> None:
    assert survivor(base)["messages/pending"] == ["msg-20260207-001", "msg-20260207-099"]


def complete(bus: FileBus, claim: Any, clock: MovableClock) -> None:
    bus.commit([Move(claim, "completed")], [New("results", result(1)), New("messages", message(1))])


def one_message(bus: FileBus) -> None:
    nothing(bus)
    bus.publish("messages", message(1, urgency="urgent"))


def dies_committing(bus: FileBus, shown: int) -> None:
    """A process dies in a commit of which so many files are shown, and leaves all its mess."""
    nothing(bus)
    bus.publish("tasks", task(1))
    left = shown

    def at_rename(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        nonlocal left
        if name in ("renameat2", "link"):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return call()

    def die() -> None:
        other = small_bus(bus.base)
        (claim,) = other.claim("tasks", "gen-pr")
        with observed(at_rename):
            complete(other, claim, MovableClock())

    assert in_child(die) == -9


def refused_and_again(stream: str, failing: Callable[[], FailingOnce], **options: Any) -> Any:
    """A claim that is undone, and then one that is not: the same files under the same names."""

    def act(bus: FileBus, _: Any, clock: MovableClock) -> None:
        with observed(failing()), suppress(TryLater):
            raise AssertionError(f"not refused: {bus.claim(stream, 'first', **options)}")
        clock.advance(1)
        assert bus.claim(stream, "again", **options)

    return act


def small_bus(base: BaseDir, clock: MovableClock | None = None, **options: Any) -> FileBus:
    """With a journal that is quick to make."""
    return FileBus(base, clock=clock or MovableClock(), journal_bytes=64 * 1024, **options)


def prunable(bus: FileBus) -> Any:
    nothing(bus)
    bus.publish("tasks", task(1), task(2))
    (claim,) = bus.claim("tasks", "gen-pr")
    bus.commit([Move(claim, "completed")])
    os.utime(bus.base.path("queue/tasks/completed", f"{ONE}.json"), (0, 0))


def pruned(base: BaseDir, returned: bool) -> None:
    found = survivor(base)
    assert found["tasks/pending"] == ["task-20260207-002"]
    assert found.get("tasks/completed", []) in ([], [ONE])  # forgetting is not promised to last


def damaged(bus: FileBus) -> None:
    nothing(bus)
    drop(bus.base, "events/pending", "evt-bad.json", "{not json")


def condemn(bus: FileBus, _: Any, clock: MovableClock) -> None:
    bus.claim("events", "king")
    clock.advance(3)
    bus.claim("events", "king")


def condemned(base: BaseDir, returned: bool) -> None:
    survivor(base)
    places = [place for place, names in files(base).items() if "evt-bad" in names]
    assert places in (["events/pending"], ["events/dead"])
    if places == ["events/dead"]:
        assert Path(base.path("queue/events/dead/evt-bad.json.reason.json")).exists()
    assert places == ["events/dead"] or not returned


def numbers(bus: FileBus, _: Any, clock: MovableClock) -> None:
    Path(bus.base.path("given")).write_text(bus.next_id("task"))


def never_twice(base: BaseDir, returned: bool) -> None:
    survivor(base)
    bus = small_bus(base)
    given = Path(base.path("given"))
    assert bus.next_id("task") > (given.read_text() if given.exists() else "")
    bus.close()


SCENARIOS = [
    Scenario("publish", nothing, lambda bus, _, c: bus.publish("events", event("1")), published),
    Scenario(
        "publish_many",
        nothing,
        lambda bus, _, c: bus.publish("events", *(event(str(n)) for n in range(5))),
        batch,
    ),
    Scenario(
        "publish_again",
        lambda bus: (nothing(bus), bus.publish("events", event("1"))),
        lambda bus, _, c: bus.publish("events", event("1")),
        published,
    ),
    Scenario(
        "claim",
        lambda bus: (nothing(bus), bus.publish("tasks", task(1))),
        lambda bus, _, c: bus.claim("tasks", "gen-pr"),
        still_there,
    ),
    Scenario(
        "claim_in_place",
        one_message,
        lambda bus, _, c: bus.claim("messages", "envoy"),
        message_waits,
    ),
    Scenario(
        "claim_what_is_safe",
        lambda bus: (nothing(bus), bus.publish("tasks", task(1)), bus.checkpoint()),
        lambda bus, _, c: bus.claim("tasks", "gen-pr"),
        still_there,
    ),
    Scenario(
        "claim_in_place_what_is_safe",
        lambda bus: (one_message(bus), bus.checkpoint()),
        lambda bus, _, c: bus.claim("messages", "envoy"),
        message_waits,
    ),
    Scenario(
        "claim_half_done_and_undone",
        lambda bus: (nothing(bus), bus.publish("tasks", task(1)), bus.checkpoint()),
        refused_and_again("tasks", lambda: FailingOnce("renameat2", 2)),
        still_there,
    ),
    Scenario(
        "claim_done_and_undone",
        lambda bus: (nothing(bus), bus.publish("tasks", task(1)), bus.checkpoint()),
        refused_and_again("tasks", lambda: FailingOnce("flock", 2)),  # unlocking, last of all
        still_there,
    ),
    Scenario(
        "claim_in_place_half_done_and_undone",
        lambda bus: (one_message(bus), bus.checkpoint()),
        refused_and_again("messages", lambda: FailingOnce("renameat2", 2)),
        message_waits,
    ),
    Scenario(
        "claim_in_place_done_and_undone",
        lambda bus: (one_message(bus), bus.checkpoint()),
        refused_and_again("messages", lambda: FailingOnce("flock", 2)),
        message_waits,
    ),
    Scenario(
        "claim_of_named_ones_undone",
        one_message,
        refused_and_again(
            "messages",
            lambda: FailingOnce("renameat2", 4),
            ids=["msg-20260207-001", "msg-20260207-099"],
        ),
        message_waits,
    ),
    Scenario(
        "extend_what_is_safe",
        safely_claimed,
        lambda bus, claim, c: bus.extend(claim, timedelta(seconds=90)),
        still_there,
    ),
    Scenario(
        "commit_after_extending",
        lambda bus: bus.extend(safely_claimed(bus), timedelta(seconds=90)),
        lambda bus, claim, c: complete(bus, claim, c),
        all_or_nothing,
    ),
    Scenario(
        "extend",
        claimed,
        lambda bus, claim, c: bus.extend(claim, timedelta(seconds=90)),
        still_there,
    ),
    Scenario("commit", claimed, complete, all_or_nothing),
    Scenario("retry", claimed, lambda bus, claim, c: bus.retry(claim, FAULT), back_or_held),
    Scenario(
        "retry_in_place",
        lambda bus: (one_message(bus), bus.claim("messages", "envoy")[0])[1],
        lambda bus, claim, c: bus.retry(claim, FAULT),
        message_waits,
    ),
    Scenario(
        "defer",
        claimed,
        lambda bus, claim, c: bus.defer(claim, c.now() + timedelta(hours=1), "later"),
        back_or_held,
    ),
    Scenario("bury", claimed, lambda bus, claim, c: bus.bury(claim, FAULT), dead_or_held),
    Scenario(
        "recover",
        lambda bus: dies_committing(bus, 1),
        lambda bus, _, c: bus.recover(),
        all_or_nothing,
    ),
    Scenario(
        "take_over",
        lambda bus: dies_committing(bus, 0),
        lambda bus, _, c: bus.claim("tasks", "gen-pr"),
        all_or_nothing,
    ),
    Scenario(
        "checkpoint_of_a_little", one_message, lambda bus, _, c: bus.checkpoint(), message_waits
    ),
    Scenario("checkpoint", claimed, lambda bus, _, c: bus.checkpoint(), still_there),
    Scenario(
        "prune",
        prunable,
        lambda bus, _, c: bus.prune("tasks", c.now() + timedelta(days=1)),
        pruned,
    ),
    Scenario("condemn", damaged, condemn, condemned),
    Scenario("next_id", nothing, numbers, never_twice),
]
