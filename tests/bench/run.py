"""What `bin/bench` executes: `run.py [--json] [--quick] [--dir D]`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    # The launcher starts Python without the working directory on its path, for safety.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from tests.bench.suite import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
