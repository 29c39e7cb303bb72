"""Run from a checkout, the program is on nobody's path: what to type first."""

from __future__ import annotations

import os
import shlex
import shutil

from kingdom.cli.call import Call

LAUNCHER = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "bin", "kingdom"))


def typed_first(call: Call) -> list[str]:
    """A line that makes `kingdom` a command of this shell, where it is none."""
    found = shutil.which("kingdom", path=call.environment.get("PATH"))
    if found or not os.path.isfile(LAUNCHER):
        return []
    return [f"  alias kingdom={shlex.quote(LAUNCHER)}"]
