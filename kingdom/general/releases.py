"""Tasks without a soldier, about what was held of another one: of type `release`, if a person let
it pass the outbound gate, and `approval`, if one answered whether it may be done.

What was asked for lies in `state/results/held/`. It is done as after any soldier, once whatever
happens meanwhile, and goes from there when its result is written. What is rejected goes from there
first, so that it is never done.
"""

from __future__ import annotations

from kingdom.failures import FAILURES
from kingdom.general.actions import approval
from kingdom.general.actions.jobs import lineage_of
from kingdom.general.attempt import APPROVAL, Attempt
from kingdom.general.grounds import Grounds, Wanted, checkout_of
from kingdom.general.reporting import Reporter
from kingdom.general.verdicts import Judgement
from kingdom.models.manifest import Manifest
from kingdom.models.result import Skipped, Success
from kingdom.models.task import Task
from kingdom.runtime import held_actions
from kingdom.runtime.role import Setting
from kingdom.words import Words

_BY_DEFAULT = "default"  # who answered if nobody did in time


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
        if not attempt.told_of_start:
            self._reporter.started(attempt)
            attempt.told_of_start = True
        if task.type == APPROVAL and not approval.is_given(task.payload.get("answer")):
            self._reject(attempt, manifest)
            return True
        found = held_actions.read(self._base, task.original_task_id or "")
        if found is None:
            nothing = f"Nothing of {task.original_task_id} is held any more."
            self._reporter.conclude(attempt, Judgement(FAILURES["nothing_held"], nothing), manifest)
            return True
        checkout = checkout_of(found.checkout)
        if task.type == APPROVAL:
            wanted = Wanted(found.attempt, checkout, found.actions, approved=found.approved)
        else:
            wanted = Wanted(found.attempt, checkout, found.actions, released=found.released)
        lineage = lineage_of(task, self._grounds.known_task)
        self._grounds.wind_up(task, wanted, lineage, self._setting.config.current)
        return False

    def _reject(self, attempt: Attempt, manifest: Manifest) -> None:
        task = attempt.task
        held_actions.withdraw_approvals(self._base, task.original_task_id or "", self._clock.now())
        said = self._said("general_rejected", task)
        done = Skipped(task_id=task.id, summary=said, reason=said)
        self._reporter.conclude(attempt, Judgement(result=done), manifest)

    def _report(self, attempt: Attempt, manifest: Manifest) -> None:
        """What was held goes last: without it nothing would be left to do again."""
        task = attempt.task
        original = task.original_task_id or ""
        said = f"What was held of {original} was let pass."
        if task.type == APPROVAL:
            said = self._said("general_approved", task)
        done = Success(task_id=task.id, summary=said)
        self._reporter.conclude(attempt, Judgement(result=done), manifest)
        held_actions.remove(self._base, original)

    def _said(self, name: str, task: Task) -> str:
        words = Words(self._setting.config.current.settings.system.language)
        who = str(task.payload.get("answered_by") or "?")
        return words("general_not_approved") if who == _BY_DEFAULT else words(name, who=who)
