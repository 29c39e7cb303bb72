"""Whether new work is let in: the engine, health, the budget, free soldiers. Pure.

Each refusal has a stable code and one sentence. It is for work only: answers, and commands other
than a retry, are never held back, and what nobody subscribes to is discarded whatever the gates
say, unless it may be meant for a general whose package cannot be used now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kingdom.engines.port import Availability
from kingdom.errors import ConfigurationError
from kingdom.models.manifest import Manifest
from kingdom.models.priority import HIGH
from kingdom.models.resources import read_resources

HealthWord = Literal["green", "yellow", "orange", "red", "unmeasured"]
TokenWord = Literal["ok", "warning", "critical", "unknown"]


@dataclass(frozen=True)
class Deferral:
    """Why work is not let in now."""

    code: str
    reason: str
    remedy: str = ""


RECOVERS = "It goes on by itself when the machine has recovered."
AHEAD = 5.0  # seconds that clocks of two processes may be apart
UNMEASURED = "Nobody measures it now; have the chamberlain do so: kingdom stop && kingdom start"


@dataclass(frozen=True)
class Measured:
    """What `state/resources.json` says, as far as admission cares."""

    health: HealthWord = "unmeasured"
    tokens: TokenWord = "unknown"
    note: str = ""  # why health is so
    remedy: str = RECOVERS


def measured(raw: Any, now: datetime, stale_seconds: float) -> Measured:
    """From the file's content; None means there is no file yet, as on a first start."""
    if raw is None:
        return Measured()
    resources = read_resources(raw)
    if resources is None:
        return Measured("orange", "unknown", "state/resources.json cannot be read", UNMEASURED)
    age = (now - resources.updated_at).total_seconds()
    tokens: TokenWord = resources.tokens.status
    if not -AHEAD <= age <= stale_seconds:
        when = f"{age:.0f} seconds old" if age > 0 else f"from {-age:.0f} seconds ahead"
        note = f"state/resources.json is {when}"
        return Measured("orange", tokens, note, UNMEASURED)
    return Measured(resources.health, tokens, resources.reason or "")


@dataclass(frozen=True)
class Gates:
    """Everything that admission looks at."""

    engine: Availability
    measured: Measured = field(default_factory=Measured)
    frozen: bool = False
    max_soldiers: int = 1
    outstanding: Mapping[str, int] = field(default_factory=dict)  # tasks not ended, by general
    absent: Collection[str] = ()  # generals that are gone: what waits for them needs no soldier

    @property
    def total(self) -> int:
        return sum(many for name, many in self.outstanding.items() if name not in self.absent)


def deferral(gates: Gates, general: Manifest, priority: str) -> Deferral | None:
    """Why an event of this priority for this general has to wait; None if it need not."""
    return closure(gates, general, priority) or _soldiers(gates, general)


def closure(gates: Gates, general: Manifest, priority: str) -> Deferral | None:
    """The same, for what may wait for a soldier as a task."""
    urgent = (general.priority or priority) == HIGH
    return (
        _frozen(gates)
        or _engine(gates.engine)
        or _health(gates.measured, urgent)
        or _tokens(gates.measured.tokens, urgent)
    )


def nobody_yet(unusable: Mapping[str, ConfigurationError]) -> Deferral | None:
    """What nobody subscribes to may be meant for a general whose package cannot be used now."""
    for name, fault in unusable.items():
        reason = f"No general takes it up, and {name} cannot be used: {fault.sentence}"
        return Deferral("general_unusable", reason, fault.remedy)
    return None


def room(gates: Gates, generals: Mapping[str, Manifest]) -> int:
    """How many may be let in before any limit could be passed, whoever they are for."""
    free = [gates.max_soldiers - gates.total]
    for name, manifest in generals.items():
        if manifest.max_soldiers is not None:
            free.append(manifest.max_soldiers - gates.outstanding.get(name, 0))
    return min((one for one in free if one > 0), default=0)


def _frozen(gates: Gates) -> Deferral | None:
    if not gates.frozen:
        return None
    return Deferral("frozen", "The kingdom is frozen.", "Go on with: kingdom thaw")


def _engine(engine: Availability) -> Deferral | None:
    if engine.available:
        return None
    return Deferral("engine_unavailable", engine.reason, engine.remedy)


def _health(found: Measured, urgent: bool) -> Deferral | None:
    if found.health in ("green", "unmeasured") or (found.health == "yellow" and urgent):
        return None
    allowed = "only urgent work is let in" if found.health == "yellow" else "no work is let in"
    why = f" ({found.note})" if found.note else ""
    return Deferral(
        f"health_{found.health}",
        f"Health is {found.health}{why}: {allowed}.",
        found.remedy,
    )


def _tokens(status: TokenWord, urgent: bool) -> Deferral | None:
    if status in ("ok", "unknown") or (status == "warning" and urgent):
        return None
    allowed = "only urgent work is let in" if status == "warning" else "no work is let in"
    return Deferral(
        f"tokens_{status}",
        f"The day's budget is at its {status} level: {allowed}.",
        "Raise token_limits.daily_budget_usd in chamberlain.yaml, or wait for tomorrow.",
    )


def _soldiers(gates: Gates, general: Manifest) -> Deferral | None:
    own = gates.outstanding.get(general.name, 0)
    if general.max_soldiers is not None and own >= general.max_soldiers:
        return Deferral(
            "general_busy",
            f"All soldiers of {general.name} are at work ({general.max_soldiers}).",
            "Raise max_soldiers in its manifest, or wait.",
        )
    if gates.total >= gates.max_soldiers:
        return Deferral(
            "soldiers_busy",
            f"All soldiers are at work ({gates.max_soldiers}).",
            "Raise concurrency.max_soldiers in king.yaml, or wait.",
        )
    return None
