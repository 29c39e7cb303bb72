"""Soldiers that belong to no task in hand: what crashes, operators and lost leases leave behind.

Their wrappers are asked to end, their marked processes are killed, and their files are removed.
"""

from __future__ import annotations

import signal
from collections.abc import Set

from kingdom.bus.port import EventBus
from kingdom.clock import Clock
from kingdom.engines import tree
from kingdom.general.spec import SoldierFiles, Spec
from kingdom.models.result import ResultBase
from kingdom.store.paths import BaseDir

_EVERY = 30.0  # seconds between two looks


class Leftovers:
    def __init__(
        self, base: BaseDir, general: str, files: SoldierFiles, bus: EventBus, clock: Clock
    ) -> None:
        self._general = general
        self._files = files
        self._bus = bus
        self._clock = clock
        self._next_look = 0.0

    def sweep(self, in_hand: Set[str]) -> None:
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _EVERY
        for soldier_id in self._files.all_ids():
            if soldier_id in in_hand:
                continue
            spec = self._files.read(soldier_id)
            if spec is not None and spec.general == self._general and self._is_over(spec):
                self._remove(spec)
        for soldier_id in self._files.without_spec():
            runner = self._files.runner_of(soldier_id)
            if runner is None or not runner.is_alive():
                self._files.forget(soldier_id)

    def look_again(self) -> None:
        """At the next sweep, whenever the last one was."""
        self._next_look = 0.0

    def _is_over(self, spec: Spec) -> bool:
        """Nobody will adopt it: its task went on without it."""
        found = self._bus.look("tasks", spec.task_id)
        at_work = found is not None and found[0] == "in_progress"
        return not at_work or self._files.soldier_of(spec.task_id) != spec.soldier_id

    def _remove(self, spec: Spec) -> None:
        if self._ended(spec):
            if self._is_accepted(spec):
                self._files.accept_raw(spec)
            self._files.put_away(spec)
        else:
            self._next_look = self._clock.monotonic() + 1.0

    def _is_accepted(self, spec: Spec) -> bool:
        """Whether the final result is this soldier's, and a crash came right after the commit."""
        found = self._bus.look("results", spec.task_id)
        if found is None or not isinstance(found[1], ResultBase):
            return False
        return (found[1].metrics or {}).get("soldier_id") == spec.soldier_id

    def _ended(self, spec: Spec) -> bool:
        """Whether nothing of it runs or can still begin; what runs is asked to end."""
        runner = self._files.runner_of(spec.soldier_id)
        if runner is None:
            return self._files.revoke(spec.soldier_id)
        if runner.is_alive():
            tree.send([runner.pid], signal.SIGTERM)
            return False
        living = tree.members(runner.pid, spec.soldier_id)
        tree.send(living, signal.SIGKILL)
        if not living and self._files.exit_of(spec.soldier_id) is None:
            self._files.clear_temporaries()
        return not living

    def has_predecessor(self, task_id: str) -> bool:
        """Whether a soldier of an earlier claim still is at this task; it is asked to end."""
        soldier_id = self._files.soldier_of(task_id)
        spec = self._files.read(soldier_id) if soldier_id else None
        if spec is None or spec.task_id != task_id:
            return False
        if not self._ended(spec):
            return True
        self._files.put_away(spec)
        return False
