"""A chamberlain's office to send on its rounds by hand."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from kingdom.bus.opening import open_bus
from kingdom.chamberlain.duty import Office
from kingdom.clock import Clock
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.store import disk
from kingdom.store.paths import BaseDir

NAME = "chamberlain"
BEGAN = time.time() - 1.0  # the real time, by which the disk goes


@contextmanager
def office_in(base: BaseDir, clock: Clock, log: io.StringIO | None = None) -> Iterator[Office]:
    """One life of the chamberlain, as its duties see it."""
    configure(NAME, base, environment={}, stream=log or io.StringIO(), clock=clock)
    config = LiveConfig(base, {}, clock)
    bus = open_bus(base, config.current.settings, clock=clock)
    disk.make_directory(base.path("state", NAME))  # its seat
    disk.make_directory(base.logs)
    internal = InternalLog(base, NAME, clock)
    try:
        yield Office(Setting(NAME, base, {}, bus, config, clock, get_logger(), internal))
    finally:
        bus.close()


def internal_events(base: BaseDir, type_: str = "") -> list[dict[str, Any]]:
    """What `logs/events.log` tells, of this type or of all."""
    path = Path(base.events_log)
    lines = path.read_text().splitlines() if path.exists() else []
    told = [json.loads(line) for line in lines]
    return [one for one in told if not type_ or one["type"] == type_]


def said(base: BaseDir) -> list[str]:
    """What people are told, oldest first."""
    found = Path(base.path("queue", "messages")).glob("*/*.json")
    messages = [json.loads(path.read_text()) for path in found]
    return [one["content"] for one in sorted(messages, key=lambda one: one["id"])]


def date_files(base: BaseDir, moment: datetime, since: float = BEGAN) -> None:
    """What was written just now was written then, as far as the disk tells."""
    for directory, _, names in os.walk(base.root):
        for name in names:
            path = os.path.join(directory, name)
            if os.lstat(path).st_mtime >= since:
                os.utime(path, (moment.timestamp(),) * 2, follow_symlinks=False)


def write(base: BaseDir, path: str, moment: datetime, content: str = "x") -> Path:
    """A file of that time."""
    made = Path(base.path(path))
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(content)
    for path in (made, made.parent):
        os.utime(path, (moment.timestamp(),) * 2)
    return made
