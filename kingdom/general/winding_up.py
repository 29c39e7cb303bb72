"""What follows the end of a soldier before it is reported: what it left in its repository is kept,
and what it wants outside is done. The doing is `kingdom.general.grounds`; here is when."""

from __future__ import annotations

from datetime import datetime, timedelta

from kingdom.general.actions.jobs import lineage_of
from kingdom.general.attempt import Attempt
from kingdom.general.grounds import Aftermath, Grounds, Heard, Wanted, checkout_of, code_of
from kingdom.general.reporting import WAIT_SECONDS, Reporter
from kingdom.general.spec import Ended
from kingdom.general.verdicts import follow
from kingdom.limits import limit_in
from kingdom.models.manifest import Manifest, Retry
from kingdom.runtime.role import Setting, may_pass


class WindingUp:
    def __init__(self, setting: Setting, grounds: Grounds, reporter: Reporter) -> None:
        self._setting = setting
        self._clock = setting.clock
        self._grounds = grounds
        self._reporter = reporter

    def finish(self, attempt: Attempt, ended: Ended, manifest: Manifest) -> bool:
        """Whether it is over and reported. Whatever a soldier left, one whose end was decided comes
        to it: else its general would fall over it in every life."""
        try:
            if not self._is_done(attempt, ended, manifest.retry):
                return False
            self._reporter.harvest(attempt, ended, manifest)
        except Exception as error:
            if not attempt.condemned or may_pass(error):
                raise
            self._reporter.abandon(attempt, manifest, f"{type(error).__name__}: {error}")
        return True

    def _is_done(self, attempt: Attempt, ended: Ended, retry: Retry) -> bool:
        """Whether what it left in its repository is safe, and what it wants outside is done."""
        task, spec = attempt.task, attempt.spec
        assert spec is not None
        if self._grounds.is_busy(task.id) or self._clock.monotonic() < attempt.try_again_at:
            return False
        judgement = self._reporter.judged(attempt, ended)
        wants = judgement.result is not None and bool(judgement.result.actions)
        if not spec.checkout and not wants:
            return True
        if follow(judgement, attempt.number, retry) != "report":
            return True  # the next attempt finds it all where it is
        if attempt.aftermath is not None and attempt.aftermath.later is None:
            return True
        lineage = lineage_of(task, self._grounds.known_task)
        said, config = judgement.result, self._setting.config.current
        actions = said.actions if said is not None and said.status == "success" else None
        wanted = Wanted(spec.soldier_id, checkout_of(spec.checkout), actions)
        self._grounds.wind_up(task, wanted, lineage, config)
        return False

    def hear(self, attempt: Attempt, heard: Heard) -> None:
        """A fault of ours is no reason to do the work again."""
        if heard.failure is not None:
            if limit_in(heard.failure) is not None:
                self._try_again(attempt, timedelta(seconds=WAIT_SECONDS) + self._clock.now())
                return
            error = str(heard.failure)
            self._setting.log.error("task.not_wound_up", task_id=attempt.task.id, error=error)
            heard_of = f"not done: {code_of(heard.failure)[1]}"
            attempt.aftermath = Aftermath(notes=(heard_of,))
            return
        found: Aftermath = heard.value
        attempt.aftermath = found
        if found.later is not None:
            self._try_again(attempt, found.later)

    def _try_again(self, attempt: Attempt, at: datetime) -> None:
        if attempt.aftermath is None:
            attempt.aftermath = Aftermath(later=at)
        pause = max((at - self._clock.now()).total_seconds(), 1.0)
        attempt.try_again_at = self._clock.monotonic() + pause

    def rests_for(self, attempt: Attempt) -> float | None:
        """Until it is tried again, if that is to be."""
        waits = attempt.aftermath is not None and attempt.aftermath.later is not None
        if not waits or self._grounds.is_busy(attempt.task.id):
            return None
        return attempt.try_again_at - self._clock.monotonic()
