"""Whether there is room on the disk that holds a kingdom. Asked of the system each time: a full
disk is where nobody could have written it down."""

from __future__ import annotations

import os

from kingdom.store.paths import BaseDir

LEAST = 256 * 1024  # bytes; with less, hardly a message can be written
MAKE_ROOM = "Make room there; roles that wait for it go on by themselves."


def shortage(base: BaseDir) -> str:
    """A sentence, or nothing while there is room."""
    try:
        facts = os.statvfs(base.root)
    except OSError:
        return ""
    if facts.f_bavail * facts.f_frsize < LEAST:
        return f"The disk that holds {base.root} is full."
    if facts.f_files and not facts.f_favail:
        return f"The disk that holds {base.root} takes no more files."
    return ""
