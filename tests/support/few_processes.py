"""A user who may have no more processes. Nothing of the kind limits root, so where root runs the
tests, a process steps down to a user whom nobody else is.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from encodings import ascii, unicode_escape, utf_8_sig, utf_16_be  # noqa: F401 (see USER)
from pathlib import Path

from kingdom.settings.loading import load_settings
from tests.support.calls import in_child

# Only root may be able to read the interpreter and its packages: all is imported before.
load_settings("/none", {})
USER = 50_000 + os.getpid() % 10_000 if os.geteuid() == 0 else os.geteuid()


def owned(place: str | Path) -> None:
    """From here on that user's."""
    if os.geteuid() == 0:
        for directory, names, files in os.walk(place):
            for name in (".", *names, *files):
                os.chown(os.path.join(directory, name), USER, USER, follow_symlinks=False)


def as_user(work: Callable[[], object], most: int) -> int:
    """In a process of that user's, which may have so many; answers its exit code."""

    def limited() -> None:
        limit(most)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
        work()

    return in_child(limited)


def limit(most: int = resource.RLIM_INFINITY, pid: int = 0) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
    resource.prlimit(pid, resource.RLIMIT_NPROC, (hard if most < 0 else most, hard))
