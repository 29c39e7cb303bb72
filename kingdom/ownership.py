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
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

ROOT = 0


def no_group() -> int | None:
    return None


@dataclass(frozen=True)
class Trusted:
    """Who may write a file besides this user and root."""

    owners: tuple[int, ...] = ()
    group: Callable[[], int | None] = no_group  # asked for only where it matters

    @property
    def without_group(self) -> Trusted:
        return Trusted(self.owners)


NOBODY_ELSE = Trusted()


class OthersMayWrite(NamedTuple):
    """`sentence` goes after the path and a colon; `remedy` is a command."""

    path: str
    sentence: str
    remedy: str


def others_may_write(
    path: str, facts: os.stat_result, trusted: Trusted = NOBODY_ELSE
) -> OthersMayWrite | None:
    """Why this file or directory is not to be trusted; None if it is."""
    users, mode = (os.geteuid(), ROOT, *trusted.owners), facts.st_mode
    if facts.st_uid not in users and not is_member(facts.st_uid, trusted.group()):
        return OthersMayWrite(path, f"it belongs to {user_name(facts.st_uid)}", _give(path))
    if mode & stat.S_IWOTH:
        return OthersMayWrite(path, "every user of this machine may write it", _close(path, "go-w"))
    is_shared = mode & stat.S_IWGRP and facts.st_gid != trusted.group()
    if is_shared and not _is_private(facts.st_gid, users):
        sentence = f"the group {group_name(facts.st_gid)} may write it"
        return OthersMayWrite(path, sentence, _close(path, "g-w"))
    return None


def _close(path: str, letters: str) -> str:
    return f"chmod {letters} {_quoted(path)}"


def _give(path: str) -> str:
    return f"sudo chown {user_name(os.geteuid())} {_quoted(path)}"


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
def _is_private(group: int, of: tuple[int, ...]) -> bool:
    """Whether nobody else is a member of it."""
    try:
        members = grp.getgrgid(group).gr_mem
    except KeyError:
        members = []
    users = {account.pw_name: account for account in pwd.getpwall()}
    primary = (one.pw_uid for one in users.values() if one.pw_gid == group)
    named = (users[name].pw_uid if name in users else -1 for name in members)
    return all(user in of for user in (*primary, *named))


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
