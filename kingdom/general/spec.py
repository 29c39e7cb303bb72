"""One attempt on disk: what its wrapper is told, and what the wrapper answers.

::

    state/soldiers/{soldier}.json    the spec; its general writes it, and again at freeze and thaw
    state/soldiers/{soldier}.claim   `run PID START` by the wrapper or `revoked` by the general:
                                     whoever makes it has decided whether the attempt runs
    state/soldiers/{soldier}.checks  that its program has ended, and what of `verify` runs now
    state/soldiers/{soldier}.exit    how it ended, by the wrapper
    state/soldiers/{soldier}.settings   what its engine needs beside it, if it does; or `.schema`
    state/results/{task}-raw-{soldier}/   what the soldier itself writes: its result
    state/results/{task}-soldier-id  which soldier is at it, and in `-session-id` the engine's own
                                     name for what it does, if that is known beforehand
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from kingdom.engines import attempts
from kingdom.engines.attempts import CHECKS, CLAIM, EXIT, OF_ENGINES, SUFFIX, Runner
from kingdom.models.ids import is_id
from kingdom.store import disk, leftovers
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

REVOKED = "revoked"
RESULT = "result.json"
LOST = "lost"
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Spec:
    """Moments are seconds of the wall clock, paths are absolute.

    How long a soldier may work is counted by its wrapper; moments are for people, and for wrappers
    of the version before, which end their soldier at `deadline`.
    """

    soldier_id: str
    task_id: str
    general: str
    engine: str
    attempt: int
    argv: list[str]
    environment: Mapping[str, str]
    cwd: str
    stdin: str
    stdout: str
    stderr: str
    result_path: str
    heartbeat_path: str
    started_at: float
    timeout_seconds: float
    deadline: float
    linger_seconds: float = 30.0  # for a program that has reported and does not end
    verify: list[str] = field(default_factory=list)
    verify_timeout_seconds: float = 1800.0  # for each of them
    session_id: str | None = None
    no_progress_seconds: float | None = None
    same_call: int | None = None  # how often in a row it may be made
    max_output_bytes: int | None = None  # on standard output and standard error together
    earlier: Mapping[str, Any] = field(default_factory=dict)  # metrics of the session's last run
    spent_usd: float = 0.0  # by earlier attempts
    spent_is_guess: bool = False  # in part: not all of them told
    budget_usd: float | None = None  # what this one may spend
    budget_of: str = ""  # whose limit that is: of its task, its general today, or all today
    told: Mapping[str, Any] = field(default_factory=dict)  # to its thread: `at`, `text`, `message`
    place: str = ""  # the task's own directory, with what it was told
    checkout: Mapping[str, Any] = field(default_factory=dict)
    isolation: str = "off"
    sandbox: Mapping[str, Any] = field(default_factory=dict)  # see kingdom.engines.sandbox.run
    paused_seconds: float = 0.0
    frozen_at: float | None = None

    def elapsed(self, now: float) -> float:
        """How long it has worked, to tell people; frozen time does not count."""
        until = now if self.frozen_at is None else self.frozen_at
        return max(until - self.started_at - self.paused_seconds, 0.0)

    def frozen(self, now: float) -> Self:
        return replace(self, frozen_at=now)

    def thawed(self, now: float) -> Self:
        if self.frozen_at is None:
            return self
        paused = max(now - self.frozen_at, 0.0)
        return replace(
            self,
            frozen_at=None,
            paused_seconds=self.paused_seconds + paused,
            deadline=self.deadline + paused,
        )


@dataclass(frozen=True)
class Ended:
    """How an attempt came to its end.

    `reason`: ended, lingered, asked, stopped, hangup, deadline, no_progress, same_call, flooded,
    refused, no_sandbox, lost.
    """

    reason: str
    ended_at: float
    code: int | None = None
    signal: int | None = None
    verify: list[dict[str, Any]] = field(default_factory=list)
    worked_seconds: float | None = None  # its program, without the checks
    over_budget: str = ""  # the limit that refused it a call of the model

    def worked(self, spec: Spec) -> float:
        if self.worked_seconds is None:
            return spec.elapsed(self.ended_at)
        return self.worked_seconds

    def lasted(self, spec: Spec) -> float:
        """With the checks."""
        checked = sum(float(one.get("seconds", 0.0)) for one in self.verify)
        return self.worked(spec) + checked


@dataclass(frozen=True)
class Checking:
    """An attempt whose program has ended, and whose success is checked."""

    command: str  # empty before the first
    worked_seconds: float


_Read = TypeVar("_Read", Spec, Ended)


class SoldierFiles:
    """The files of all attempts of one kingdom."""

    def __init__(self, base: BaseDir) -> None:
        self._base = base
        for directory in (base.soldiers, base.results, base.prompts, base.session_logs):
            disk.make_directory(directory)

    def keep_private(self) -> None:
        """Specs carry the engine's login."""
        disk.set_mode(self._base.soldiers, 0o700)

    def path(self, soldier_id: str, suffix: str = SUFFIX) -> str:
        return attempts.path_of(self._base, soldier_id, suffix)

    def create(self, spec: Spec) -> bool:
        """False when the id is taken."""
        try:
            disk.create_whole(self.path(spec.soldier_id), _spelled(spec))
        except FileExistsError:
            return False
        return True

    def change(self, spec: Spec) -> None:
        disk.replace(self.path(spec.soldier_id), _spelled(spec), sync=False)

    def read(self, soldier_id: str) -> Spec | None:
        """None when it is missing or damaged."""
        return _made(Spec, read_json(self.path(soldier_id)))

    def all_ids(self) -> set[str]:
        return self._ids_with(SUFFIX)

    def without_spec(self) -> set[str]:
        """Those whose removal was cut short: the spec goes first."""
        left = set[str]().union(*map(self._ids_with, (CLAIM, CHECKS, EXIT, *OF_ENGINES)))
        return left - self._ids_with(SUFFIX)

    def _ids_with(self, suffix: str) -> set[str]:
        return attempts.ids_with(self._base, suffix)

    def exit_of(self, soldier_id: str) -> Ended | None:
        return _made(Ended, read_json(self.path(soldier_id, EXIT)))

    def checking(self, spec: Spec) -> Checking | None:
        if not spec.verify:
            return None
        raw = read_json(self.path(spec.soldier_id, CHECKS))
        try:
            return Checking(str(raw["command"]), float(raw["worked_seconds"]))
        except (KeyError, TypeError, ValueError):
            return None

    def runner_of(self, soldier_id: str) -> Runner | None:
        """None before the wrapper has begun, and when it never will."""
        return attempts.runner_of(self._base, soldier_id)

    def revoke(self, soldier_id: str) -> bool:
        """Whether the attempt never began, and now never will."""
        try:
            disk.create_whole(self.path(soldier_id, CLAIM), REVOKED.encode())
        except FileExistsError:
            return disk.head(self.path(soldier_id, CLAIM), 64) == REVOKED.encode()
        return True

    def is_damaged(self, soldier_id: str) -> bool:
        """Whether someone began it, and nobody can tell who: the machine went down just then."""
        path = self.path(soldier_id, CLAIM)
        is_revoked = disk.head(path, 64) == REVOKED.encode()
        return disk.exists(path) and not is_revoked and self.runner_of(soldier_id) is None

    def forget(self, soldier_id: str) -> None:
        attempts.forget(self._base, soldier_id)

    def put_away(self, spec: Spec) -> None:
        """It is over; what it wrote and nobody accepted stays for people to see."""
        self.forget(spec.soldier_id)
        place = os.path.dirname(self.raw_result(spec.task_id, spec.soldier_id))
        with suppress(OSError):
            leftovers.clear_in(place)
            disk.remove_directory(place)

    def discard_raw(self, spec: Spec) -> None:
        """What it wrote is of no use to anybody."""
        with suppress(OSError):
            disk.remove(spec.result_path)
            disk.remove_directory(os.path.dirname(spec.result_path))

    def clear_temporaries(self) -> None:
        """Of a wrapper that was killed while it wrote."""
        for directory in (self._base.soldiers, self._base.results):
            leftovers.clear_in(directory)

    def name_soldier(self, spec: Spec) -> None:
        path = self._of_task(spec.task_id, "soldier-id")
        disk.replace(path, spec.soldier_id.encode(), sync=False)
        if spec.session_id:
            path = self._of_task(spec.task_id, "session-id")
            disk.replace(path, spec.session_id.encode(), sync=False)

    def soldier_of(self, task_id: str) -> str:
        """The last one that was at this task; empty if there was none."""
        return disk.head(self._of_task(task_id, "soldier-id"), 256).decode("ascii", "replace")

    def raw_result(self, task_id: str, soldier_id: str) -> str:
        """Each attempt writes to a place of its own: a late writer cannot pass for its successor,
        and a sandbox can let it write there and nowhere beside it."""
        return os.path.join(self._of_task(task_id, f"raw-{soldier_id}"), RESULT)

    def accept_raw(self, spec: Spec) -> None:
        target = self._of_task(spec.task_id, "raw.json")
        if disk.exists(spec.result_path) and not os.path.isdir(target):
            disk.replace_by(spec.result_path, target)

    def heartbeat(self, task_id: str) -> str:
        return self._of_task(task_id, "heartbeat")

    def checkpoint(self, task_id: str) -> dict[str, Any]:
        """What a later task needs to go on where this one ended."""
        found = read_json(self._of_task(task_id, "checkpoint.json"), {})
        return found if isinstance(found, dict) else {}

    def with_checkpoint(self) -> list[str]:
        """Tasks that left one."""
        end = "-checkpoint.json"
        found = (
            name.removesuffix(end) for name in disk.names(self._base.results) if name.endswith(end)
        )
        return [task_id for task_id in found if is_id(task_id)]

    def write_checkpoint(self, task_id: str, value: Mapping[str, Any]) -> None:
        write_json(self._of_task(task_id, "checkpoint.json"), value, sync=False)

    def _of_task(self, task_id: str, name: str) -> str:
        return os.path.join(self._base.results, f"{task_id}-{name}")


def _made(kind: type[_Read], raw: Any) -> _Read | None:
    """None of what is damaged; what another version wrote besides is passed over."""
    known = {one.name for one in fields(kind)}
    try:
        return kind(**{key: value for key, value in raw.items() if key in known})
    except (AttributeError, TypeError):
        return None


def _spelled(spec: Spec) -> bytes:
    return json.dumps(asdict(spec), ensure_ascii=False, indent=2).encode("utf-8", "surrogateescape")
