"""Text from outside, made fit for a terminal: it may be read there, and must not steer it."""

from __future__ import annotations

_GLANCE = 80


def harmless(text: str, keep: str = "\n\t") -> str:
    """Characters that do not show are spelled as JSON spells them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _spelled(c) for c in text)


def at_a_glance(text: str) -> str:
    """One line of it, short enough to stand beside others."""
    line = harmless(" ".join(text[: 4 * _GLANCE].split()))
    return line if len(line) <= _GLANCE else line[: _GLANCE - 1] + "…"


def _spelled(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
