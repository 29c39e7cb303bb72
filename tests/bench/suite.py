"""The whole run: every measurement in turn, then the report."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from tests.bench.backlog import claiming
from tests.bench.dispatching import dispatching, reacting
from tests.bench.figures import Figure
from tests.bench.hearing import hearing
from tests.bench.idling import idling
from tests.bench.keeping import keeping
from tests.bench.kills import killing
from tests.bench.parcels import parcel_size
from tests.bench.place import IN_MEMORY, file_system_of, section, work_directory
from tests.bench.polling import polling
from tests.bench.reading import reading
from tests.bench.report import (
    Rate,
    as_json,
    exit_status,
    figures_table,
    rates_table,
    tolls_table,
)
from tests.bench.soldiering import soldiering
from tests.bench.startup import ROOT, starting
from tests.bench.throughput import cycling, publishing
from tests.bench.wakeup import waking


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int
    starts: int
    pending: int
    kills: int
    dispatches: int
    idle_seconds: float
    crowds: int
    log_megabytes: int


WHOLE = Extent(
    rounds=11,
    starts=21,
    pending=100_000,
    kills=50,
    dispatches=3,
    idle_seconds=60,
    crowds=5,
    log_megabytes=1024,
)
QUICK = Extent(
    rounds=3,
    starts=5,
    pending=5_000,
    kills=5,
    dispatches=1,
    idle_seconds=10,
    crowds=1,
    log_megabytes=64,
)

Measured = tuple[list[Figure], list[Rate]]


def run(words: list[str]) -> int:
    options = _parser().parse_args(words)
    extent = QUICK if options.quick else WHOLE
    started = perf_counter()
    with work_directory(options.dir, ROOT) as directory:
        file_system = file_system_of(directory)
        if file_system in IN_MEMORY:
            _say(f"{directory} is in memory ({file_system}), where syncs cost nothing: use --dir.")
        figures, rates = _measure(directory, extent)
        _say("measuring: kills")
        with section(directory, "kills") as place:
            survival, tolls = killing(place, extent.kills)
    if options.json:
        print(as_json(figures + survival))
    else:
        bound = [one for one in survival if one.bound]  # the others are in the last table
        print(_head(file_system, extent, perf_counter() - started), end="\n\n")
        print(figures_table(figures + bound), rates_table(rates), sep="\n\n", end="\n\n")
        print(tolls_table(tolls))
    return exit_status(figures + survival)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bin/bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="a list of {name, ratio, bound, holds}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for trying out")
    parser.add_argument("--dir", metavar="D", help="work in here; it should be on a real disk")
    return parser


def _measure(directory: str, extent: Extent) -> Measured:
    figures: list[Figure] = []
    rates: list[Rate] = []
    measurements: dict[str, Callable[[str], Measured]] = {
        "publish": lambda place: publishing(place, extent.rounds),
        "cycle": lambda place: cycling(place, extent.rounds),
        "wake-up": lambda place: waking(place, 2 * extent.rounds),
        "start": lambda place: starting(place, extent.starts),
        "backlog": lambda place: claiming(place, 2 * extent.rounds, extent.pending),
        "reaction": lambda place: reacting(place, extent.rounds),
        "dispatch": lambda place: dispatching(place, extent.dispatches),
        "polling": lambda place: polling(place, extent.rounds, extent.pending),
        "hearing": lambda place: hearing(place, extent.rounds),
        "events log": lambda place: reading(place, extent.rounds, extent.log_megabytes),
        "soldiers": lambda place: soldiering(place, extent.rounds, extent.crowds),
        "keeping": lambda place: keeping(place, extent.rounds, extent.pending),
        "idle": lambda place: idling(place, extent.idle_seconds),
    }
    for name, measurement in measurements.items():
        _say(f"measuring: {name}")
        with section(directory, name) as place:
            found, noted = measurement(place)
        figures += found
        rates += noted
    return figures, rates


def _head(file_system: str, extent: Extent, seconds: float) -> str:
    return (
        f"On {file_system}, Python {platform.python_version()}, messages of {parcel_size()} bytes."
        f" {extent.rounds} interleaved rounds ({2 * extent.rounds} of claims and"
        f" wake-ups, {extent.starts} starts), {extent.kills} kills, {seconds:.0f} s.\n"
        "Each ratio is the median of the rounds' own ratios, of speeds to speeds or of times to\n"
        "times; beside it the middle half of the rounds."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
