"""Who runs an attempt, as the claim beside its spec tells anyone who looks.

`state/soldiers/{soldier}.claim` says `run PID START`, by the wrapper, or `revoked`, by the general.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from kingdom.engines import soldier, tree
from kingdom.store import disk
from kingdom.store.paths import BaseDir

SUFFIX, CLAIM, EXIT, CHECKS = ".json", ".claim", ".exit", ".checks"
OF_ENGINES = (".settings", ".schema", ".keys", ".spent", ".stopped")
_ISOLATED = ["-I", "-S"]
_PROGRAM = os.path.basename(soldier.__file__)  # it may lie elsewhere since an upgrade
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


def argv(base: BaseDir, soldier_id: str) -> list[str]:
    """What its session runs."""
    program = os.path.abspath(soldier.__file__)
    return [sys.executable, *_ISOLATED, program, path_of(base, soldier_id)]


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


def running(base: BaseDir) -> dict[str, int]:
    """Soldiers whose wrapper runs, also if their files are gone, and its pid."""
    found = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        # The tmux server that was started with it bears the same words, after others of its own.
        match tree.words_of(int(pid)):
            case [_, *options, program, path] if options == _ISOLATED:
                place, name = os.path.split(path)
                if place == base.soldiers and os.path.basename(program) == _PROGRAM:
                    found[name.removesuffix(SUFFIX)] = int(pid)
    return found


def forget(base: BaseDir, soldier_id: str) -> None:
    """The spec goes first: a wrapper that comes late then finds nothing to run."""
    for suffix in (SUFFIX, *OF_ENGINES, CHECKS, EXIT, CLAIM):
        disk.remove(path_of(base, soldier_id, suffix))
