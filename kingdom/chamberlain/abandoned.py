"""The duty that tells people of tasks in progress whose general is gone.

Such a task is free to be claimed once its lease has passed, but only by that general. Nothing is
moved: soldiers may still be at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kingdom.bus.due import LONGEST_LEASE
from kingdom.bus.lease import Holder
from kingdom.chamberlain.absence import Absence
from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.duty import Office
from kingdom.clock import still_waits
from kingdom.store import disk
from kingdom.store.state import read_json
from kingdom.topology import GENERAL_PREFIX, TASKS

EVERY = 30.0
CONDITION = "abandoned:"


class Abandoned:
    name = "abandoned"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._absence = Absence(office)
        self._generals: dict[str, str] = {}  # of each task in progress

    def start(self) -> None:
        self._alerts.start()

    def step(self) -> float:
        self._absence.look(EVERY * 3)
        waiting = self._waiting()
        for general, tasks in waiting.items():
            self._tell(general, tasks)
        for condition in self._alerts.open_ones(CONDITION):
            general = condition.removeprefix(CONDITION)
            if general not in waiting:
                text = self._office.words("chamberlain_abandoned_over", general=general)
                self._alerts.end(condition, text)
        return EVERY

    def stop(self) -> None:
        """Nothing."""

    def _waiting(self) -> dict[str, list[str]]:
        """Tasks by their general, if that is gone and their lease has passed."""
        directory = self._office.base.path(TASKS.root, "in_progress")
        names = [name for name in disk.names(directory) if _is_task(name)]
        generals, self._generals = self._generals, {}
        found: dict[str, list[str]] = {}
        for name in names:
            path = f"{directory}/{name}"
            general = generals.get(name) or _general_of(read_json(path))
            if not general:
                continue
            self._generals[name] = general
            if self._absence.is_gone(general) and self._has_passed(read_json(path)):
                found.setdefault(general, []).append(name.removesuffix(".json"))
        return found

    def _has_passed(self, task: Any) -> bool:
        found = task.get("delivery") if isinstance(task, Mapping) else None
        delivery = found if isinstance(found, Mapping) else {}
        holder = Holder.parse(str(delivery.get("locked_by") or ""))
        if holder is not None and holder.is_gone():
            return True
        try:
            until = datetime.fromisoformat(str(delivery.get("locked_until")))
            return not still_waits(until, self._office.now(), LONGEST_LEASE)
        except (ValueError, TypeError):
            return True

    def _tell(self, general: str, tasks: list[str]) -> None:
        text = self._office.words(
            "chamberlain_abandoned", general=general, count=len(tasks), task=min(tasks)
        )
        if self._alerts.begin(CONDITION + general, text):
            self._office.log.warning("tasks.abandoned", general=general, tasks=sorted(tasks))


def _is_task(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _general_of(task: Any) -> str:
    general = task.get("target_general") if isinstance(task, Mapping) else None
    return general if isinstance(general, str) and general.startswith(GENERAL_PREFIX) else ""
