"""The duty that notices threads nobody closed: mappings of the envoy's that are a week old.

The envoy removes each when its task has ended. One that stays is a sign that something was missed;
it is the envoy's, so it is only logged, once. What was logged is in
`state/chamberlain/old-threads.json`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from kingdom.chamberlain.duty import Office
from kingdom.store.state import read_json, write_json

EVERY = 3600.0
OLD = timedelta(days=7)


class Mappings:
    name = "mappings"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._path = office.path("old-threads.json")
        self._told: list[str] = []

    def start(self) -> None:
        kept = read_json(self._path, [])
        self._told = [str(one) for one in kept] if isinstance(kept, list) else []

    def step(self) -> float:
        found = read_json(self._office.base.path("state", "envoy", "thread-mappings.json"), {})
        mappings = found if isinstance(found, dict) else {}
        old = [task for task, one in mappings.items() if self._is_old(one)]
        for task in old:
            if task not in self._told:
                self._warn(task, mappings[task])
        if sorted(old) != self._told:
            self._told = sorted(old)
            write_json(self._path, self._told, sync=False)
        return EVERY

    def stop(self) -> None:
        """Nothing."""

    def _is_old(self, mapping: Any) -> bool:
        try:
            return self._office.now() - datetime.fromisoformat(mapping["created_at"]) > OLD
        except (KeyError, TypeError, ValueError):
            return False  # damaged, which is the envoy's to notice

    def _warn(self, task: str, mapping: dict[str, Any]) -> None:
        self._office.log.warning(
            "thread.old", task_id=task, created_at=mapping["created_at"], days=OLD.days
        )
