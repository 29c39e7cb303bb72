"""Text from outside, made fit for a terminal: it may be read there, and must not steer it."""

from __future__ import annotations


def harmless(text: str, keep: str = "\n\t") -> str:
    """Characters that do not show are spelled as JSON spells them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _spelled(c) for c in text)


def _spelled(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
