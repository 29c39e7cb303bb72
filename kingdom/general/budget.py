"""What an attempt counts for against the budget of its task. Pure.

Engines tell the cost when they end by themselves. What an attempt cost that was ended by force
nobody tells: prices are known to the engine alone, and its stream has too few tokens (those of the
answer that was cut off are missing). It counts with half of what it had been given, so that all
attempts of a task together stay below twice its budget, however often they are ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNKNOWN = "cost_unknown"
SHARE = 0.5


def counted(metrics: Mapping[str, Any], given: float | None) -> float:
    """`given` is what it was allowed to spend; without a limit there is nothing to count down."""
    cost = metrics.get("cost_usd")
    if isinstance(cost, int | float):
        return float(cost)
    return given * SHARE if given is not None and metrics.get(UNKNOWN) else 0.0
