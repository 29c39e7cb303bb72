"""An order as a general gives it, and how an engine judges what an attempt left, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kingdom.clock import SystemClock
from kingdom.engines.port import Engine, Evidence, Order, Verdict
from kingdom.models.task import Task

TASK = "task-20260207-001"


def order_in(place: Path, **changes: Any) -> Order:
    """With paths that must be quoted wherever they are spelled."""
    values: dict[str, Any] = {
        "task": Task(
            id=TASK,
            event_id="evt-test-1",
            target_general="gen-pr",
            type="github.pr.review_requested",
            created_at=SystemClock().now(),
        ),
        "soldier_id": "soldier-1",
        "attempt": 1,
        "prompt_path": "/p",
        "workspace": str(place / "it's here"),
        "result_path": str(place / "the result's.json"),
        "heartbeat_path": str(place / "a $(beat)"),
        "timeout_seconds": 60.0,
        "environment": {"PATH": "/usr/bin:/bin", "HOME": str(place)},
    }
    return Order(**(values | changes))


def judged_by(engine: Engine, stdout: Path | str, **more: Any) -> Verdict:
    """One that ended well and wrote nothing, but for what is said."""
    values: dict[str, Any] = {
        "order_task_id": TASK,
        "exit_code": 0,
        "signal": None,
        "stderr_path": "/no/such/file",
        "has_result": False,
    }
    return engine.judge(Evidence(stdout_path=str(stdout), **(values | more)))
