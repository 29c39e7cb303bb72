"""Events go in while processes are killed at random, seeded; then all must have come out right."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock
from kingdom.models.event import Event
from tests.storm.kingdom import GENERALS, KINDS, Land
from tests.storm.reckoning import await_calm, nothing_is_left, reckoned
from tests.support.waiting import let_pass

ROLES, WARDEN, MACHINE = "roles", "warden", "machine"


@dataclass(frozen=True)
class Plan:
    seed: int
    events: int
    kills: int
    target: str = ROLES
    soldiers: int = 8
    patience: float = 240.0


def weather(directory: Path, plan: Plan) -> Counter[str]:
    """Runs it to the end and checks everything; answers what was counted on the way."""
    land = Land(directory, soldiers=plan.soldiers)
    try:
        land.start()
        counted = _storm(land, plan)
        await_calm(land, plan.events, plan.patience)
        wanted = {f"evt-storm-{number:05d}" for number in range(plan.events)}
        counted += _check_runs(land, plan, reckoned(land, wanted))
        land.say("stop", "--soldiers")
        nothing_is_left(land)
        return counted
    finally:
        land.clear()


def _storm(land: Land, plan: Plan) -> Counter[str]:
    chance = random.Random(plan.seed)
    waiting = [make_event(number, chance, KINDS) for number in range(plan.events)]
    share = max(len(waiting) // max(plan.kills, 1), 1)
    counted: Counter[str] = Counter()
    for _ in range(plan.kills):
        send(land, waiting[:share])
        del waiting[:share]
        let_pass(chance.uniform(0.0, 0.4))
        counted += _strike(land, plan, chance)
    send(land, waiting)
    return counted


def make_event(number: int, chance: random.Random, kinds: Sequence[str]) -> Event:
    kind = chance.choice(GENERALS).removeprefix("gen-")
    return Event(
        id=f"evt-storm-{number:05d}",
        type=f"{kind}.work",
        source="storm",
        payload={"kind": chance.choice(kinds), "number": number},
        priority=chance.choice(("low", "normal", "high")),
        created_at=SystemClock().now(),
        trust="member",
    )


def send(land: Land, events: list[Event]) -> None:
    if events:
        with closing(FileBus(land.base)) as bus:
            bus.publish("events", *events)


def _strike(land: Land, plan: Plan, chance: random.Random) -> Counter[str]:
    if plan.target == ROLES:
        role = chance.choice(land.roles())
        struck = land.kill(role)
        land.hurry()  # or most of the next kills would find nobody
        return Counter({f"killed {role}": struck})
    struck = land.kill("warden") if plan.target == WARDEN else bool(land.kill_all())
    land.start()
    return Counter({f"killed {plan.target}": struck})


def _check_runs(land: Land, plan: Plan, results: dict[str, Any]) -> Counter[str]:
    """No task ran twice at once; and where soldiers were left in peace, none ran in vain."""
    running: dict[str, str] = {}
    begun: Counter[str] = Counter()
    for line in land.runs.read_text().splitlines():
        what, task, pid = line.split()
        if what == "begin":
            assert plan.target == MACHINE or task not in running, f"{task} ran twice at once"
            running[task] = pid
            begun[task] += 1
        else:
            running.pop(task, None)
    assert set(begun) == set(results)
    for task, times in begun.items():
        expected = 2 if results[task]["status"] == "failed" else 1
        assert plan.target == MACHINE or times == expected, f"{task} ran {times} times"
    statuses = Counter(f"{one['status']}" for one in results.values())
    return statuses + Counter({"runs": begun.total()})
