"""From what a person types to the task or the soldier that is meant.

A task's own id, its event's, or its soldier's: whoever looks at one of them should not have to
look up another first.
"""

from __future__ import annotations

import os

from kingdom.errors import NotFound
from kingdom.models.ids import is_id
from kingdom.ops.choosing import find
from kingdom.ops.listing import LARGEST, Listed
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json

SOLDIER_PREFIX, SOLDIER_FILE = "soldier-", "-soldier-id"


def task_of(base: BaseDir, typed: str) -> str:
    """The task itself, the one that its event was dispatched as, or the one its soldier was at."""
    if typed.startswith(SOLDIER_PREFIX):
        return _task_of_soldier(base, typed)
    entry = _first(find(base, typed, "task or soldier"), ("tasks", "results", "events"))
    if entry.stream != "events":
        return entry.id
    task = read_json(entry.path, {}).get("task_id")
    if isinstance(task, str):
        return task
    raise NotFound(f"{typed} has not become a task.", remedy=f"See why: kingdom why {typed}")


def _task_of_soldier(base: BaseDir, soldier: str) -> str:
    if is_id(soldier):
        spec = read_json(os.path.join(base.soldiers, f"{soldier}.json"), {})
        if isinstance(spec, dict) and isinstance(spec.get("task_id"), str):
            return str(spec["task_id"])
        # It has ended: its task still names the last one that was at it.
        for name in disk.names(base.results):
            task = name.removesuffix(SOLDIER_FILE)
            if task != name and last_soldier(base, task) == soldier:
                return task
    raise _no_soldier(soldier)


def _first(entries: list[Listed], streams: tuple[str, ...]) -> Listed:
    chosen = [entry for stream in streams for entry in entries if entry.stream == stream]
    if chosen:
        return chosen[0]
    raise NotFound(
        f"{entries[0].id} is neither a task nor an event.",
        remedy=f"See what it is: kingdom queue show {entries[0].id}",
    )


def soldier_of(base: BaseDir, typed: str) -> str:
    """The soldier itself, or the last one that was at this task."""
    if typed.startswith(SOLDIER_PREFIX):
        if _is_known(base, typed):
            return typed
        raise _no_soldier(typed)
    task = task_of(base, typed)
    found = last_soldier(base, task)
    if found:
        return found
    raise NotFound(f"No soldier has been at {task} yet.", remedy=f"See why: kingdom why {task}")


def _is_known(base: BaseDir, soldier: str) -> bool:
    """It is at work, or what it said is kept."""
    names = (
        os.path.join(base.soldiers, f"{soldier}.json"),
        os.path.join(base.session_logs, f"{soldier}.json"),
    )
    return is_id(soldier) and any(map(disk.exists, names))


def last_soldier(base: BaseDir, task: str) -> str:
    """Empty if there was none."""
    try:
        data = disk.read(os.path.join(base.results, f"{task}{SOLDIER_FILE}"), LARGEST)[0]
    except OSError:
        return ""
    name = data.decode("utf-8", "replace").strip()
    return name if is_id(name) else ""


def _no_soldier(name: str) -> NotFound:
    return NotFound(f"There is no soldier {name}.", remedy="See who is at work: kingdom status")
