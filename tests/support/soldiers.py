"""Shell scripts for soldiers to run, and what those that ran them left in their workspaces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.barracks import Barracks


def report(said: Mapping[str, Any]) -> str:
    """Says this in its result. The task is its own unless another is named."""
    body = json.dumps({"task_id": "$KINGDOM_TASK_ID", **said})
    path = "$KINGDOM_RESULT_PATH"
    return f"cat > {path}.part <<END\n{body}\nEND\nmv {path}.part {path}\n"


REPORT = report({"status": "success", "summary": "done"})
WAIT = "while [ ! -e $KINGDOM_WORKSPACE/../../../go ]; do sleep 0.02; done\n"
WAIT_FOR_GO = WAIT + REPORT
# Says whether another one is at the same task, and notes that it ran.
ALONE = """
if [ -e pid ] && grep -q "^State:[[:space:]]*[^ZX[:space:]]" /proc/$(cat pid)/status 2>/dev/null
then echo $(cat pid) $KINGDOM_SOLDIER_ID $(cat /proc/$(cat pid)/status) > twice; fi
echo $$ > pid
echo $KINGDOM_SOLDIER_ID >> ran
"""
# Two that leave its session: a child, and a grandchild that nobody waits for.
SPREAD = "setsid sleep 1000 &\n(setsid sleep 1000 &)\n"
STAY = "touch $KINGDOM_WORKSPACE/up; while :; do sleep 1000; done"
DEAF = "trap '' TERM HUP\n"


def go(barracks: Barracks) -> None:
    """Those that wait for it may report."""
    Path(barracks.base.root, "go").touch()


def is_up(barracks: Barracks, task_id: str) -> bool:
    return barracks.workspace(task_id).joinpath("up").exists()


def ran(barracks: Barracks, task_id: str) -> list[str]:
    """The soldiers that ran for this task, in order."""
    path = barracks.workspace(task_id).joinpath("ran")
    return path.read_text("ascii").split() if path.exists() else []


def check_run_alone(barracks: Barracks, *task_ids: str) -> None:
    twice = [id_ for id_ in task_ids if barracks.workspace(id_).joinpath("twice").exists()]
    assert twice == []
