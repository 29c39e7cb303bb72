"""Events go in while processes are killed at random, seeded; then all must have come out right."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock
from kingdom.models.event import Event
from tests.storm.kingdom import GENERALS, KINDS, Land
from tests.support.waiting import eventually, let_pass

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
        _await_calm(land, plan)
        counted += _checked(land, plan)
        land.say("stop", "--soldiers")
        _nothing_is_left(land)
        return counted
    finally:
        land.clear()


def _storm(land: Land, plan: Plan) -> Counter[str]:
    chance = random.Random(plan.seed)
    waiting = [_event(number, chance) for number in range(plan.events)]
    share = max(len(waiting) // max(plan.kills, 1), 1)
    counted: Counter[str] = Counter()
    for _ in range(plan.kills):
        _send(land, waiting[:share])
        del waiting[:share]
        let_pass(chance.uniform(0.0, 0.4))
        counted += _strike(land, plan, chance)
    _send(land, waiting)
    return counted


def _event(number: int, chance: random.Random) -> Event:
    kind = chance.choice(GENERALS).removeprefix("gen-")
    return Event(
        id=f"evt-storm-{number:05d}",
        type=f"{kind}.work",
        source="storm",
        payload={"kind": chance.choice(KINDS), "number": number},
        priority=chance.choice(("low", "normal", "high")),
        created_at=SystemClock().now(),
        trust="member",
    )


def _send(land: Land, events: list[Event]) -> None:
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


def _await_calm(land: Land, plan: Plan) -> None:
    def calm() -> bool:
        ended = _names(land, "queue/events/completed") + _names(land, "queue/events/dead")
        waiting = _names(land, "queue/messages/pending")
        return len(ended) >= plan.events and not waiting

    def told() -> str:
        return f"{_census(land)}\n{_last_words(land)}"

    land.hurry()
    eventually(calm, "every event has ended, every message is sent", plan.patience, told=told)


def _checked(land: Land, plan: Plan) -> Counter[str]:
    events = _contents(land, "queue/events/completed")
    tasks = _contents(land, "queue/tasks/completed")
    results = {one["task_id"]: one for one in _results(land)}
    wanted = {f"evt-storm-{number:05d}" for number in range(plan.events)}
    assert {one["id"] for one in events} == wanted, _census(land)
    assert all(
        not _names(land, f"queue/{stream}/dead") for stream in ("events", "tasks", "messages")
    )
    assert Counter(one["event_id"] for one in tasks) == Counter(wanted), "one task for each event"
    assert {one["task_id"] for one in events} == {one["id"] for one in tasks} == set(results)
    assert not _names(land, "queue/tasks/pending") + _names(land, "queue/tasks/in_progress")
    _check_messages(land, results)
    return _check_runs(land, plan, results)


def _check_messages(land: Land, results: dict[str, Any]) -> None:
    """One that opens a thread and one that closes it or asks, for each task; each said once."""
    messages = _contents(land, "queue/messages/sent")
    opened = Counter(one["task_id"] for one in messages if one["type"] == "thread_start")
    ended = Counter(one["task_id"] for one in messages if one["type"] != "thread_start")
    assert opened == Counter(list(results)) == ended, "one set of messages for each task"
    said = Path(land.base.path("logs", "console.log")).read_text()
    for one in messages:
        assert said.count(one["id"]) == 1, f"{one['id']} was said {said.count(one['id'])} times"


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


def _nothing_is_left(land: Land) -> None:
    eventually(lambda: not land.processes(), "nothing runs any more")
    assert json.loads(Path(land.base.path("state", "sessions.json")).read_text()) == []
    stray = list(Path(land.base.root).rglob(".tmp-*"))
    assert not stray, stray
    said = land.say("fsck", check=False)
    assert said.code == 0, said.out + said.err


def _names(land: Land, place: str) -> list[str]:
    directory = Path(land.base.path(place))
    return [path.name for path in directory.glob("*.json")] if directory.is_dir() else []


def _contents(land: Land, place: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in Path(land.base.path(place)).glob("*.json")]


def _results(land: Land) -> list[dict[str, Any]]:
    found = _contents(land, "state/results")
    return [one for one in found if "delivery" in one]  # raw ones and checkpoints lie beside


def _census(land: Land) -> dict[str, int]:
    places = [
        f"{path.parent.name}/{path.name}"
        for path in Path(land.base.queue).glob("*/*/")
        if path.is_dir()
    ]
    return {place: len(_names(land, f"queue/{place}")) for place in sorted(places)}


def _last_words(land: Land) -> str:
    log = Path(land.base.system_log)
    status = land.say("status", check=False).out
    return status + "\n".join(log.read_text().splitlines()[-30:] if log.exists() else [])
