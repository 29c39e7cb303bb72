"""Starts the command line.

Run by its path, this file is compiled at every start: it holds next to nothing.
"""

from __future__ import annotations

import os
import resource
import sys

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130
_ROOM = 16 * 1024**2  # bytes


def main() -> int:
    os.umask(0o077)  # whatever is made from here on, also by programs, is this user's alone
    try:
        sys.dont_write_bytecode = not _has_room()
        if sys.argv[1:] in (["version"], ["--version"]):
            from kingdom import __version__

            print(f"kingdom {__version__}")
            return 0
        from kingdom.cli.main import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # wherever it comes, also while modules are being read
        return EXIT_INTERRUPTED
    except (OSError, MemoryError, ImportError) as error:  # not even what would explain it is read
        why = error or "there is no memory"
        print(f"kingdom: It cannot be started: {why}. See the limits: ulimit -a", file=sys.stderr)
        return EXIT_FAILED


def _has_room() -> bool:
    """Else Python would leave compiled modules cut off, and fail over them from then on."""
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        return False
    facts = os.statvfs(os.path.dirname(os.path.abspath(__file__)))
    return facts.f_bavail * facts.f_frsize > _ROOM


if __name__ == "__main__":
    sys.exit(main())
