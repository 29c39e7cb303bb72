"""Who runs an attempt, as the claim beside its spec tells anyone who looks.

`state/soldiers/{soldier}.claim` says `run PID START`, by the wrapper, or `revoked`, by the general.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from kingdom.engines import tree
from kingdom.store import disk
from kingdom.store.paths import BaseDir

SUFFIX, CLAIM, EXIT = ".json", ".claim", ".exit"
_LARGEST_CLAIM = 64


@dataclass(frozen=True)
class Runner:
    """The wrapper's process."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        return tree.is_alive(self.pid, self.start)


def path_of(base: BaseDir, soldier_id: str, suffix: str = SUFFIX) -> str:
    return os.path.join(base.soldiers, f"{soldier_id}{suffix}")


def runner_of(base: BaseDir, soldier_id: str) -> Runner | None:
    """None before the wrapper has begun, and when it never will."""
    words = disk.head(path_of(base, soldier_id, CLAIM), _LARGEST_CLAIM).split()
    if len(words) == 3 and words[0] == b"run" and words[1].isdigit() and words[2].isdigit():
        return Runner(int(words[1]), int(words[2]))
    return None


def ids_with(base: BaseDir, suffix: str = SUFFIX) -> set[str]:
    """Of all soldiers that have such a file."""
    return {
        name.removesuffix(suffix)
        for name in disk.names(base.soldiers)
        if name.endswith(suffix) and not name.startswith(".")
    }
