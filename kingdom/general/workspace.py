"""Where a soldier works: a directory of its task's own, with what it is told in it.

Writes `workspace/{general}/{task}/`: `.kingdom-task.json`, and what every engine reads by itself,
CLAUDE.md and AGENTS.md: the kingdom's guide, the general's soul, and what was learned before.
"""

from __future__ import annotations

import json
import os
from typing import Any

from kingdom.engines.rehearsal_soldier import TASK_FILE
from kingdom.models.task import Task
from kingdom.store import disk, leftovers
from kingdom.store.paths import BaseDir

GUIDES = ("CLAUDE.md", "AGENTS.md")


def directory_for(base: BaseDir, task: Task, checkpoint: dict[str, Any]) -> str:
    """Its own; or the one of the task that it continues, if that is still there."""
    own = os.path.join(base.workspace, task.target_general)
    if task.original_task_id and not task.fresh:
        earlier = os.path.join(own, task.original_task_id)
        for place in (checkpoint.get("workspace"), earlier):
            if isinstance(place, str) and _is_inside(base, place) and os.path.isdir(place):
                return place
    return os.path.join(own, task.id)


def _is_inside(base: BaseDir, place: str) -> bool:
    try:
        real = os.path.realpath(place)
    except ValueError:  # what no path can hold
        return False
    return real.startswith(os.path.realpath(base.workspace) + os.sep)


def prepare(directory: str, task: dict[str, Any], guide: str) -> None:
    """Make it ready; raises OSError if the disk refuses."""
    disk.make_directory(directory)
    leftovers.clear_in(directory)
    spelled = json.dumps(task, ensure_ascii=False, indent=2) + "\n"
    _write(os.path.join(directory, TASK_FILE), spelled)
    for name in GUIDES:
        _write(os.path.join(directory, name), guide)


def _write(path: str, text: str) -> None:
    disk.replace(path, text.encode("utf-8", "replace"), sync=False)
