"""A king to play with: a base directory with generals, a real file bus, a clock that can be moved.

`Court.king()` is a king as one process would have it. Whatever another left in hand comes back only
when that one's process is dead, so kings that are to crash run in a child.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.king.daemon import King
from kingdom.models.base import Record
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock, directories

MANIFEST = """\
name: {name}
description: For tests
subscribes: [{subscribes}]
"""


class Court:
    def __init__(
        self, base: BaseDir, clock: MovableClock | None = None, *, keep: bool = False
    ) -> None:
        """`keep`: the configuration that is there, not that of a new kingdom."""
        self.base = base
        self.clock = clock or MovableClock()
        self.start = self.clock.now()
        # An engine and tmux that are only looked for, never run.
        programs = Path(base.path("programs"))
        programs.mkdir(parents=True, exist_ok=True)
        for name in ("tmux", "agent"):
            (programs / name).write_text("#!/bin/sh\n")
            (programs / name).chmod(0o755)
        self.environment = {"PATH": str(programs)}
        for place in ("config", "logs"):
            os.makedirs(base.path(place), exist_ok=True)
        if not keep:
            self.configure(system="runtime: {engine: command, command: {argv: [agent]}}\n")
            self.general("gen-pr", "github.pr.*")
        self.bus = FileBus(base, clock=self.clock)
        self._buses = [self.bus]

    # Configuration

    def configure(self, **texts: str) -> None:
        for name, text in texts.items():
            _replace(Path(self.base.path("config", f"{name}.yaml")), text)

    def general(
        self, name: str, subscribes: str = "", more: str = "", prompt: str = "Do {{TASK_ID}}."
    ) -> None:
        directory = Path(self.base.path("config", "generals", name))
        directory.mkdir(parents=True, exist_ok=True)
        _replace(directory / "prompt.md", prompt)
        _replace(
            directory / "manifest.yaml", MANIFEST.format(name=name, subscribes=subscribes) + more
        )

    def soldiers(self, most: int) -> None:
        self.configure(king=f"concurrency: {{max_soldiers: {most}}}\n")

    def measure(self, health: str = "green", **more: Any) -> None:
        """As the chamberlain would."""
        measured = {"health": health, "updated_at": self.clock.now().isoformat()} | more
        _replace(Path(self.base.resources_file), json.dumps(measured))

    # Kings

    def king(self, **options: Any) -> King:
        """Recovered and started, as its loop would do it."""
        bus = FileBus(self.base, clock=self.clock, **options)
        self._buses.append(bus)
        configure("king", self.base, environment={}, stream=_Nowhere(), clock=self.clock)
        setting = Setting(
            name="king",
            base=self.base,
            environment=self.environment,
            bus=bus,
            config=LiveConfig(self.base, self.environment, self.clock),
            clock=self.clock,
            log=get_logger(),
            internal=InternalLog(self.base, "king", self.clock),
        )
        bus.recover()
        king = King(setting)
        king.start()
        return king

    def close(self) -> None:
        for bus in self._buses:
            bus.close()

    # What others do

    def send(self, *events: Record) -> None:
        self.bus.publish("events", *events)

    def report(self, *results: Record) -> None:
        """What generals commit: the result, and the task to completed."""
        for result in results:
            self.end(result.id, result.status)
            self.bus.publish("results", result)

    def end(self, task_id: str, status: str = "completed") -> None:
        from kingdom.bus.port import Move

        word = {"success": "completed", "killed": "failed"}.get(status, status)
        claims = self.bus.claim("tasks", "gen-test", ids=[task_id])
        self.bus.commit([Move(claim, "completed", word) for claim in claims])

    def bury(self, task_id: str) -> None:
        from kingdom.bus.port import Problem

        for claim in self.bus.claim("tasks", "operator", ids=[task_id]):
            self.bus.bury(claim, Problem("dropped", "An operator dropped it."))

    # What came of it

    def all(self, stream: str) -> list[dict[str, Any]]:
        """Every message of a stream, wherever it lies, by id."""
        found = []
        for place, directory in directories(self.base):
            if place.split("/")[0] == stream:
                names = [one for one in os.listdir(directory) if one.endswith(".json")]
                found += [json.loads(Path(directory, name).read_text()) for name in names]
        return sorted(found, key=lambda one: str(one.get("id", one.get("task_id"))))

    def told(self, type_: str = "") -> list[dict[str, Any]]:
        """Internal events, of one type or all."""
        path = Path(self.base.events_log)
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines if line]
        return [one for one in found if one["type"].startswith(type_)]

    def state(self, stream: str, id_: str) -> str:
        found = self.bus.look(stream, id_)
        return found[0] if found else ""

    def event(self, id_: str) -> dict[str, Any]:
        (found,) = [one for one in self.all("events") if one["id"] == id_]
        return found


@contextmanager
def court_in(base: BaseDir, clock: MovableClock | None = None) -> Iterator[Court]:
    court = Court(base, clock)
    try:
        yield court
    finally:
        court.close()


class _Nowhere:
    def write(self, text: str) -> None: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


def _replace(path: Path, text: str) -> None:
    """Another file under the same name, so that its change is seen whatever the clock says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(text)
    temporary.rename(path)
