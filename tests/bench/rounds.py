"""Measuring side by side: each round runs everyone, in turn a different one first."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Trial:
    """`prepare` makes ready, untimed, and answers the work to be timed: `count` messages of it."""

    name: str
    count: int
    prepare: Callable[[], Callable[[], None]]
    tidy: Callable[[], None]


def rates(trials: Sequence[Trial], rounds: int) -> dict[str, list[float]]:
    """Messages a second, by trial, one for each round. The first round warms up and is not kept."""
    found: dict[str, list[float]] = {trial.name: [] for trial in trials}
    for number in range(rounds + 1):
        first = number % len(trials)
        for trial in (*trials[first:], *trials[:first]):
            rate = trial.count / _seconds(trial)
            if number > 0:
                found[trial.name].append(rate)
    return found


def _seconds(trial: Trial) -> float:
    work = trial.prepare()
    gc.collect()
    os.sync()  # nobody pays for what another left to be written
    started = perf_counter()
    work()
    took = perf_counter() - started
    trial.tidy()
    return took
