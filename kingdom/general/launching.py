"""From a claimed task to a soldier that tmux can start: workspace, prompt, environment, spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from kingdom.clock import Clock
from kingdom.engines import attempts
from kingdom.engines.choice import Engines
from kingdom.engines.claude.settings_file import DEFAULT_TOOLS
from kingdom.engines.port import Engine, Order
from kingdom.engines.same_call import SAME_CALL
from kingdom.engines.tree import MARK
from kingdom.errors import KingdomError, NeverWorks
from kingdom.general import allowance, budget, by_engine, soldier_sandbox, workspace
from kingdom.general.brief import guides
from kingdom.general.brief.guides import Told
from kingdom.general.checkouts.repositories import Checkout
from kingdom.general.grounds import spelled
from kingdom.general.purse import TASK, Allowed, Purse
from kingdom.general.soldier_sandbox import Enclosure, SandboxBuilder
from kingdom.general.spec import SoldierFiles, Spec
from kingdom.models.report import report_schema
from kingdom.models.task import Task
from kingdom.runtime import own_command
from kingdom.runtime.config import Config, General
from kingdom.store import disk
from kingdom.store.paths import BaseDir

MEGABYTE = 1024 * 1024
# The wrapper's own limit lies behind every limit that a general keeps.
_MARGIN = 60.0


class EngineUnsupported(NeverWorks):
    """The manifest does not name the configured engine."""

    code = "engine_unsupported"


class BudgetExceeded(NeverWorks):
    """Earlier attempts spent all of it."""

    code = "budget_exceeded"


class WorkspaceFailed(KingdomError):
    """The disk refused what a soldier needs."""

    code = "workspace_failed"


@dataclass(frozen=True)
class _Job:
    """One attempt, with all that is known before it has a soldier."""

    task: Task
    attempt: int
    config: Config
    general: General
    engine: Engine
    enclosure: Enclosure
    told: Told
    place: str
    checkout: Checkout | None
    earlier: Mapping[str, Any]  # what an earlier attempt, or the task this one continues, left
    spent_usd: float  # by earlier attempts at this task
    spent_is_guess: bool
    allowed: Allowed  # to this one

    @property
    def trust(self) -> str:
        return self.task.trust or allowance.NOT_KNOWN

    @property
    def environment(self) -> Mapping[str, str]:
        return self.enclosure.environment

    @property
    def workspace(self) -> str:
        """Where the soldier works."""
        return self.checkout.path if self.checkout else self.place

    @property
    def told_of_progress(self) -> Mapping[str, Any]:
        """What its thread heard last; one that continues another task has that one's."""
        found = self.earlier.get("told")
        return found if isinstance(found, dict) else {}

    @property
    def session_id(self) -> str | None:
        """Of the session to go on with; other engines cannot."""
        found = self.earlier.get("session_id")
        is_ours = isinstance(found, str) and self.earlier.get("engine") == self.engine.name
        return found if is_ours else None


