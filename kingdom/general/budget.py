"""What an attempt counts for against the budget of its task. Pure.

Engines tell the cost when they end by themselves. What an attempt cost that was ended by force
nobody tells: prices are known to the engine alone, and its stream has too few tokens (those of the
answer that was cut off are missing). What nobody told counts as a share of what it still had: half
of it, so that all attempts of a task together stay below twice its budget, however often they are
killed. One that was asked to end, as by `kingdom stop --soldiers` or a machine that is shut down,
did nothing wrong and is to go on later: it counts by its time, as if it spent evenly over all that
its general gives it, and at most half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kingdom.store.spending import price

UNKNOWN = "cost_unknown"
SHARE = 0.5
# With less left than this share of a limit nothing is begun: it would be stopped at once.
LEAST = 0.02
_ASKED = ("stopped", "asked", "hangup")


def share(reason: str, worked: float, given_seconds: float) -> float:
    """Of what it had left, for what nobody told; `reason` is how it came to its end."""
    if reason not in _ASKED:
        return SHARE
    return min(max(worked, 0.0) / given_seconds, SHARE)


def counted(metrics: Mapping[str, Any], given: float | None, guess: float = SHARE) -> float:
    """`given` is what it was allowed to spend; without a limit there is nothing to count down."""
    known = float(price(metrics.get("cost_usd")) or 0)
    if given is None or not metrics.get(UNKNOWN):
        return known
    return known + max(given - known, 0.0) * guess


def is_spent(left: float, spent: float) -> bool:
    return left <= LEAST * (left + spent)
