"""The program's own sessions (threads, as it calls them): where it keeps them.

A transcript is `sessions/{year}/{month}/{day}/rollout-{time}-{thread}.jsonl` in the program's home.
It is found there from any working directory.
"""

from __future__ import annotations

import glob
import os
import re

from kingdom.engines.port import Order

HOME_VARIABLE = "CODEX_HOME"


def home_of(order: Order) -> str:
    default = os.path.join(order.environment.get("HOME", ""), ".codex")
    return order.home or order.environment.get(HOME_VARIABLE) or default


def can_continue(order: Order) -> bool:
    session = order.session_id
    # It becomes a part of a file's name, and an argument.
    if session is None or re.fullmatch(r"[0-9a-fA-F-]{36}", session) is None:
        return False
    kept = os.path.join(glob.escape(home_of(order)), "sessions", "*", "*", "*")
    return any(glob.iglob(os.path.join(kept, f"rollout-*-{session}.jsonl*")))