class Launcher:
    def __init__(
        self,
        base: BaseDir,
        files: SoldierFiles,
        clock: Clock,
        environment: Mapping[str, str],
        engines: Engines,
        purse: Purse,
    ) -> None:
        self._base = base
        self._purse = purse
        self._engines = engines
        self._files = files
        self._clock = clock
        self._environment = own_command.on_path(base, environment)
        self.sandboxes = SandboxBuilder(base, files, self._environment)
        self._numbers = count(1)

    def place_of(self, task: Task, attempt: int) -> str:
        """The directory of this task's own."""
        return workspace.directory_for(self._base, task, self._earlier(task, attempt))

    def prepare(
        self,
        task: Task,
        attempt: int,
        config: Config,
        general: General,
        checkout: Checkout | None = None,
    ) -> Spec:
        """Everything but the session. Raises `KingdomError` whose code is a failure's."""
        engine = self._engines.current(config.settings)
        supported = general.manifest.supported_engines
        if supported and engine.name not in supported:
            raise EngineUnsupported(f"{general.name} does not work with {engine.name}.")
        try:
            job = self._job(task, attempt, config, general, engine, checkout)
            _check_budget(job)
            return self._furnished(job)
        except OSError as error:
            raise WorkspaceFailed(f"{error.filename}: {error.strerror}.") from error

    def _job(
        self,
        task: Task,
        attempt: int,
        config: Config,
        general: General,
        engine: Engine,
        checkout: Checkout | None,
    ) -> _Job:
        earlier, spent = self._earlier(task, attempt), self._spent(task, attempt)
        place = workspace.directory_for(self._base, task, earlier)
        told = guides.assemble(
            self._base,
            by_engine.guide(engine, config),
            general,
            task,
            checkout.path if checkout else place,
            failed_before=str(earlier.get("failed") or ""),
            from_untrusted=config.settings.system.memory.from_untrusted,
            roster=config.roster(besides=general.name),
            base_commit=checkout.base if checkout else "",
        )
        return _Job(
            task=task,
            attempt=attempt,
            config=config,
            general=general,
            engine=engine,
            enclosure=self.sandboxes.enclose(task, config, general, engine),
            told=told,
            place=place,
            checkout=checkout,
            earlier=earlier,
            spent_usd=spent,
            spent_is_guess=bool(self._own(task, attempt).get("spent_is_guess")),
            allowed=self._purse.allowed(allowance.budget_for(task, general.manifest), spent),
        )

    def _earlier(self, task: Task, attempt: int) -> dict[str, Any]:
        own = self._own(task, attempt)
        original = None if own or task.fresh else task.original_task_id
        return self._files.checkpoint(original) if original else own

    def _own(self, task: Task, attempt: int) -> dict[str, Any]:
        """What was left by an attempt at this very task; nothing of one that began anew."""
        own = self._files.checkpoint(task.id)
        return own if attempt > 1 or own.get("waits") else {}

    def _spent(self, task: Task, attempt: int) -> float:
        spent = self._own(task, attempt).get("spent_usd")
        return float(spent) if isinstance(spent, int | float) else 0.0

    def _prompt(self, job: _Job) -> str:
        path = os.path.join(self._base.prompts, f"{job.task.id}.md")
        disk.replace(path, job.told.prompt.encode("utf-8", "replace"), sync=False)
        return path

    def _home(self, job: _Job) -> str | None:
        """Where the engine keeps its own things, if that is not the user's home."""
        if job.enclosure.is_sandbox:
            return soldier_sandbox.engine_home(job.place, job.trust)
        return self._home_outside(job)

    def _home_outside(self, job: _Job) -> str | None:
        engine = job.engine.name
        if engine != "claude" or job.config.settings.system.runtime.claude.home == "user":
            return None
        path = self._base.path("state", "engines", engine, job.general.name)
        disk.make_directory(path)
        return path

    def _order(self, job: _Job, soldier_id: str) -> Order:
        task, manifest = job.task, job.general.manifest
        is_structured = by_engine.is_structured(job.engine, job.config)
        return Order(
            task=task,
            soldier_id=soldier_id,
            attempt=job.attempt,
            prompt_path=self._prompt(job),
            workspace=job.workspace,
            guides=job.place,
            result_path=self._files.raw_result(task.id, soldier_id),
            heartbeat_path=self._files.heartbeat(task.id),
            timeout_seconds=manifest.timeout_seconds,
            environment=job.environment,
            session_id=job.session_id,
            tools=self._tools(job),
            network=_may_reach_anything(job),
            home=self._home(job),
            budget_usd=job.allowed.usd,
            max_turns=manifest.limits.max_turns,
            model=allowance.models_for(task, manifest).get(job.engine.name),
            result_schema=report_schema() if is_structured else {},
            isolation=job.enclosure.isolation,
        )

    @staticmethod
    def _tools(job: _Job) -> tuple[str, ...] | None:
        tools = allowance.tools_for(job.task, job.general.manifest.permissions)
        if job.enclosure.isolation != "narrow":
            return tools
        return allowance.without_shell(tools, DEFAULT_TOOLS)

    def _spec(self, job: _Job) -> Spec:
        manifest, now = job.general.manifest, self._clock.now().timestamp()
        limit = manifest.timeout_seconds
        id_ = f"soldier-{int(now)}-{os.getpid()}{next(self._numbers):02d}"
        order = self._order(job, id_)
        plan = job.engine.plan(order)
        for path, content in plan.files.items():
            disk.replace(path, content.encode(), sync=False)
        is_checked = job.enclosure.isolation != "narrow" or job.trust == "member"
        return Spec(
            soldier_id=id_,
            task_id=job.task.id,
            general=job.general.name,
            engine=job.engine.name,
            attempt=job.attempt,
            argv=list(plan.argv),
            environment={**job.environment, **plan.environment, **_told(order)},
            cwd=job.workspace,
            stdin=order.prompt_path,
            stdout=os.path.join(self._base.session_logs, f"{id_}.json"),
            stderr=os.path.join(self._base.session_logs, f"{id_}.err"),
            result_path=order.result_path,
            heartbeat_path=order.heartbeat_path,
            started_at=now,
            timeout_seconds=limit,
            deadline=now + 2 * limit + _MARGIN,
            verify=list(manifest.verify) if is_checked else [],
            verify_timeout_seconds=manifest.verify_timeout_seconds,
            session_id=plan.session_id or job.session_id,
            no_progress_seconds=manifest.limits.no_progress_seconds,
            same_call=manifest.limits.same_call,
            max_output_bytes=job.config.settings.system.runtime.max_output_mb * MEGABYTE,
            earlier=_metrics_of_session(job, plan.session_id),
            spent_usd=job.spent_usd,
            spent_is_guess=job.spent_is_guess,
            budget_usd=job.allowed.usd,
            budget_of=job.allowed.limit,
            told=job.told_of_progress,
            place=job.place,
            checkout=spelled(job.checkout),
            isolation=job.enclosure.isolation,
            sandbox=self.sandboxes.section(
                job.enclosure,
                job.engine,
                order,
                plan,
                job.config,
                job.general,
                place=job.place,
                borrows=job.checkout.borrows if job.checkout else (),
                login_home=self._home_outside(job),
                limits=self._purse.limits(job.engine.name, job.allowed)
                | {SAME_CALL: manifest.limits.same_call},
            ),
        )

    def _furnished(self, job: _Job) -> Spec:
        while not self._files.create(spec := self._spec(job)):
            continue  # another general made the same id in the same second
        try:
            disk.make_directory(os.path.dirname(spec.result_path))
            self._files.name_soldier(spec)
            workspace.prepare(job.place, _description(job, spec), job.told.guide)
            self.sandboxes.hand_over_keys(job.enclosure, spec.soldier_id)
        except OSError:
            self._files.put_away(spec)
            raise
        return spec

    def argv(self, spec: Spec) -> list[str]:
        """What the session runs."""
        return attempts.argv(self._base, spec.soldier_id)


