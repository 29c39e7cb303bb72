"""One round of `bin/soak`: a new kingdom, faults, and what is left of it."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.storm.faults import Faults, Scene
from tests.storm.kingdom import Land
from tests.storm.verdict import (
    WARM_UP,
    Findings,
    judge_files,
    judge_growth,
    judge_leftovers,
    judge_logs,
    judge_state,
    settle,
    state_after_retention,
    work,
)
from tests.support.full_disk import small_disk
from tests.support.wall_clock import WallClock

SHARE = 0.7  # of a round are faults; in the rest it settles and is judged
MEGABYTES = 256
MOST_SHOWN = 20  # of one kind
CHAMBERLAIN = """\
polling: {interval_seconds: 1}
heartbeat: {threshold_seconds: 30}
thresholds: {yellow: 100, orange: 100, red: 100}
"""


def run_round(
    seed: int, minutes: float, parent: str | None, *, can_mount: bool, has_clock: bool
) -> int:
    """Answers how many findings there were."""
    began = time.monotonic()
    clock = WallClock.of(os.environ) if has_clock else None
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="kingdom-soak-", dir=parent))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        disk = directory / "disk" if can_mount else None
        if disk is not None:
            stack.enter_context(small_disk(disk, MEGABYTES))
        surroundings = clock.environment if clock else {}
        land = Land(directory, soldiers=8, disk=disk, environment=surroundings)
        stack.callback(land.clear)
        _configure(land)
        scene = Scene(land, random.Random(seed), directory, disk, clock)
        print(f"seed {seed}: {minutes * SHARE:.1f} minutes of faults", flush=True)
        findings = Findings()
        try:
            _run(scene, minutes * 60 * SHARE, findings)
        except AssertionError as error:  # what never came, or a command that refused
            findings.add([("stuck", str(error))])
        _print(seed, scene, findings, time.monotonic() - began)
        if findings and parent is not None:
            _keep(scene, Path(parent, f"found-by-seed-{seed}"))
    return len(findings)


def _configure(land: Land) -> None:
    local = Path(land.base.path("config", "local"))
    (local / "chamberlain.yaml").write_text(CHAMBERLAIN)
    king = local / "king.yaml"
    king.write_text(king.read_text() + "polling: {interval_seconds: 1}\n")


def _run(scene: Scene, seconds: float, findings: Findings) -> None:
    land = scene.land
    land.start()
    work(scene, WARM_UP)
    land.say("stop", "--soldiers")
    before = state_after_retention(scene)
    scene.sent.clear()  # they have had their time
    land.start()
    faults = Faults(scene)
    try:
        faults.rage(seconds)
    finally:
        faults.end()
    findings.add(("stuck", one) for one in settle(scene))
    land.say("stop", "--soldiers")
    if not findings:
        land.start()
        findings.add(judge_growth(scene))
        land.say("stop", "--soldiers")
        findings.add(judge_leftovers(land))
    findings.add(judge_files(scene))
    findings.add(judge_logs(scene))
    if not findings:
        findings.add(judge_state(before, state_after_retention(scene)))


def _print(seed: int, scene: Scene, findings: Findings, seconds: float) -> None:
    counted = ", ".join(f"{name} {count}" for name, count in sorted(scene.counted.items()))
    found = ", ".join(f"{kind} {len(sentences)}" for kind, sentences in findings.by_kind.items())
    print(f"seed {seed}: {seconds:.0f} s; events {len(scene.sent)}, {counted}", flush=True)
    print(f"seed {seed}: {found}", flush=True)
    for kind, sentences in findings.by_kind.items():
        for sentence in sentences[:MOST_SHOWN]:
            print(f"  {kind}: {sentence}", flush=True)


def _keep(scene: Scene, place: Path) -> None:
    scene.land.clear()
    shutil.copytree(scene.land.base.root, place, symlinks=True)
    shutil.copy(scene.land.runs, place)
