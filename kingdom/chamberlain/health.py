"""How health follows from what was measured. Pure.

It becomes worse at once. It becomes better only when a figure has been clearly below its threshold
in two looks in a row, so that one that sways around it does not open and close the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kingdom.models.resources import Health
from kingdom.settings.chamberlain import Thresholds

LEVELS: tuple[Health, ...] = ("green", "yellow", "orange", "red")
MARGIN = 5.0  # points below a threshold that count as clearly below
CALM_LOOKS = 2
_NEVER = 100.0

Limits = tuple[tuple[Health, float], ...]  # levels and above what each begins, mildest first
Values = Mapping[str, float | None]
Burdens = Mapping[str, tuple[Health, str]]


@dataclass(frozen=True)
class Standing:
    """How one metric is seen: its level, and in how many looks it has been better since."""

    level: Health = "green"
    calm: int = 0


@dataclass(frozen=True)
class Verdict:
    health: Health
    reason: str  # empty when green


def limits_of(thresholds: Thresholds) -> dict[str, Limits]:
    busy: Limits = (
        ("yellow", thresholds.yellow),
        ("orange", thresholds.orange),
        ("red", thresholds.red),
    )
    return {
        "cpu_percent": busy,
        "memory_percent": busy,
        "disk_percent": (("orange", thresholds.disk),),
    }


def level_of(value: float, limits: Limits) -> Health:
    reached = [level for level, above in limits if above < min(value, _NEVER)]
    return reached[-1] if reached else "green"


def after(before: Standing, value: float | None, limits: Limits) -> Standing:
    """How it is seen after one more look; one that is not known yet is seen as before."""
    if value is None:
        return before
    now = level_of(value, limits)
    if not is_worse(before.level, now):
        return Standing(now)
    better = level_of(value + MARGIN, limits)
    if not is_worse(before.level, better):
        return Standing(before.level)
    calm = before.calm + 1
    return Standing(better) if calm >= CALM_LOOKS else Standing(before.level, calm)


def is_worse(one: Health, other: Health) -> bool:
    return LEVELS.index(one) > LEVELS.index(other)


def threshold_of(level: Health, limits: Limits) -> float:
    return dict(limits)[level]


def verdict(
    standings: Mapping[str, Standing],
    values: Values,
    burdens: Burdens,
    limits: Mapping[str, Limits],
) -> Verdict:
    """The worst of all, and what is so bad."""
    found = [(one.level, _why(name, one, values, limits)) for name, one in standings.items()]
    found += burdens.values()
    for health in reversed(LEVELS[1:]):
        if reasons := [reason for level, reason in found if level == health]:
            return Verdict(health, ", ".join(reasons))
    return Verdict("green", "")


def _why(name: str, standing: Standing, values: Values, limits: Mapping[str, Limits]) -> str:
    """Also while it is better already, and not yet believed to be."""
    value, of_metric = values.get(name), limits.get(name, ())
    if value is None or not is_worse(standing.level, level_of(value, of_metric)):
        return spelled(name, values)
    return f"{name}: was over {threshold_of(standing.level, of_metric):g}, now {value:.0f}"


def spelled(name: str, values: Values) -> str:
    value = values.get(name)
    return f"{name}: {'unknown' if value is None else f'{value:.0f}'}"
