"""What the suite costs when there is nothing to do: a warden, the roles, and five generals."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_most
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.support.cli import undisturbed
from tests.support.memory import NeedsRoot, private_megabytes
from tests.support.waiting import eventually, let_pass

_MEMORY = 200.0  # MB that is not shared, over all of them
_REST = 1.0  # seconds without any work, after which it counts as idle


def idling(directory: str, seconds: float) -> tuple[list[Figure], list[Rate]]:
    base = BaseDir(own_place(directory))
    init(base)
    Path(base.path("config", "local", "system.yaml")).write_text("runtime: {engine: rehearsal}\n")
    undisturbed(base.root)
    _kingdom(base, "start")
    try:
        pids = _pids(base)
        eventually(lambda: _rests(pids), "nothing is left to do after the start")
        before, began = _cpu_seconds(pids), time.monotonic()
        let_pass(seconds)
        share = (_cpu_seconds(pids) - before) / (time.monotonic() - began)
        memory, rates = _memory(pids)
    finally:
        _kingdom(base, "stop")
    return [
        Figure("idle: share of one core", share, at_most(0.01), note=f"over {seconds:.0f} s"),
        memory,
    ], [
        *rates,
        Rate("idle: processor time", share * 1e6, "µs a second"),
    ]


def _memory(pids: list[int]) -> tuple[Figure, list[Rate]]:
    name, bound = "idle: memory of its own, to 200 MB", at_most(1.0)
    try:
        megabytes = sum(map(private_megabytes, pids))
    except NeedsRoot as why:
        return Figure(name, None, bound, note=str(why)), []
    rate = Rate("idle: memory not shared", megabytes, f"MB in {len(pids)} processes")
    return Figure(name, megabytes / _MEMORY, bound), [rate]


def _kingdom(base: BaseDir, *words: str) -> None:
    command = [sys.executable, "-m", "kingdom", "--base-dir", base.root, *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)


def _pids(base: BaseDir) -> list[int]:
    return [int(path.read_text()) for path in Path(base.state).glob("*/pid")]


def _rests(pids: list[int]) -> bool:
    before = _cpu_seconds(pids)
    let_pass(_REST)
    return _cpu_seconds(pids) == before


def _cpu_seconds(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")
