"""Where git keeps what it knows of a workspace."""

from __future__ import annotations

import os

from kingdom.store import disk

_LONGEST_POINTER = 4096


def git_directories(workspace: str) -> list[str]:
    """The directories that a commit writes to; the workspace's own first. None without git.

    A worktree's pointer leads out of the workspace. It is followed only to where git itself has
    noted that this worktree is: a soldier can change the pointer, and the other end it cannot.
    """
    own = os.path.join(workspace, ".git")
    if os.path.isdir(own) and not os.path.islink(own):
        return [own]
    admin = os.path.normpath(os.path.join(workspace, _line(own).removeprefix("gitdir: ")))
    if not _is_same(os.path.join(admin, _line(os.path.join(admin, "gitdir"))), own):
        return []
    shared = _line(os.path.join(admin, "commondir"))
    return [admin, os.path.normpath(os.path.join(admin, shared))] if shared else [admin]


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _line(path: str) -> str:
    try:
        return os.fsdecode(disk.read(path, _LONGEST_POINTER)[0]).rstrip("\n")
    except OSError:
        return ""
