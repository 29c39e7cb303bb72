"""What tmux starts for a soldier: `python -I -S soldier.py SPEC`.

Compiled anew at every start, so it only leads to `wrapper`; isolated, so that nothing in the
working directory or the environment can put another module in its place.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.umask(0o077)  # also where a tmux server of an earlier version starts it
    sys.dont_write_bytecode = True  # its general has, where there is room for it
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    from kingdom.engines.wrapper import main

    sys.exit(main(sys.argv[1]))
