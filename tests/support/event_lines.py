"""Lines of the events log, as roles would write them, at moments that a test chooses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kingdom.clock import isoformat
from kingdom.store.paths import BaseDir
from tests.support.kingdom import START


def line(type_: str, actor: str = "gen-pr", at: datetime | float = 0.0, **data: Any) -> bytes:
    """`at` is a moment, or seconds after the start."""
    moment = at if isinstance(at, datetime) else START + timedelta(seconds=at)
    told = {"ts": isoformat(moment), "type": type_, "actor": actor, "data": data}
    return json.dumps(told).encode() + b"\n"


def completed(actor: str = "gen-pr", at: datetime | float = 0.0, seconds: float = 60.0) -> bytes:
    data = {"task_id": "task-1", "status": "success", "duration_seconds": seconds}
    return line("task.completed", actor, at, **data)


def failed(actor: str = "gen-pr", at: datetime | float = 0.0, error: str = "It broke.") -> bytes:
    return line("task.failed", actor, at, task_id="task-1", error=error, retry_count=2)


def timeout(at: datetime | float = 0.0, actor: str = "gen-pr") -> bytes:
    data = {"task_id": "task-1", "soldier_id": "soldier-1", "timeout_seconds": 1800}
    return line("soldier.timeout", actor, at, **data)


def detected(event: str, at: datetime | float = 0.0) -> bytes:
    data = {"event_id": event, "source": "github", "event_type": "github.pr.comment"}
    return line("event.detected", "sentinel", at, **data)


def append(base: BaseDir, *lines: bytes) -> None:
    path = Path(base.events_log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(lines))
