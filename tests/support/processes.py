"""Processes as the kernel tells of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kingdom.runtime.role import Make, run
from kingdom.store.paths import BaseDir


def state_of(pid: int) -> str:
    """The kernel's letter for a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def is_alive(pid: int) -> bool:
    """One that has ended is not, also when nobody has taken note of that yet."""
    return state_of(pid) not in ("", "Z", "X")


def told(pid: int) -> bytes:
    """What it was called with and its environment, as they were at its start."""
    return b"".join(_content(f"/proc/{pid}/{name}") for name in ("cmdline", "environ"))


def children(pid: int) -> list[int]:
    """Of all its threads."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for path in found for word in _content(str(path)).split()]


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return [*below, *(one for child in below for one in descendants(child))]


def forked_role(base: BaseDir, name: str, make: Make, environment: Mapping[str, str]) -> int:
    """A role in a child of this process; its pid. What it says is in the log only."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            code = run(base, name, make, environment)
        finally:
            os._exit(code)
    return child


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
