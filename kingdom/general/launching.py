"""From a claimed task to a soldier that tmux can start: workspace, prompt, environment, spec."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from kingdom.clock import Clock
from kingdom.engines import soldier
from kingdom.engines.choice import engine_for
from kingdom.engines.port import Engine, Order
from kingdom.engines.tree import MARK
from kingdom.errors import KingdomError, NeverWorks
from kingdom.general import allowance, prompts, workspace
from kingdom.general.spec import SoldierFiles, Spec
from kingdom.models.task import Task
from kingdom.runtime.config import Config, General
from kingdom.store import disk
from kingdom.store.paths import BaseDir

# The wrapper's own limit lies behind every limit that a general keeps.
_MARGIN = 60.0


class EngineUnsupported(NeverWorks):
    """The manifest does not name the configured engine."""

    code = "engine_unsupported"


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
    environment: Mapping[str, str]
    prompt_path: str
    workspace: str
    session_id: str | None


class Launcher:
    def __init__(
        self, base: BaseDir, files: SoldierFiles, clock: Clock, environment: Mapping[str, str]
    ) -> None:
        self._base = base
        self._files = files
        self._clock = clock
        self._environment = environment
        self._numbers = count(1)

    def prepare(self, task: Task, attempt: int, config: Config, general: General) -> Spec:
        """Everything but the session. Raises `KingdomError` whose code is a failure's."""
        engine = engine_for(config.settings, self._environment, self._base.root)
        supported = general.manifest.supported_engines
        if supported and engine.name not in supported:
            raise EngineUnsupported(f"{general.name} does not work with {engine.name}.")
        try:
            job = self._job(task, attempt, config, general, engine)
            return self._furnished(job)
        except OSError as error:
            raise WorkspaceFailed(f"{error.filename}: {error.strerror}.") from error

    def _job(
        self, task: Task, attempt: int, config: Config, general: General, engine: Engine
    ) -> _Job:
        original = None if task.fresh else task.original_task_id
        earlier = self._files.checkpoint(original) if original else {}
        same_engine = earlier.get("engine") == engine.name
        place = workspace.directory_for(self._base, task, earlier)
        return _Job(
            task=task,
            attempt=attempt,
            config=config,
            general=general,
            engine=engine,
            environment=allowance.environment_for(
                task, general.manifest.permissions, config.settings, self._environment
            ),
            prompt_path=self._prompt(task, general, place),
            workspace=place,
            session_id=earlier.get("session_id") if same_engine else None,
        )

    def _prompt(self, task: Task, general: General, place: str) -> str:
        repo = task.repo or general.manifest.default_repo
        text = prompts.render(general.prompt, task, repo, place)
        path = os.path.join(self._base.prompts, f"{task.id}.md")
        disk.replace(path, text.encode("utf-8", "replace"), sync=False)
        return path

    def _spec(self, job: _Job) -> Spec:
        task, limit = job.task, job.general.manifest.timeout_seconds
        now = self._clock.now().timestamp()
        id_ = f"soldier-{int(now)}-{os.getpid()}{next(self._numbers):02d}"
        order = Order(
            task=task,
            soldier_id=id_,
            attempt=job.attempt,
            prompt_path=job.prompt_path,
            workspace=job.workspace,
            result_path=self._files.raw_result(task.id, id_),
            heartbeat_path=self._files.heartbeat(task.id),
            timeout_seconds=limit,
            environment=job.environment,
            session_id=job.session_id,
            tools=allowance.tools_for(task, job.general.manifest.permissions),
        )
        plan = job.engine.plan(order)
        for path, content in plan.files.items():
            disk.replace(path, content.encode(), sync=False)
        return Spec(
            soldier_id=id_,
            task_id=task.id,
            general=job.general.name,
            engine=job.engine.name,
            attempt=job.attempt,
            argv=list(plan.argv),
            environment={**job.environment, **plan.environment, **_told(order)},
            cwd=job.workspace,
            stdin=job.prompt_path,
            stdout=os.path.join(self._base.session_logs, f"{id_}.json"),
            stderr=os.path.join(self._base.session_logs, f"{id_}.err"),
            result_path=order.result_path,
            heartbeat_path=order.heartbeat_path,
            started_at=now,
            timeout_seconds=limit,
            deadline=now + 2 * limit + _MARGIN,
            verify=list(job.general.manifest.verify),
            session_id=plan.session_id or job.session_id,
        )

    def _furnished(self, job: _Job) -> Spec:
        while not self._files.create(spec := self._spec(job)):
            continue  # another general made the same id in the same second
        general = job.general
        guides = workspace.guides(self._base, general.name, job.config.guide, general.soul)
        try:
            self._files.name_soldier(spec)
            workspace.prepare(job.workspace, _description(job, spec), guides)
        except OSError:
            self._files.forget(spec.soldier_id)
            raise
        return spec

    def argv(self, spec: Spec) -> list[str]:
        """What the session runs."""
        wrapper = os.path.abspath(soldier.__file__)
        return [sys.executable, "-I", "-S", wrapper, self._files.path(spec.soldier_id)]


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
