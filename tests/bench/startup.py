"""How long a command takes from nothing, against an interpreter that does nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from time import perf_counter

from kingdom.bus.files.bus import FileBus
from kingdom.ops.status_config import checked_file
from kingdom.runtime.processes import until
from kingdom.store.paths import BaseDir
from tests.bench.figures import Bound, Figure, at_most, compared
from tests.bench.ours import STREAM
from tests.bench.parcels import tasks
from tests.bench.report import Rate

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_WAITING = 20  # messages for `queue ls` to list
_SETTLING = 20.0  # seconds in which `status` must have come to believe the configuration
_FLOOR = "python -c pass"
_BOUNDS = {
    "kingdom version": at_most(3.0),
    "kingdom queue ls": at_most(6.0),
    "kingdom status": at_most(8.0),
}


def starting(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    program, base = os.path.join(ROOT, "bin", "kingdom"), os.path.join(directory, "kingdom")
    commands = {
        _FLOOR: [sys.executable, "-c", "pass"],
        "kingdom version": [program, "version"],
        "kingdom queue ls": [program, "--base-dir", base, "queue", "ls"],
        "kingdom status": [program, "--base-dir", base, "status"],
    }
    _prepare(program, base, commands["kingdom status"])
    complaints = {name: _complaint(words) for name, words in commands.items()}
    running = {name: words for name, words in commands.items() if not complaints[name]}
    took: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(rounds):
        for name, words in running.items():
            took[name].append(_seconds(words))
    figures = [_figure(name, took, complaints[name], bound) for name, bound in _BOUNDS.items()]
    rates = [Rate(f"start: {n}", statistics.median(v) * 1e3, "ms") for n, v in took.items()]
    if "kingdom version" in running:
        rates.append(_demo(program, directory))
    return figures, rates


def _demo(program: str, directory: str) -> Rate:
    """From nothing to its last line, with nobody who answers."""
    surroundings = {**os.environ, "TMPDIR": directory}
    return Rate("kingdom demo", _seconds([program, "demo"], surroundings) * 1e3, "ms")


def _prepare(program: str, base: str, status: list[str]) -> None:
    if _complaint([program, "init", base]):
        return  # the others will complain, too
    bus = FileBus(BaseDir(base), durable=False)
    bus.publish(STREAM, *tasks(_WAITING))
    bus.close()
    # What people type again and again is not the first look at a new configuration.
    noted = checked_file(BaseDir(base))
    until(lambda: bool(_complaint(status)) or os.path.exists(noted), _SETTLING)


def _figure(name: str, took: dict[str, list[float]], complaint: str, bound: Bound) -> Figure:
    title = f"{name} to {_FLOOR}"
    if complaint:
        return Figure(title, None, bound, note=f"not measured: {complaint}")
    return compared(title, took[name], took[_FLOOR], bound)


def _complaint(words: list[str]) -> str:
    """Empty when it works. It also warms up: whatever is compiled once is compiled now."""
    tried = subprocess.run(words, capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return ""
    said = tried.stderr.strip().splitlines()
    return said[0] if said else f"exit status {tried.returncode}"


def _seconds(words: list[str], environment: Mapping[str, str] | None = None) -> float:
    started = perf_counter()
    nothing = subprocess.DEVNULL
    subprocess.run(words, stdin=nothing, stdout=nothing, env=environment, check=True)
    return perf_counter() - started
