"""How a file is opened: never waiting on a pipe, and with the rights that this user should have.

A file of this user's that lost its rights gets them back: nobody else could want it otherwise.
"""

from __future__ import annotations

import errno
import os
import stat

MODE = 0o644
_OWN = stat.S_IRUSR | stat.S_IWUSR


def open_rightly(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NONBLOCK, MODE)
    except PermissionError:
        if not give_back_rights(path):
            raise
        return os.open(path, flags | os.O_NONBLOCK, MODE)


def give_back_rights(path: str) -> bool:
    """This user may read and write a file of its own again; whether that changed anything."""
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    lacks = facts.st_mode & _OWN != _OWN
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or not lacks:
        return False
    os.chmod(path, stat.S_IMODE(facts.st_mode) | _OWN)
    return True


def may_change(path: str) -> bool:
    """Whether this user may read and write the file there, if there is one."""
    if os.access(path, os.R_OK | os.W_OK):
        return True
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return True
    return not stat.S_ISREG(facts.st_mode) or give_back_rights(path)


def refuse_irregular(descriptor: int, path: str) -> os.stat_result:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    return facts
