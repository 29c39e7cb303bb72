"""Whether the program is logged in, as it says itself: that costs nothing and reaches nobody."""

from __future__ import annotations

QUESTION = ("login", "status")
VARIABLES = ("CODEX_API_KEY",)  # what it takes instead, and does not tell of
REMEDY = (
    "Log in with codex login as the user that runs the kingdom, or set CODEX_API_KEY where it is "
    "started."
)


def understood(code: int | None, said: str) -> bool | None:
    """None: it cannot be told."""
    if code == 0:
        return True
    return False if "not logged in" in said.lower() else None
