"""What `bin/soak` executes: rounds of faults, each with a seed and a kingdom of its own, until time
is up. Says for each round what was done and found; exit code 1 if anything was found."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "WALL_CLOCK"  # whoever has this in its environment sees the clock that is moved


def main(words: list[str]) -> int:
    # The launcher starts Python without the working directory on its path, for safety.
    sys.path.insert(0, str(ROOT))
    options = _parser().parse_args(words)
    if shutil.which("cc") and CLOCK not in os.environ:
        _again_with_own_clock(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended first
    try:
        return _soak(options)
    finally:
        if CLOCK in os.environ:
            shutil.rmtree(Path(os.environ[CLOCK]).parent)


def _soak(options: argparse.Namespace) -> int:
    from tests.storm.round import run_round
    from tests.support.own_mounts import enter_own_mounts

    can_mount, has_clock = enter_own_mounts(), CLOCK in os.environ
    if not can_mount:
        print("Not tried: full disks. They need the right to mount.", flush=True)
    if not has_clock:
        print("Not tried: clock jumps. They need a C compiler.", flush=True)
    deadline, found = time.monotonic() + options.minutes * 60, 0
    for seed in itertools.count(options.seed):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        minutes = min(options.round, left / 60)
        found += run_round(seed, minutes, options.dir, can_mount=can_mount, has_clock=has_clock)
    print(f"{found} findings", flush=True)
    return int(found > 0)


def _again_with_own_clock(words: list[str]) -> NoReturn:
    """All that is started, this program included, sees the clock that it moves."""
    from tests.support.wall_clock import WallClock

    clock = WallClock(Path(tempfile.mkdtemp(prefix="kingdom-soak-clock-")))
    command = [sys.executable, "-P", __file__, *words]
    os.execve(sys.executable, command, os.environ | clock.environment)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bin/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument(
        "--round", type=float, default=5.0, help="minutes of each round (default 5)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first round (default 1)")
    parser.add_argument("--dir", metavar="D", help="work in here, and keep what findings are about")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
