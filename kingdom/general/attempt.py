"""One task in a general's hands: its claim, its soldier, and how far that is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from kingdom.bus.port import Claim
from kingdom.clock import isoformat
from kingdom.engines.attempts import Runner
from kingdom.general.checkouts.repositories import Checkout
from kingdom.general.grounds import Aftermath
from kingdom.general.registry import Entry
from kingdom.general.spec import Spec
from kingdom.models.task import Task

RELEASE, APPROVAL = "release", "approval"


def needs_no_soldier(type_: str, priority: str = "") -> bool:
    """What was held is done, or a person decided against it."""
    return type_ in (RELEASE, APPROVAL)


class Stage(StrEnum):
    """What `state/sessions.json` shows."""

    WAITING = "waiting"  # claimed, and no soldier yet: it is frozen, or about to be begun
    STARTING = "starting"
    RUNNING = "running"
    FROZEN = "frozen"
    ENDING = "ending"


@dataclass
class Attempt:
    """Moments are of the monotonic clock."""

    claim: Claim
    renew_at: float
    condemned: str = ""  # a failure decided already
    condemned_why: str = ""
    stage: Stage = Stage.WAITING
    spec: Spec | None = None
    runner: Runner | None = None
    descriptor: int = -1  # becomes readable when the wrapper ends
    watched_from: float = 0.0  # since when we see it at work
    begun_at: float | None = None  # when tmux was asked to start it
    asked_tmux_at: float = 0.0
    asked_to_end_at: float | None = None
    refusal: str = ""  # why tmux did not start it, or has it no more
    announced: bool = False
    adopted: bool = False  # begun by a former life of its general
    quiet_looks: int = 0  # in a row that found none of its processes running, while frozen
    look_at: float = 0.0
    doing: str = ""  # in the engine's words
    followed_at: float = 0.0
    told_of_start: bool = False
    has_room: bool = False  # counted already, while its repository is prepared
    checkout: Checkout | None = None
    has_ended: bool = False  # its soldier; what it left is still seen to
    aftermath: Aftermath | None = None
    try_again_at: float = 0.0
    faults: int = 0  # of ours, met while it was looked after

    @property
    def task(self) -> Task:
        assert isinstance(self.claim.message, Task)
        return self.claim.message

    @property
    def is_release(self) -> bool:
        return needs_no_soldier(self.task.type)

    @property
    def waits_for_soldier(self) -> bool:
        return self.spec is None and not self.is_release

    @property
    def number(self) -> int:
        return self.task.retry_count + 1

    def adopt(self, spec: Spec, begun_at: float) -> None:
        """Its soldier of a former life."""
        self.spec, self.stage, self.begun_at = spec, Stage.STARTING, begun_at
        self.adopted = self.announced = True

    def reset(self) -> None:
        """As if it had just been claimed."""
        self.stage, self.spec, self.begun_at, self.refusal = Stage.WAITING, None, None, ""
        self.adopted = self.announced = self.has_room = False

    def entry(self) -> Entry | None:
        """Its line in `state/sessions.json`; None without a soldier."""
        if self.spec is None or self.stage is Stage.WAITING or self.has_ended:
            return None
        spec = self.spec
        return {
            "id": spec.soldier_id,
            "task_id": spec.task_id,
            "general": spec.general,
            "engine": spec.engine,
            "attempt": spec.attempt,
            "started_at": isoformat(datetime.fromtimestamp(spec.started_at, UTC)),
            "state": str(self.stage),
            **({"spent_usd": spec.spent_usd} if spec.spent_usd else {}),
            **({"spent_is_guess": True} if spec.spent_is_guess else {}),
            **({"doing": self.doing} if self.doing else {}),
        }

    def watch(self, runner: Runner) -> None:
        """From here on its end is noticed at once."""
        self.runner = runner
        try:
            self.descriptor = os.pidfd_open(runner.pid)
        except OSError:  # gone already, or a kernel without them: looking at it tells as well
            self.descriptor = -1

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
