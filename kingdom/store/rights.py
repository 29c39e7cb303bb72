"""Who may read and write what the kingdom makes: this user alone, whatever the umask.

A file is opened without ever waiting on a pipe. One of this user's that lost its rights gets them
back: nobody else could want it otherwise. `set_rights` is for directories that an earlier version
made or somebody copied, and for the inbox, which may be shared with a group.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from kingdom.store.paths import PLACES, BaseDir
from kingdom.topology import INBOX

MODE = 0o600
DIRECTORY_MODE = 0o700
_PASSED_THROUGH, _SHARED = 0o710, 0o2770
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


def set_rights(base: BaseDir, group: int | None) -> None:
    """Other users cannot look into any place; members of the group can put files into the inbox."""
    for place in PLACES:
        is_on_the_way = group is not None and INBOX.startswith(f"{place}/")
        mode = _PASSED_THROUGH if is_on_the_way else DIRECTORY_MODE
        _set_directory(base.path(place), mode, group if is_on_the_way else None)
    _set_directory(base.path(INBOX), DIRECTORY_MODE if group is None else _SHARED, group)
    if group is not None and not os.stat(base.root).st_mode & stat.S_IXOTH:
        _set_directory(base.root, _PASSED_THROUGH, group)


def _set_directory(path: str, mode: int, group: int | None) -> None:
    """For others; what its owner may do there stays as it is. One of another's is left alone."""
    try:
        facts = os.stat(path)
    except OSError:
        return
    now = stat.S_IMODE(facts.st_mode)
    wanted = now & stat.S_IRWXU | mode & ~stat.S_IRWXU
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
        return
    with suppress(OSError):  # a disk that refuses is told of elsewhere
        if group is not None and facts.st_gid != group:
            os.chown(path, -1, group)
        if now != wanted:
            os.chmod(path, wanted)
