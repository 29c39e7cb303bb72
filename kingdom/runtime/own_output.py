"""`logs/warden.log`: what a kingdom in the background prints that goes to no other log.

The output of the warden and of all roles below it is appended there: tracebacks of the interpreter,
what a library prints, and lines that could not be written to `system.log`. It is held open, so each
of them looks now and then whether the file still has its name; after a rotation it opens the new
one, and what was printed in between is in the old.
"""

from __future__ import annotations

import os
from contextlib import suppress

from kingdom.store import disk
from kingdom.store.paths import BaseDir

FILE = "warden.log"
_OUTPUTS = (1, 2)


def path_of(base: BaseDir) -> str:
    return base.path("logs", FILE)


def goes_there(base: BaseDir) -> bool:
    """Whether standard error of this process does."""
    return _is_open_at(path_of(base), _OUTPUTS[-1])


class OwnOutput:
    def __init__(self, base: BaseDir) -> None:
        self._path = path_of(base)
        self._is_ours = goes_there(base)

    def follow(self) -> None:
        """To where the name leads now; nothing for a process whose output is someone else's."""
        if not self._is_ours or _is_open_at(self._path, _OUTPUTS[-1]):
            return
        with suppress(OSError):  # a directory that is gone or closed: until it is there again
            opened = disk.open_to_append(self._path)
            for number in _OUTPUTS:
                os.dup2(opened, number)
            disk.close_file(opened)


def _is_open_at(path: str, descriptor: int) -> bool:
    try:
        there, here = disk.facts_of(path), disk.facts_of_open(descriptor)
    except OSError:
        return False
    return there is not None and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
