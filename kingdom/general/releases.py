"""Tasks of type `release`: what the outbound gate held of another task, and a person let pass.

There is no soldier: what was asked for lies in `state/results/held/`. It is done as after any
soldier, once whatever happens meanwhile, and goes from there when its result is written.
"""

from __future__ import annotations

from kingdom.failures import FAILURES
from kingdom.general.actions.jobs import lineage_of
from kingdom.general.attempt import Attempt
from kingdom.general.grounds import Grounds, Wanted, checkout_of
from kingdom.general.reporting import Reporter
from kingdom.general.verdicts import Judgement
from kingdom.models.manifest import Manifest
from kingdom.models.result import Success
from kingdom.runtime import held_actions
from kingdom.runtime.role import Setting


class Releases:
    def __init__(self, setting: Setting, grounds: Grounds, reporter: Reporter) -> None:
        self._setting = setting
        self._base = setting.base
        self._clock = setting.clock
        self._grounds = grounds
        self._reporter = reporter

    def tend(self, attempt: Attempt, manifest: Manifest) -> bool:
        """Whether it is over and reported."""
        task = attempt.task
        if self._grounds.is_busy(task.id):
            return False
        if attempt.condemned:
            self._reporter.fail(attempt, attempt.condemned, "", manifest)
            return True
        if attempt.aftermath is not None and attempt.aftermath.later is None:
            self._report(attempt, manifest)
            return True
        if self._clock.monotonic() >= attempt.try_again_at:
            return self._begin(attempt, manifest)
        return False

    def _begin(self, attempt: Attempt, manifest: Manifest) -> bool:
        task = attempt.task
        found = held_actions.read(self._base, task.original_task_id or "")
        if found is None:
            nothing = f"Nothing of {task.original_task_id} is held any more."
            self._reporter.conclude(attempt, Judgement(FAILURES["nothing_held"], nothing), manifest)
            return True
        if not attempt.told_of_start:
            self._reporter.started(attempt)
            attempt.told_of_start = True
        checkout = checkout_of(found.checkout)
        wanted = Wanted(found.attempt, checkout, found.actions, found.released)
        lineage = lineage_of(task, self._grounds.known_task)
        self._grounds.wind_up(task, wanted, lineage, self._setting.config.current)
        return False

    def _report(self, attempt: Attempt, manifest: Manifest) -> None:
        """What was held goes last: without it nothing would be left to do again."""
        task = attempt.task
        original = task.original_task_id or ""
        done = Success(task_id=task.id, summary=f"What was held of {original} was let pass.")
        self._reporter.conclude(attempt, Judgement(result=done), manifest)
        held_actions.remove(self._base, original)
