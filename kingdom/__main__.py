"""Starts the command line.

Run by its path, this file is compiled at every start: it holds next to nothing.
"""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def main() -> int:
    try:
        if sys.argv[1:] in (["version"], ["--version"]):
            from kingdom import __version__

            print(f"kingdom {__version__}")
            return 0
        from kingdom.cli.main import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # wherever it comes, also while modules are being read
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
