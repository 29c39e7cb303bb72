"""The tasks that were made and whose end was not handled yet: what soldiers are busy with."""

from __future__ import annotations

from collections import Counter

from kingdom.models.task import Task


class Outstanding:
    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self.by_general: Counter[str] = Counter()

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def tasks(self) -> list[Task]:
        """As they were when they were made."""
        return list(self._tasks.values())

    def add(self, task: Task) -> None:
        if task.id not in self._tasks:
            self._tasks[task.id] = task
            self.by_general[task.target_general] += 1

    def remove(self, task_id: str) -> None:
        task = self._tasks.pop(task_id, None)
        if task is not None:
            self.by_general[task.target_general] -= 1
