"""A watcher to send on its rounds by hand, and the events that came of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kingdom.bus.opening import open_bus
from kingdom.bus.port import Move
from kingdom.clock import Clock
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.sentinel.rounds import Rounds
from kingdom.sentinel.watcher import Watcher
from kingdom.store.paths import BaseDir
from tests.support.kingdom import files

KING = "king"


def setting(base: BaseDir, clock: Clock, environment: Mapping[str, str] | None = None) -> Setting:
    """What the loop of a role would give the sentinel, with a bus of its own."""
    configure("sentinel", base, environment={}, stream=Nowhere(), clock=clock)
    config = LiveConfig(base, environment or {}, clock)
    bus = open_bus(base, config.current.settings, clock=clock)
    internal = InternalLog(base, "sentinel", clock)
    return Setting("sentinel", base, environment or {}, bus, config, clock, get_logger(), internal)


class Nowhere:
    """Where log lines go that nobody reads."""

    def write(self, text: str) -> None: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


class Lookout:
    """One life of the sentinel, as far as one watcher goes."""

    def __init__(self, base: BaseDir, clock: Clock, make: Callable[[Setting], Watcher]) -> None:
        self.base = base
        self.setting = setting(base, clock)
        self.watcher = make(self.setting)
        self.rounds = Rounds(self.watcher, self.setting)

    def look(self) -> int:
        """How many events came of it."""
        return self.rounds.look().emitted

    def close(self) -> None:
        self.watcher.close()
        self.setting.bus.close()


def events(base: BaseDir) -> dict[str, dict[str, Any]]:
    """All that there are, wherever they are."""
    found = {}
    for path in sorted(Path(base.path("queue", "events")).glob("*/*.json")):
        found[path.stem] = json.loads(path.read_text())
    return found


def detected(base: BaseDir) -> list[str]:
    """The ids of which it was told that they were seen, in order."""
    path = Path(base.events_log)
    lines = path.read_text().splitlines() if path.exists() else []
    told = map(json.loads, lines)
    return [one["data"]["event_id"] for one in told if one["type"] == "event.detected"]


def work_off(given: Setting) -> list[str]:
    """As the king would: every pending event ends. Answers which."""
    done = []
    while claims := given.bus.claim("events", KING, 100):
        given.bus.commit([Move(claim, "completed") for claim in claims])
        done += [claim.id for claim in claims]
    return done


def forget(base: BaseDir) -> None:
    """As the chamberlain does when their time is over: events that have ended are no more."""
    for id_ in files(base).get("events/completed", []):
        Path(base.path("queue", "events", "completed", f"{id_}.json")).unlink()
