"""What the program runs before each command: `python -I -S asked.py GATE`, the question on stdin.

Isolated like a soldier's wrapper. If it fails, the command does not run.
"""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4)))
    from kingdom.engines.claude.shell.gate import Gate

    if answer := Gate.from_json(sys.argv[1]).answer(json.load(sys.stdin)):
        print(json.dumps(answer))
