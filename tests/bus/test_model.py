"""Random sequences of operations, checked against a model that is only dictionaries."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from kingdom.bus.backoff import Backoff, Policy
from kingdom.bus.port import Claim, Move, New, Problem
from kingdom.errors import LeaseLost
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock, drop, files, message, result, task
from tests.support.promises import check_directories
from tests.support.scenarios import small_bus

LEASE = timedelta(seconds=30)
RANK = {"high": 0, "normal": 1, "low": 2}
FAULT = Problem("network", "The line went dead.")
POLICY = Policy(max_attempts=3, max_crashes=2, lease=LEASE, backoff=Backoff(jitter=0))


class BusModel(RuleBasedStateMachine):
    """Two processes on one base directory, one stream of tasks, and a clock that only we move."""

    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp(prefix="kingdom-test-", dir=_memory())
        self.clock = MovableClock()
        self.base = BaseDir(self.root)
        self.buses = [self.open(), self.open()]
        self.tasks: dict[str, dict[str, Any]] = {}
        self.results: set[str] = set()

    def open(self) -> Any:
        return small_bus(self.base, self.clock, policies={"tasks": POLICY})

    def teardown(self) -> None:
        for bus in self.buses:
            bus.close()
        shutil.rmtree(self.root)

    numbers = st.integers(1, 9)
    which = st.integers(0, 1)

    @rule(which=which, number=numbers, priority=st.sampled_from(sorted(RANK)))
    def publish(self, which: int, number: int, priority: str) -> None:
        new = task(number, priority=priority, created_at=self.clock.now())
        assert self.buses[which].publish("tasks", new) == [new.id not in self.tasks]
        self.know(new.id, priority)

    @rule(number=numbers, priority=st.sampled_from(sorted(RANK)))
    def drop_by_hand(self, number: int, priority: str) -> None:
        new = task(number, priority=priority, created_at=self.clock.now())
        if new.id not in self.tasks:
            drop(self.base, "tasks/pending", f"{new.id}.json", new.to_json())
            self.know(new.id, priority)

    def know(self, id_: str, priority: str) -> None:
        order = (RANK[priority], self.clock.now(), int(id_[-3:]))
        fresh = {"place": "pending", "order": order, "due": self.clock.now(), "until": None}
        self.tasks.setdefault(id_, fresh | {"attempts": 0, "crashes": 0})

    def due(self) -> list[str]:
        """What may be claimed now, best first; poison is buried on the way."""
        now = self.clock.now()
        free = [
            id_
            for id_, one in self.tasks.items()
            if (one["place"] == "pending" and one["due"] <= now)
            or (one["place"] == "in_progress" and one["until"] <= now)
        ]
        return sorted(free, key=lambda id_: self.tasks[id_]["order"])

    @rule(target=claims, which=which)
    def claim(self, which: int) -> Any:
        found = self.buses[which].claim("tasks", "gen-pr")
        expected = None
        for id_ in self.due():
            one = self.tasks[id_]
            one["crashes"] += one["place"] == "in_progress"
            if one["crashes"] > POLICY.max_crashes:
                one["place"] = "dead"
                continue
            expected = id_
            one |= {"place": "in_progress", "until": self.clock.now() + LEASE, "holder": which}
            break
        assert [claim.id for claim in found] == ([expected] if expected else [])
        return (which, found[0]) if found else None

    @rule(held=consumes(claims), fate=st.sampled_from(["done", "retry", "bury", "defer"]))
    def finish(self, held: Any, fate: str) -> None:
        if held is None:
            return
        which, claim = held
        bus, one = self.buses[which], self.tasks[claim.id]
        try:
            self.do(bus, claim, fate)
        except LeaseLost:
            assert not self.is_newest(which, claim)
            return
        assert self.is_newest(which, claim)
        self.note(one, claim, fate)

    def is_newest(self, which: int, claim: Claim) -> bool:
        one = self.tasks[claim.id]
        return (
            one["place"] == "in_progress"
            and one["holder"] == which
            and one["until"] - LEASE == claim.message.delivery.last_attempt_at
            and one["crashes"] == claim.message.delivery.crash_count
            and one["attempts"] == claim.message.delivery.attempt_count
        )

    def do(self, bus: Any, claim: Claim, fate: str) -> None:
        if fate == "done":
            number = int(claim.id[-3:])
            news = [New("results", result(number)), New("messages", message(number))]
            bus.commit([Move(claim, "completed")], news)
        elif fate == "retry":
            bus.retry(claim, FAULT)
        elif fate == "bury":
            bus.bury(claim, FAULT)
        else:
            bus.defer(claim, self.clock.now() + timedelta(seconds=20), "later")

    def note(self, one: dict[str, Any], claim: Claim, fate: str) -> None:
        now = self.clock.now()
        if fate == "done":
            one["place"] = "completed"
            self.results.add(claim.id)
        elif fate == "retry":
            one["attempts"] += 1
            spent = one["attempts"] >= POLICY.max_attempts
            wait = timedelta(seconds=2 ** (one["attempts"] - 1))
            one |= {"place": "dead"} if spent else {"place": "pending", "due": now + wait}
        elif fate == "bury":
            one["place"] = "dead"
        else:
            one |= {"place": "pending", "due": now + timedelta(seconds=20)}

    @rule(seconds=st.sampled_from([1, 5, 21, 31]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(which=which)
    def restart(self, which: int) -> None:
        """Gracefully: the same process opens the bus anew, and what it held runs out by itself."""
        self.buses[which].close()
        self.buses[which] = self.open()
        self.buses[which].recover()
        for one in self.tasks.values():
            if one.get("holder") == which:
                one["holder"] = None

    @rule(which=which)
    def checkpoint(self, which: int) -> None:
        self.buses[which].checkpoint()

    @invariant()
    def directories_agree(self) -> None:
        check_directories(self.base)
        found = files(self.base)
        for place in ("pending", "in_progress", "completed", "dead"):
            wanted = sorted(id_ for id_, one in self.tasks.items() if one["place"] == place)
            assert found.get(f"tasks/{place}", []) == wanted
        assert found.get("results", []) == sorted(self.results)
        assert len(found.get("messages/pending", [])) == len(self.results)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


TestBusModel = BusModel.TestCase
TestBusModel.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