def _check_budget(job: _Job) -> None:
    left, whose = job.allowed
    if whose == TASK and left is not None and budget.is_spent(left, job.spent_usd):
        how = "counted as spent, in part by a guess" if job.spent_is_guess else "spent"
        raise BudgetExceeded(f"${job.spent_usd:.2f} of ${left + job.spent_usd:.2f} are {how}.")


def _may_reach_anything(job: _Job) -> bool:
    network = allowance.network_for(job.task, job.general.manifest.permissions)
    return network == "full" and job.enclosure.isolation != "narrow"


def _metrics_of_session(job: _Job, session_id: str | None) -> Mapping[str, Any]:
    """Of what the engine has counted already, if it goes on counting from there."""
    found = job.earlier.get("metrics")
    continues = session_id is not None and session_id == job.session_id
    return found if continues and isinstance(found, dict) else {}


def _told(order: Order) -> dict[str, str]:
    """What every soldier finds in its environment, whatever its engine."""
    return {
        "KINGDOM_TASK_ID": order.task.id,
        "KINGDOM_RESULT_PATH": order.result_path,
        "KINGDOM_PROMPT_PATH": order.prompt_path,
        "KINGDOM_WORKSPACE": order.workspace,
        "KINGDOM_HEARTBEAT_PATH": order.heartbeat_path,
        MARK: order.soldier_id,
    }


def _description(job: _Job, spec: Spec) -> dict[str, Any]:
    """The same for programs that read files."""
    task = job.task
    return {
        "task_id": task.id,
        "type": task.type,
        "general": task.target_general,
        "soldier_id": spec.soldier_id,
        "attempt": spec.attempt,
        "repo": task.repo or job.general.manifest.default_repo,
        "payload": task.payload,
        "prompt_path": spec.stdin,
        "result_path": spec.result_path,
        "heartbeat_path": spec.heartbeat_path,
    }
