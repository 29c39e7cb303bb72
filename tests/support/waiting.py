"""How tests wait: for a condition, with a deadline, and a sentence about what never came."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0  # seconds: far more than anything takes, so that a busy machine is no failure
_SHORTEST, _LONGEST = 0.002, 0.05


def eventually(
    holds: Callable[[], object],
    what: str = "",
    seconds: float = PATIENCE,
    *,
    meanwhile: Callable[[float], object] = time.sleep,
    told: Callable[[], str] = str,
) -> None:
    """Looks until it holds. `meanwhile` gets the seconds until the next look; `told` is asked what
    else there is to say when time is up."""
    began = time.monotonic()
    while not holds():
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds:.0f} s: {what}\n{told()}".rstrip()
        # A look costs something; whoever waited long can wait a tenth longer.
        meanwhile(min(max(waited / 10, _SHORTEST), _LONGEST))


def let_pass(seconds: float) -> None:
    """Time that has to go by, where there is no condition to wait for."""
    time.sleep(seconds)
