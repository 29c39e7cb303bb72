"""What follows from the end of an attempt: a final result, another attempt, or a wait.

The task moves and the result comes to be in one commit. What is told about it (internal events,
the tasks log, lessons) and what is tidied up comes after: a crash can lose a line, never a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.bus.port import Move, New
from kingdom.clock import isoformat
from kingdom.engines.choice import Engines
from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE, Standings
from kingdom.errors import KingdomError, TryLater
from kingdom.failures import FAILURES
from kingdom.general import budget, verdicts
from kingdom.general.attempt import Attempt
from kingdom.general.brief import memory
from kingdom.general.control import Control
from kingdom.general.findings import Findings
from kingdom.general.purse import Purse
from kingdom.general.spec import Ended, SoldierFiles, Spec
from kingdom.general.verdicts import Judgement
from kingdom.models.manifest import Manifest
from kingdom.models.result import ResultBase
from kingdom.runtime.role import Setting, is_of_machine
from kingdom.runtime.secrets import Masker
from kingdom.runtime.task_log import TaskLog

WAIT_SECONDS = 30.0
_KEEPS_CHECKPOINT = ("needs_human", "failed", "killed")


class Reporter:
    def __init__(
        self,
        setting: Setting,
        files: SoldierFiles,
        control: Control,
        engines: Engines,
        purse: Purse,
    ) -> None:
        self._setting = setting
        self._purse = purse
        self._findings = Findings(setting, engines)
        self._standings = Standings(setting.base)
        self._control = control
        self._files = files
        self._log = setting.log
        self._tasks_log = TaskLog(setting.base, setting.name, setting.clock)
        self._masker = Masker(setting.environment)

    # What is told while it goes on

    def started(self, attempt: Attempt) -> None:
        """Not yet done: a disk without room for this line has none for a soldier's files."""
        task = attempt.task
        try:
            self._setting.internal.emit("task.started", {"task_id": task.id}, task.trace_id)
        except TryLater as error:
            if is_of_machine(error):
                raise
            self._log.warning("log.not_written", error=str(error), type="task.started")

    def spawned(self, attempt: Attempt) -> None:
        spec = attempt.spec
        assert spec is not None
        soldier = spec.soldier_id
        self._emit("soldier.spawned", attempt, task_id=attempt.task.id, soldier_id=soldier)
        self._note(attempt, "started", soldier=soldier, attempt=spec.attempt, engine=spec.engine)

    def adopted(self, attempt: Attempt, spec: Spec) -> None:
        self._note(attempt, "adopted", soldier=spec.soldier_id, attempt=spec.attempt)

    def put_back(self, attempt: Attempt, found_in: str) -> None:
        soldier = attempt.spec.soldier_id if attempt.spec else None
        self._note(attempt, "put_back", found_in=found_in, soldier=soldier)

    # The end of an attempt

    def judged(self, attempt: Attempt, ended: Ended) -> Judgement:
        """What the soldier left behind; the same whenever it is asked."""
        return self._findings.judged(attempt, ended)[0]

    def harvest(self, attempt: Attempt, ended: Ended, manifest: Manifest) -> None:
        """Judge what the soldier left behind, and act on it."""
        spec = attempt.spec
        assert spec is not None
        judgement, raw = self._findings.judged(attempt, ended)
        self._note_spending(attempt, spec, judgement, ended, manifest)
        judgement = self._held_against_engine(spec, judgement)
        self.conclude(attempt, judgement, manifest, ended)
        if raw.failure == "result_too_large":
            self._files.discard_raw(spec)

    def _note_spending(
        self, attempt: Attempt, spec: Spec, judgement: Judgement, ended: Ended, manifest: Manifest
    ) -> None:
        repo = attempt.task.repo or manifest.default_repo or ""
        self._purse.note(spec, ended.ended_at, repo, judgement.metrics)

    def abandon(self, attempt: Attempt, manifest: Manifest, why: str) -> None:
        """Its end was decided, and what it left cannot even be judged: nothing of it counts."""
        spec = attempt.spec
        assert spec is not None
        self._warn(attempt, "soldier.not_judged", attempt.condemned, why)
        attempt.spec = None
        self.fail(attempt, attempt.condemned, why, manifest)
        self._files.put_away(spec)

    def fail(self, attempt: Attempt, code: str, error: str, manifest: Manifest) -> None:
        """It came to no soldier."""
        self.conclude(attempt, Judgement(FAILURES[code], error), manifest)

    def _held_against_engine(self, spec: Spec, judgement: Judgement) -> Judgement:
        """An engine that fails is left alone for a while. Who met an outage first has an attempt
        less, those whose trial fails do not: so nobody is given up while it lasts, and work that
        breaks the engine by itself comes to its end."""
        code = judgement.failure.code if judgement.failure else ""
        code = str(judgement.metrics.get("engine_fault") or code)
        clock, name = self._setting.clock, spec.engine
        if code not in (LIMIT, OUTAGE, LOGIN):
            began = datetime.fromtimestamp(spec.started_at, UTC)
            if judgement.failure is None and self._standings.note_success(name, began, clock.now()):
                self._tell_of_engine(name, None)
            return judgement
        is_first = self._standings.of(name) is None
        reason = f"{FAILURES[code].sentence} {judgement.error}".strip()
        closed = self._standings.note_fault(name, code, reason, judgement.until, clock.now())
        if closed is not None:
            self._tell_of_engine(name, closed.until)
        if judgement.failure is None:
            return judgement
        known = self._standings.of(name)
        until = known.until if known is not None else judgement.until
        counts = code == OUTAGE and is_first
        failure = replace(judgement.failure, fate="retry") if counts else judgement.failure
        return replace(judgement, failure=failure, until=until)

    def _tell_of_engine(self, name: str, until: datetime | None) -> None:
        facts = {
            "engine": name,
            "available": until is None,
            "until": None if until is None else isoformat(until),
        }
        self._log.warning("engine.changed", **facts)
        self._setting.tell("system.engine_changed", facts)

    def conclude(
        self, attempt: Attempt, judgement: Judgement, manifest: Manifest, ended: Ended | None = None
    ) -> None:
        step = verdicts.follow(judgement, attempt.number, manifest.retry)
        if step == "report":
            self._report(attempt, judgement, ended)
        elif step == "retry":
            self._retry(attempt, judgement, manifest, ended)
        else:
            self._wait(attempt, judgement)
        self._tidy(attempt)

    def _report(self, attempt: Attempt, judgement: Judgement, ended: Ended | None) -> None:
        now, task = self._setting.clock.now(), attempt.task
        metrics = self._metrics(attempt, ended)
        judgement = self._findings.with_output_of_check(attempt, judgement)
        result = verdicts.final_result(task, judgement, metrics, now)
        has_succeeded = result.status == "success"  # also if what comes of it is to be approved
        if attempt.aftermath is not None:
            result = verdicts.with_aftermath(result, attempt.aftermath)
        cancelled = result.error_code in verdicts.ON_REQUEST
        status = "cancelled" if cancelled else verdicts.TASK_STATUS[result.status]
        if attempt.spec is not None and result.status in _KEEPS_CHECKPOINT:
            self._keep_checkpoint(attempt.spec, judgement, {})
        self._setting.bus.commit(
            [Move(attempt.claim, "completed", status=status)], [New("results", result)]
        )
        if attempt.spec is not None and judgement.result is not None:
            self._files.accept_raw(attempt.spec)
        self._control.forget(task.id)
        self._tell_of_soldier(attempt, judgement, ended)
        self._tell(attempt, result, metrics["duration_seconds"])
        if result.held:
            reason = " ".join(result.held)
            actions = [one.partition(":")[0] for one in result.held]
            self._emit(
                "task.actions_held", attempt, task_id=task.id, actions=actions, reason=reason
            )
        if has_succeeded and result.memory_updates:
            self._learn(attempt, result.memory_updates)

    def _learn(self, attempt: Attempt, lessons: Sequence[str]) -> None:
        config, task = self._setting.config.current, attempt.task
        system, package = config.settings.system, config.generals.get(self._setting.name)
        try:
            memory.learn(
                self._setting.base,
                self._setting.name,
                map(self._masker.text, lessons),
                repo=task.repo or (package.manifest.default_repo if package else None),
                trust=task.trust,
                today=self._setting.clock.now().astimezone(system.zone).date(),
                from_untrusted=system.memory.from_untrusted,
            )
        except (KingdomError, OSError) as error:
            self._log.warning("memory.not_written", task_id=task.id, error=str(error))

    def _retry(
        self, attempt: Attempt, judgement: Judgement, manifest: Manifest, ended: Ended | None
    ) -> None:
        failure = judgement.failure
        assert failure is not None
        seconds = verdicts.backoff(attempt.number, manifest.retry)
        not_before = self._setting.clock.now() + timedelta(seconds=seconds)
        if judgement.until is not None:
            not_before = max(not_before, judgement.until)
        fields = {"retry_count": attempt.number, "not_before": not_before}
        failed = self._findings.what_failed(attempt, judgement)
        self._keep_for_next(attempt, judgement, {"failed": failed})
        self._setting.bus.commit([Move(attempt.claim, "pending", fields=fields)])
        error = f"{failure.sentence} {judgement.error}".strip()
        self._tell_of_soldier(attempt, judgement, ended)
        self._emit(
            "task.retried",
            attempt,
            task_id=attempt.task.id,
            error=error,
            retry_count=attempt.number,
        )
        self._note(attempt, "retried", code=failure.code, attempt=attempt.number, again_in=seconds)
        self._warn(attempt, "task.retried", failure.code, error)

    def _wait(self, attempt: Attempt, judgement: Judgement) -> None:
        failure = judgement.failure
        assert failure is not None
        now = self._setting.clock.now()
        until = judgement.until or now + timedelta(seconds=WAIT_SECONDS)
        if failure.code == verdicts.STOPPED:
            until = min(until, now)  # its wrapper's clock may have been ahead
        self._keep_for_next(attempt, judgement, {"waits": True})
        reason = f"{failure.sentence} {judgement.error}".strip()
        self._setting.bus.defer(attempt.claim, until, reason)
        self._note(attempt, "waits", code=failure.code, until=isoformat(until))
        self._warn(attempt, "task.waits", failure.code, reason)

    # Facts

    def _metrics(self, attempt: Attempt, ended: Ended | None) -> dict[str, Any]:
        spec = attempt.spec
        if spec is None:
            return {"duration_seconds": 0.0, "attempts": attempt.number}
        now = self._setting.clock.now().timestamp()
        lasted = ended.lasted(spec) if ended else spec.elapsed(now)
        return {
            "duration_seconds": round(max(lasted, 0.0), 3),
            "attempts": attempt.number,
            "engine": spec.engine,
            "isolation": spec.isolation,
            "soldier_id": spec.soldier_id,
        }

    def _keep_for_next(
        self, attempt: Attempt, judgement: Judgement, more: Mapping[str, Any]
    ) -> None:
        if attempt.spec is not None:
            self._keep_checkpoint(attempt.spec, judgement, more)

    def _keep_checkpoint(self, spec: Spec, judgement: Judgement, more: Mapping[str, Any]) -> None:
        """What the next attempt, or a task that continues this one, begins with."""
        failure = judgement.failure
        goes_on = failure is None or failure.code in verdicts.CONTINUED
        self._files.write_checkpoint(
            spec.task_id,
            {
                "soldier_id": spec.soldier_id,
                "engine": spec.engine,
                "session_id": judgement.session_id if goes_on else None,
                "workspace": spec.place or spec.cwd,
                "metrics": verdicts.without_soldier_s(judgement.metrics),
                "told": dict(spec.told),
                "spent_usd": spec.spent_usd + judgement.counted_usd,
                "spent_is_guess": spec.spent_is_guess or budget.UNKNOWN in judgement.metrics,
                **more,
            },
        )

    # Telling

    def _tell_of_soldier(self, attempt: Attempt, judgement: Judgement, ended: Ended | None) -> None:
        spec = attempt.spec
        if spec is None or ended is None:
            return
        if not attempt.announced:
            self.spawned(attempt)
        ids: Mapping[str, Any] = {"task_id": spec.task_id, "soldier_id": spec.soldier_id}
        failure = judgement.failure
        if failure is not None and failure.code == "timed_out":
            limit = spec.timeout_seconds
            self._emit("soldier.timeout", attempt, **ids, timeout_seconds=limit)
            return
        said = judgement.result
        status = said.status if said is not None else failure.code if failure else ""
        self._emit("soldier.completed", attempt, **ids, status=status)

    def _tell(self, attempt: Attempt, result: ResultBase, duration: float) -> None:
        id_ = attempt.task.id
        if result.error_code in verdicts.ON_REQUEST:
            self._emit("task.cancelled", attempt, task_id=id_, reason=result.summary)
        elif result.status in ("success", "skipped"):
            status = result.status
            self._emit(
                "task.completed", attempt, task_id=id_, status=status, duration_seconds=duration
            )
        elif result.status == "needs_human":
            self._emit("task.needs_human", attempt, task_id=id_, question=result.question or "")
        else:
            retries = attempt.task.retry_count
            error = result.error or ""
            self._emit("task.failed", attempt, task_id=id_, error=error, retry_count=retries)
            self._warn(attempt, "task.failed", result.error_code or "", error)
        soldier = attempt.spec.soldier_id if attempt.spec else None
        self._note(
            attempt, "ended", status=result.status, code=result.error_code, soldier=soldier,
            seconds=duration,
        )  # fmt: skip

    def _emit(self, type_: str, attempt: Attempt, **data: Any) -> None:
        self._setting.tell(type_, data, attempt.task.trace_id)

    def _note(self, attempt: Attempt, step: str, /, **facts: object) -> None:
        self._tasks_log.note(attempt.task.id, step, **facts)

    def _warn(self, attempt: Attempt, event: str, code: str, error: str) -> None:
        task = attempt.task
        self._log.warning(event, task_id=task.id, trace_id=task.trace_id, code=code, error=error)

    def _tidy(self, attempt: Attempt) -> None:
        attempt.close()
        if attempt.spec is not None:
            self._files.put_away(attempt.spec)
