"""An envoy to step by hand, and what it has shown."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.opening import open_bus
from kingdom.clock import Clock
from kingdom.envoy.daemon import Envoy, make
from kingdom.envoy.transport import Heard, Reply, Thread, Transport
from kingdom.errors import ConfigurationError
from kingdom.models.message import HumanInputRequest, ThreadStart
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.store.paths import BaseDir
from tests.support.kingdom import START, MovableClock

TASK = "task-20260207-001"


def setting(
    base: BaseDir, clock: Clock, *, environment: Mapping[str, str] | None = None
) -> Setting:
    """What the loop of a role would give it, with a bus of its own."""
    configure("envoy", base, environment={}, stream=io.StringIO(), clock=clock)
    config = LiveConfig(base, environment or {}, clock)
    bus = open_bus(base, config.current.settings, clock=clock)
    return Setting(
        name="envoy",
        base=base,
        environment=environment or {},
        bus=bus,
        config=config,
        clock=clock,
        log=get_logger(),
        internal=InternalLog(base, "envoy", clock),
    )


class Willing:
    """A transport of our own: it takes every message; people reply when a test says so."""

    leaves = False
    at_once = 1

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.replies: list[Heard] = []
        self.told: list[tuple[str, str]] = []
        self.closed: dict[str, str] = {}

    def send(self, message: Any, thread: Any, *, perhaps_sent: bool = False) -> Thread:
        self.shown.append(message.id)
        return thread or Thread("C1", f"{message.id}.ts")

    def settle(self) -> None: ...

    def poll(self, questions: Any) -> list[Heard]:
        return list(self.replies)

    def has_heard(self, question: Any) -> bool:
        return True

    def taken(self, heard: Heard) -> None:
        self.replies.remove(heard)

    def tell(self, reply: Reply, what: str, text: str) -> None:
        self.told.append((what, text))

    def close_question(self, question: Any, line: str) -> None:
        self.closed[question.msg_id] = line

    def descriptors(self) -> list[int]:
        return []

    def trouble(self) -> None: ...

    def failing(self) -> tuple[()]:
        return ()

    def close(self) -> None: ...


class Life:
    """One process of the envoy, from its start on."""

    def __init__(
        self,
        base: BaseDir,
        clock: MovableClock,
        transport: Callable[[Setting], Transport] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.setting = setting(base, clock, environment=environment)
        try:
            self.envoy = make(self.setting)
        except ConfigurationError:
            self.setting.bus.close()
            raise
        if transport:
            self.envoy = Envoy(self.setting, transport(self.setting))
        self.setting.bus.recover()
        self.envoy.start()

    def go(self, steps: int = 20) -> float:
        """Until there is nothing more to do at this moment."""
        seconds = 0.0
        for _ in range(steps):
            seconds = self.envoy.step()
            if seconds and not self.setting.bus.wait(("messages",), 0):
                break
        return seconds

    def end(self) -> None:
        self.envoy.stop()
        self.setting.bus.close()


def start(number: int = 1, **fields: Any) -> ThreadStart:
    values = {
        "id": f"msg-20260207-{number:03d}",
        "content": "taken up",
        "created_at": START,
        "task_id": TASK,
    }
    return ThreadStart(**(values | fields))


def question(number: int = 1, **fields: Any) -> HumanInputRequest:
    values = {
        "id": f"msg-20260207-{number:03d}",
        "content": "Which branch?",
        "created_at": START,
        "task_id": TASK,
    }
    return HumanInputRequest(**(values | fields))


def publish(base: BaseDir, *messages: Any, stream: str = "messages") -> None:
    bus = FileBus(base, durable=False)
    try:
        bus.publish(stream, *messages)
    finally:
        bus.close()


def console(base: BaseDir) -> str:
    path = Path(base.path("logs/console.log"))
    return path.read_text("utf-8") if path.exists() else ""


def shown(base: BaseDir) -> list[str]:
    """The ids of the messages shown, in order: last words of the lines at the margin."""
    lines = console(base).split("\n")
    return [line.split()[-1] for line in lines if line and not line.startswith(" ")]


def mappings(base: BaseDir) -> dict[str, Any]:
    return _state(base, "thread-mappings")


def awaiting(base: BaseDir) -> dict[str, Any]:
    return _state(base, "awaiting-responses")


def _state(base: BaseDir, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(base.path(f"state/envoy/{name}.json")).read_text())
    return loaded


def internal(base: BaseDir, *types: str) -> list[dict[str, Any]]:
    """The internal events of these types, oldest first."""
    path = Path(base.events_log)
    lines = path.read_text().splitlines() if path.exists() else []
    return [one for one in map(json.loads, filter(None, lines)) if one["type"] in types]
