"""How long something is or was, in a few letters."""

from __future__ import annotations


def age(seconds: float) -> str:
    """`42s`, `7m`, `3h`, `12d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(int(seconds), 0)}s"
