"""Whether the program is logged in, as it says itself: that costs nothing and reaches nobody."""

from __future__ import annotations

import json

QUESTION = ("auth", "status")
REMEDY = (
    "Log in with claude auth login as the user that runs the kingdom, or set ANTHROPIC_API_KEY "
    "where it is started."
)


def understood(code: int | None, said: str) -> bool | None:
    """None: it cannot be told. Warnings may stand before the answer."""
    try:
        found = json.loads(said[said.index("{") :])
    except ValueError:
        return None
    logged_in = found.get("loggedIn")
    return logged_in if isinstance(logged_in, bool) else None
