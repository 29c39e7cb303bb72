"""The tasks that were made and whose end was not handled yet: what soldiers are busy with."""

from __future__ import annotations

from collections import Counter

from kingdom.models.task import Task


class Outstanding:
    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._resting: set[str] = set()
        self.by_general: Counter[str] = Counter()  # those that rest are not counted

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
        self.rest(task_id, False)
        task = self._tasks.pop(task_id, None)
        if task is not None:
            self.by_general[task.target_general] -= 1

    def rest(self, task_id: str, rests: bool) -> None:
        """One that waits to be tried again keeps no soldier busy, however long that is."""
        if task_id not in self._tasks or rests is (task_id in self._resting):
            return
        self.by_general[self._tasks[task_id].target_general] += -1 if rests else 1
        (self._resting.add if rests else self._resting.discard)(task_id)

    def successor_of(self, task_id: str) -> Task | None:
        """The task that continues this one and has not ended."""
        found = (one for one in self._tasks.values() if one.original_task_id == task_id)
        return next(found, None)
