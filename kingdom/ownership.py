"""Who may change a file, judged by its owner and its mode.

Whoever can write a setting, a general package or the program decides what runs here as this user.
So these files must belong to this user or to root, and nobody else may write them, nor the
directories they lie in. A group that has no other member, as many systems give to each user, counts
as the user.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

ROOT = 0
NOBODY_ELSE = ()

SharedGroup = Callable[[], int | None]  # asked for only where it matters


def no_group() -> int | None:
    return None


class OthersMayWrite(NamedTuple):
    """`sentence` goes after the path and a colon; `remedy` is a command."""

    path: str
    sentence: str
    remedy: str


def others_may_write(
    path: str,
    facts: os.stat_result,
    group: SharedGroup = no_group,
    owners: tuple[int, ...] = NOBODY_ELSE,
) -> OthersMayWrite | None:
    """Why this file or directory is not to be trusted; None if it is. Members of the group, and
    these further owners, may write it."""
    trusted, mode = (os.geteuid(), ROOT, *owners), facts.st_mode
    if facts.st_uid not in trusted and not is_member(facts.st_uid, group()):
        return OthersMayWrite(path, f"it belongs to {user_name(facts.st_uid)}", _give(path, facts))
    if mode & stat.S_IWOTH:
        return OthersMayWrite(path, "every user of this machine may write it", _close(path, "go-w"))
    if mode & stat.S_IWGRP and facts.st_gid != group() and not _is_private(facts.st_gid, trusted):
        sentence = f"the group {group_name(facts.st_gid)} may write it"
        return OthersMayWrite(path, sentence, _close(path, "g-w"))
    return None


def _close(path: str, letters: str) -> str:
    return f"chmod {letters} {_quoted(path)}"


def _give(path: str, facts: os.stat_result) -> str:
    me = os.geteuid()
    if me == ROOT:  # most likely another's kingdom, and the wrong user
        return f"sudo -u {user_name(facts.st_uid)} kingdom …, or: chown -R root {_quoted(path)}"
    return f"sudo chown {user_name(me)} {_quoted(path)}"


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def is_member(user: int, group: int | None) -> bool:
    if group is None:
        return False
    try:
        account = pwd.getpwuid(user)
        return account.pw_gid == group or account.pw_name in grp.getgrgid(group).gr_mem
    except KeyError:
        return False


@lru_cache(maxsize=64)
def _is_private(group: int, trusted: tuple[int, ...]) -> bool:
    """Whether nobody else is a member of it."""
    try:
        members = grp.getgrgid(group).gr_mem
    except KeyError:
        members = []
    users = {account.pw_name: account for account in pwd.getpwall()}
    primary = (one.pw_uid for one in users.values() if one.pw_gid == group)
    named = (users[name].pw_uid if name in users else -1 for name in members)
    return all(user in trusted for user in (*primary, *named))


def foreign_owner(facts: os.stat_result, queue: str) -> str | None:
    """Whose this file is, if that is nobody who may hand in work: the user and the owner of the
    queue's directory, root, and members of the group that `inbox` in it is shared with."""
    user = facts.st_uid
    if user in (os.geteuid(), ROOT):
        return None
    try:
        is_owner = os.stat(queue).st_uid == user
        inbox = os.stat(os.path.join(queue, "inbox"))
    except OSError:
        return user_name(user)
    is_shared = inbox.st_mode & stat.S_ISGID and inbox.st_mode & stat.S_IWGRP
    group = inbox.st_gid if is_shared else None
    return None if is_owner or is_member(user, group) else user_name(user)


def user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def group_name(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)
