"""A figure: a ratio measured over several rounds, and the bound it has to keep, if any."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Bound:
    """At least (`>=`) or at most (`<=`) this."""

    sign: Literal[">=", "<="]
    value: float

    def holds(self, ratio: float | None) -> bool:
        """A figure that could not be measured keeps no bound."""
        if ratio is None:
            return False
        return ratio >= self.value if self.sign == ">=" else ratio <= self.value


def at_least(value: float) -> Bound:
    return Bound(">=", value)


def at_most(value: float) -> Bound:
    return Bound("<=", value)


@dataclass(frozen=True)
class Figure:
    name: str
    ratio: float | None  # None when it could not be measured; the note says why
    bound: Bound | None = None
    spread: tuple[float, float] | None = None  # the middle half of the rounds
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.bound is None or self.bound.holds(self.ratio)


def compared(
    name: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    bound: Bound | None = None,
    note: str = "",
) -> Figure:
    """The median of the rounds' own ratios: what disturbs a round disturbs both sides of it."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Figure(name, statistics.median(ratios), bound, middle_half(ratios), note)


def middle_half(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third
