"""A base directory to play in, seen as `{"tasks/pending": 1}`, and messages to put into it."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kingdom.clock import SystemClock
from kingdom.models.event import Event
from kingdom.models.message import ThreadUpdate
from kingdom.models.result import Success
from kingdom.models.task import Task
from kingdom.store.paths import BaseDir
from kingdom.topology import STREAMS

START = datetime(2026, 2, 7, 10, 0, tzinfo=UTC)


class MovableClock:
    """Stands still unless moved; wall clock and monotonic clock move together or apart."""

    def __init__(self, start: datetime = START) -> None:
        self.wall = start
        self.ticks = 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.ticks

    def advance(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.ticks += seconds

    def set_wall(self, moment: datetime) -> None:
        self.wall = moment


class ShiftedClock(SystemClock):
    """The real time, moved as a test wants. Begun behind and brought back later, it lets time pass
    also for processes that look at the real clock."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead

    def shift(self, seconds: float) -> None:
        self._ahead += seconds


class EagerClock(SystemClock):
    """A minute goes by whenever it is asked: who looks once in a while looks every time."""

    def __init__(self) -> None:
        self._minutes = itertools.count()

    def monotonic(self) -> float:
        return 60.0 * next(self._minutes)


def event(name: str = "1", **fields: Any) -> Event:
    values: dict[str, Any] = {
        "id": f"evt-test-{name}",
        "type": "github.pr.comment",
        "source": "github",
        "created_at": START,
    }
    return Event(**(values | fields))


def task(number: int = 1, **fields: Any) -> Task:
    values: dict[str, Any] = {
        "id": f"task-20260207-{number:03d}",
        "event_id": "evt-test-1",
        "target_general": "gen-pr",
        "type": "github.pr.comment",
        "created_at": START,
    }
    return Task(**(values | fields))


def message(number: int = 1, **fields: Any) -> ThreadUpdate:
    values: dict[str, Any] = {
        "id": f"msg-20260207-{number:03d}",
        "content": "on its way",
        "created_at": START,
    }
    return ThreadUpdate(**(values | fields))


def result(number: int = 1, **fields: Any) -> Success:
    return Success(**({"task_id": f"task-20260207-{number:03d}", "summary": "done"} | fields))


def files(base: BaseDir) -> dict[str, list[str]]:
    """Message files by place: `{"tasks/pending": ["task-20260207-001"]}`."""
    found = {}
    for place, directory in directories(base):
        names = sorted(name for name in os.listdir(directory) if is_message(place, name))
        if names:
            found[place] = [name.removesuffix(".json") for name in names]
    return found


def is_message(place: str, name: str) -> bool:
    if not name.endswith(".json") or name.startswith(".") or name.endswith(".json.reason.json"):
        return False
    return place != "results" or name.count("-") == 2


def directories(base: BaseDir) -> Iterator[tuple[str, str]]:
    for stream in STREAMS.values():
        for directory in stream.directories:
            place = f"{stream.name}/{os.path.basename(directory)}".removesuffix("/results")
            if os.path.isdir(base.path(directory)):
                yield place, base.path(directory)


def counts(base: BaseDir) -> dict[str, int]:
    return {place: len(names) for place, names in files(base).items()}


def load(base: BaseDir, place: str, id_: str) -> dict[str, Any]:
    root = dict(directories(base))[place]
    loaded: dict[str, Any] = json.loads(Path(root, f"{id_}.json").read_text("utf-8"))
    return loaded


def drop(base: BaseDir, place: str, name: str, content: str | bytes) -> Path:
    """As an outsider does it: write under another name, then rename into place."""
    target = Path(dict(directories(base))[place], name)
    temporary = Path(base.root, "outsider.part")
    temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    temporary.rename(target)
    return target
