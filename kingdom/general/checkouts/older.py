"""Worktrees of the version before: their git directory was `worktrees/…` of the clone, and branches
and stashes of all tasks lay in the clone together.

One whose soldier has ended gets a git directory of its own, with what was its own of that. Cut off
anywhere, it is simply done again: the old directory goes last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.git_directory import renew
from kingdom.general.checkouts.keeping import save
from kingdom.general.checkouts.private_git import GitData, Unreadable, is_real_directory
from kingdom.general.checkouts.refs import BRANCHES, is_branch_of
from kingdom.general.checkouts.worktree import Worktree
from kingdom.store import disk

_LARGEST = 1024 * 1024 * 1024
_LONGEST = 65536
_MADE = "kingdom-own"  # the new git directory, before it is moved to its place
_STASH = "refs/stash"
_NOT_MOVED = frozenset({"gitdir", "commondir", "locked", "config.worktree", "hooks", _MADE})
_STASHED_ON = re.compile(r"(?:WIP on|On) (?P<branch>[^:]+):")


@dataclass(frozen=True)
class OlderWorktree:
    path: str
    admin: str
    clone: Clone


def older_worktrees(clone: Clone) -> list[OlderWorktree]:
    place = os.path.join(clone.path, "worktrees")
    found = []
    for name in sorted(disk.names(place)):
        admin = os.path.join(place, name)
        with suppress(OSError):
            pointer = os.fsdecode(disk.read(os.path.join(admin, "gitdir"), _LONGEST)[0])
            found.append(OlderWorktree(os.path.dirname(pointer.rstrip("\n")), admin, clone))
    return found


def paths_of(clone: Clone) -> list[str]:
    """Of all worktrees that need the clone, of both kinds."""
    return [one.path for one in clone.worktrees()] + [one.path for one in older_worktrees(clone)]


def convert(older: OlderWorktree, task_id: str) -> None:
    """With the clone's lock held."""
    clone, worktree = older.clone, Worktree(older.path, older.clone)
    made, refs = os.path.join(older.admin, _MADE), _own_refs(older, task_id)
    if disk.exists(older.path) and not is_real_directory(worktree.git_dir):
        if not disk.exists(made):
            _make(older, task_id, made, refs)
        clone.register(worktree)
        clone.borrow(worktree, *refs.values())
        disk.remove(worktree.git_dir)
        disk.move_anything(made, worktree.git_dir)
        renew(worktree)
    elif worktree not in clone.worktrees():  # its files are gone, or have another history
        for name, sha in refs.items():
            if not clone.has_all_of(sha, "refs/remotes"):
                save(
                    clone, task_id, f"branch/{name.removeprefix(BRANCHES).replace('/', '--')}", sha
                )
        if disk.exists(older.path):
            clone.register(worktree)
    gone = [(name, "") for name in refs if name.startswith(BRANCHES)]
    if gone:
        clone.update(*gone)
    trees.remove(older.admin)
    if not older_worktrees(clone) and _STASH in clone.refs(_STASH):
        clone.update((_STASH, ""))


def _make(older: OlderWorktree, task_id: str, made: str, refs: dict[str, str]) -> None:
    with trees.work_directory(os.path.dirname(older.clone.path)) as work:
        place = os.path.join(work, "git")
        for name in ("", "objects", "objects/pack", "refs"):
            disk.make_private_directory(os.path.join(place, name))
        _copy(older.admin, place)
        lines = [f"{sha} {name}\n" for name, sha in sorted(refs.items())]
        stashes = list(_stashes(older, task_id))
        if stashes:
            lines.append(f"{stashes[-1].split()[1]} {_STASH}\n")
            disk.make_directory(os.path.join(place, "logs", "refs"))
            log = "".join(f"{line}\n" for line in stashes)
            disk.create(os.path.join(place, "logs", _STASH), os.fsencode(log))
        disk.create(os.path.join(place, "packed-refs"), os.fsencode("".join(lines)))
        disk.move_anything(place, made)


def _copy(source: str, target: str) -> None:
    """Files and directories; nothing that is a link."""
    for entry in disk.entries(source):
        if entry.name in _NOT_MOVED:
            continue
        path = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            if not disk.exists(path):
                disk.make_private_directory(path)
            _copy(entry.path, path)
        elif entry.is_file(follow_symlinks=False):
            disk.copy(entry.path, path)


def _own_refs(older: OlderWorktree, task_id: str) -> dict[str, str]:
    """The task's branches, and what else no other worktree of the clone stood at."""
    others = [one for one in older_worktrees(older.clone) if one.admin != older.admin]
    stood = {sha for other in others for sha in _stood_at(other)} - set(_stood_at(older))
    taken = set(_branches(others))
    own = set(_branches([older]))
    return {
        name: sha
        for name, sha in older.clone.refs("refs/heads", "refs/tags").items()
        if name not in taken
        and (name in own or sha not in stood or is_branch_of(task_id, name.removeprefix(BRANCHES)))
    }


def _branches(worktrees: list[OlderWorktree]) -> Iterator[str]:
    for one in worktrees:
        with suppress(Unreadable):
            yield GitData(one.admin).branch()


def _stood_at(older: OlderWorktree) -> Iterator[str]:
    for line in _log(os.path.join(older.admin, "logs", "HEAD")):
        yield from line.split(" ")[1:2]


def _stashes(older: OlderWorktree, task_id: str) -> Iterator[str]:
    """Lines of the clone's log, without those that were made on another worktree's branch."""
    others = [one for one in older_worktrees(older.clone) if one.admin != older.admin]
    elsewhere = {name.removeprefix(BRANCHES) for name in _branches(others)}
    for line in _log(os.path.join(older.clone.path, "logs", _STASH)):
        found = _STASHED_ON.match(line.partition("\t")[2])
        branch = found["branch"] if found else ""
        is_another_s = branch.startswith("kingdom") and not is_branch_of(task_id, branch)
        if branch not in elsewhere and not is_another_s:
            yield line


def _log(path: str) -> list[str]:
    with suppress(OSError):
        return [line for line in os.fsdecode(disk.read(path, _LARGEST)[0]).split("\n") if line]
    return []
