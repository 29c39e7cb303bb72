"""How long something is or was, in a few letters."""

from __future__ import annotations

_SIZES = (86400, 3600, 60, 1)
_UNITS = {"en": ("d", "h", "m", "s"), "ko": ("일", "시간", "분", "초")}


def age(seconds: float, language: str = "en") -> str:
    """`42s`, `7m`, `3h`, `12d`."""
    for size, unit in zip(_SIZES, _UNITS[language], strict=True):
        if seconds >= size or size == 1:
            return f"{max(int(seconds // size), 0)}{unit}"
    raise AssertionError("the last of the sizes is one second")
