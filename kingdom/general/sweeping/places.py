"""What lies in a general's workspace, who worked there last, and who still needs it.

A directory is its first task's. Those who continue that one work there as well:
`.kingdom-task.json` names the last of them, and checkpoints name those that failed or asked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain

from kingdom.bus.port import EventBus
from kingdom.engines.rehearsal_soldier import TASK_FILE
from kingdom.general.checkouts.holdings import Survey
from kingdom.general.spec import SoldierFiles
from kingdom.general.sweeping.retention import Place
from kingdom.models.base import Record
from kingdom.models.ids import is_id
from kingdom.models.result import NeedsHuman
from kingdom.models.task import Task
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json

_UNENDED = ("pending", "in_progress")


def home_of(base: BaseDir, general: str) -> str:
    return os.path.realpath(os.path.join(base.workspace, general))


def places(
    base: BaseDir, general: str, bus: EventBus, files: SoldierFiles, survey: Survey
) -> Iterator[Place]:
    """Only what generals made: whatever else lies there is somebody's own."""
    home = home_of(base, general)
    needed = dict(_needed(home, general, bus, files))
    users = _users(home, files)
    inside = [one for clone in survey.clones for one in clone.worktrees]
    inside += [one.path for one in survey.aside]
    for name in sorted(filter(is_id, disk.names(home))):
        path = os.path.join(home, name)
        facts = disk.facts_of(path)
        if facts is None or not stat.S_ISDIR(facts.st_mode):
            continue
        known = _Known(bus, {name, *users.get(name, ()), _told(path)} - {""})
        if known.tasks or _is_ours(path, inside):
            signs = [facts.st_mtime, _changed(os.path.join(path, TASK_FILE)), *known.moments()]
            yield Place(path, max(signs), needed.get(name) or known.open_business())


def _is_ours(path: str, inside: Iterable[str]) -> bool:
    if disk.exists(os.path.join(path, TASK_FILE)) or not disk.names(path):
        return True
    return any(one.startswith(path + os.sep) for one in inside)


class _Known:
    """What the bus knows of those who worked in one directory."""

    def __init__(self, bus: EventBus, ids: Iterable[str]) -> None:
        found = {id_: bus.look("tasks", id_) for id_ in ids}
        self.tasks = {id_: one for id_, one in found.items() if one is not None}
        self._results = {id_: bus.look("results", id_) for id_ in self.tasks}

    def moments(self) -> Iterator[float]:
        """Of their ends, and of what was done about those."""
        results = (one for one in self._results.values() if one is not None)
        for _, record in chain(self.tasks.values(), results):
            delivery = record.delivery
            for moment in (delivery.processed_at, delivery.updated_at):
                if moment is not None:
                    yield moment.timestamp()

    def open_business(self) -> str:
        for id_, (state, task) in self.tasks.items():
            if state in _UNENDED:
                return f"{id_} has not ended."
            if getattr(task, "status", "") == "needs_human" and self._waits(id_):
                return f"The question of {id_} is open."
        return ""

    def _waits(self, id_: str) -> bool:
        found = self._results[id_]
        asked: Record | None = found[1] if found is not None else None
        return not isinstance(asked, NeedsHuman) or asked.answered_by is None


def _needed(
    home: str, general: str, bus: EventBus, files: SoldierFiles
) -> Iterator[tuple[str, str]]:
    """Directories that someone is at work in, or will be."""
    for soldier_id in files.all_ids():
        spec = files.read(soldier_id)
        if spec is not None and spec.general == general:
            yield os.path.basename(spec.place or spec.cwd), f"{soldier_id} works there."
    for task in bus.waiting("tasks"):
        if isinstance(task, Task):
            for id_ in _line_of(task, bus):
                for name in {id_, _worked_in(home, files, id_)}:
                    yield name, f"{task.id} has not ended."


def _line_of(task: Task, bus: EventBus) -> Iterator[str]:
    """The task and those that it continues, as far as they are known."""
    seen: set[str] = set()
    while task.id not in seen:
        seen.add(task.id)
        yield task.id
        earlier = None if task.fresh else task.original_task_id
        if not earlier:
            return
        yield earlier
        found = bus.look("tasks", earlier)
        if found is None or not isinstance(found[1], Task):
            return
        task = found[1]


def _users(home: str, files: SoldierFiles) -> dict[str, set[str]]:
    """By directory: those whose checkpoint names it."""
    found: dict[str, set[str]] = {}
    for task_id in files.with_checkpoint():
        found.setdefault(_worked_in(home, files, task_id), set()).add(task_id)
    return found


def _worked_in(home: str, files: SoldierFiles, task_id: str) -> str:
    """The directory's name; empty if it is not known, or another general's."""
    place = files.checkpoint(task_id).get("workspace")
    if not isinstance(place, str):
        return ""
    above, name = os.path.split(place)
    return name if os.path.realpath(above) == os.path.realpath(home) else ""


def _told(path: str) -> str:
    """The task that the last soldier there was told to do."""
    told = read_json(os.path.join(path, TASK_FILE), {})
    task_id = told.get("task_id") if isinstance(told, dict) else None
    return task_id if isinstance(task_id, str) and is_id(task_id) else ""


def _changed(path: str) -> float:
    facts = disk.facts_of(path)
    return facts.st_mtime if facts is not None else 0.0
