"""What must hold after a storm, whatever was killed in it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.storm.kingdom import Land
from tests.support.waiting import eventually


def await_calm(land: Land, events: int, patience: float) -> None:
    def calm() -> bool:
        ended = names(land, "queue/events/completed") + names(land, "queue/events/dead")
        # What one commit publishes comes into sight one by one, the event's end maybe first.
        said = len(names(land, "queue/messages/sent")) + len(names(land, "queue/messages/dead"))
        waiting = names(land, "queue/messages/pending")
        return len(ended) >= events and not waiting and said >= 2 * len(ended)

    def told() -> str:
        return f"{_census(land)}\n{_last_words(land)}"

    land.hurry()
    eventually(calm, "every event has ended, every message is sent", patience, told=told)


def reckoned(land: Land, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """The one result of each event, by task; one set of messages for each, and nothing is stuck."""
    events = contents(land, "queue/events/completed")
    tasks = contents(land, "queue/tasks/completed")
    results = {one["task_id"]: one for one in _results(land)}
    assert {one["id"] for one in events} == wanted, _census(land)
    assert all(
        not names(land, f"queue/{stream}/dead") for stream in ("events", "tasks", "messages")
    )
    assert Counter(one["event_id"] for one in tasks) == Counter(wanted), "one task for each event"
    assert {one["task_id"] for one in events} == {one["id"] for one in tasks} == set(results)
    assert not names(land, "queue/tasks/pending") + names(land, "queue/tasks/in_progress")
    _check_messages(land, results)
    return results


def _check_messages(land: Land, results: dict[str, Any]) -> None:
    """One that opens a thread and one that closes it or asks, for each task; each said once."""
    messages = contents(land, "queue/messages/sent")
    opened = Counter(one["task_id"] for one in messages if one["type"] == "thread_start")
    ended = Counter(one["task_id"] for one in messages if one["type"] != "thread_start")
    assert opened == Counter(list(results)) == ended, "one set of messages for each task"
    said = Path(land.base.path("logs", "console.log")).read_text()
    for one in messages:
        assert said.count(one["id"]) == 1, f"{one['id']} was said {said.count(one['id'])} times"


def nothing_is_left(land: Land) -> None:
    eventually(lambda: not land.processes(), "nothing runs any more")
    assert json.loads(Path(land.base.path("state", "sessions.json")).read_text()) == []
    stray = list(Path(land.base.root).rglob(".tmp-*"))
    assert not stray, stray
    said = land.say("fsck", check=False)
    assert said.code == 0, said.out + said.err


def names(land: Land, place: str) -> list[str]:
    directory = Path(land.base.path(place))
    return [path.name for path in directory.glob("*.json")] if directory.is_dir() else []


def contents(land: Land, place: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in Path(land.base.path(place)).glob("*.json")]


def _results(land: Land) -> list[dict[str, Any]]:
    found = contents(land, "state/results")
    return [one for one in found if "delivery" in one]  # raw ones and checkpoints lie beside


def _census(land: Land) -> dict[str, int]:
    places = [
        f"{path.parent.name}/{path.name}"
        for path in Path(land.base.queue).glob("*/*/")
        if path.is_dir()
    ]
    return {place: len(names(land, f"queue/{place}")) for place in sorted(places)}


def _last_words(land: Land) -> str:
    log = Path(land.base.system_log)
    status = land.say("status", check=False).out
    return status + "\n".join(log.read_text().splitlines()[-30:] if log.exists() else [])
