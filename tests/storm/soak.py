"""What `bin/soak` executes: storm after storm, each with a seed of its own, until time is up."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path


def main(words: list[str]) -> int:
    # The launcher starts Python without the working directory on its path, for safety.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from tests.storm.storm import MACHINE, ROLES, WARDEN, Plan, weather

    options = _parser().parse_args(words)
    deadline = time.monotonic() + options.minutes * 60
    for seed, target in zip(
        itertools.count(options.seed), itertools.cycle((ROLES, WARDEN, MACHINE))
    ):
        if time.monotonic() >= deadline and seed > options.seed:
            break
        kills = options.events // 5 if target == ROLES else options.events // 30
        plan = Plan(seed=seed, events=options.events, kills=kills, target=target)
        with tempfile.TemporaryDirectory(prefix="kingdom-soak-", dir=options.dir) as directory:
            began = time.monotonic()
            counted = weather(Path(directory), plan)
        counts = ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))
        print(f"seed {seed}, {target}: {time.monotonic() - began:.0f} s; {counts}", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bin/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument("--events", type=int, default=300, help="of each storm (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the first storm (default 1)")
    parser.add_argument("--dir", metavar="D", help="work in here")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
