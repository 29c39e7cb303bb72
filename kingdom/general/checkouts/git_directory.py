"""A worktree's own git directory, as its soldier finds it.

    HEAD, refs/, index, config     its own
    packed-refs, shallow           copies of what the clone knows of the remote
    objects/info/alternates        the clone's objects, which git only reads

Nothing is copied but names, and no history is walked.
"""

from __future__ import annotations

import os
from dataclasses import replace

from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import LARGEST, SHALLOW
from kingdom.general.checkouts.private_git import is_real_directory
from kingdom.general.checkouts.refs import BRANCHES, REMOTE_BRANCHES, REMOTE_HEAD
from kingdom.general.checkouts.worktree import Worktree
from kingdom.store import disk

_REMOTE = "refs/remotes/"
_SMALL = 4096
_HEADER = b"# pack-refs with: sorted \n"
# What git would act on, or believe, and a soldier may have left for the next one.
_NOT_OURS = (
    "hooks", "commondir", "config.worktree", "gitdir", "info/attributes", "info/grafts",
    "info/sparse-checkout", "objects/info/http-alternates", "objects/info/commit-graph",
    "objects/info/commit-graphs", "refs/replace",
)  # fmt: skip
_LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock")


def new_worktree(final: Worktree, path: str, start: str, branch: str = "") -> Worktree:
    """At this commit, on a branch of this name or on none; without its files. It is at `path` until
    it is moved to where the clone knows it already. With the lock held."""
    worktree = replace(final, path=path)
    final.clone.register(final)
    final.clone.borrow(final, start)
    for name in ("", ".git", ".git/objects", ".git/objects/pack", ".git/refs"):
        disk.make_private_directory(os.path.join(path, name))
    head = f"ref: {BRANCHES}{branch}" if branch else start
    disk.create(os.path.join(worktree.git_dir, "HEAD"), f"{head}\n".encode())
    if branch:
        _write_ref(worktree.git_dir, f"{BRANCHES}{branch}", start)
    renew(worktree)
    return worktree


def renew(worktree: Worktree) -> None:
    """What is ours in it, before a soldier begins: configuration, alternates, the remote's refs.
    What else there is stays as it was left. The clone is told first what is borrowed."""
    clone, place = worktree.clone, worktree.git_dir
    for name in (*_NOT_OURS, *_LOCKS):
        if is_real_directory(os.path.dirname(os.path.join(place, name))):
            trees.remove_anything(os.path.join(place, name))
    trees.remove_anything(os.path.join(place, "objects", "info"))
    disk.make_private_directory(os.path.join(place, "objects", "info"))
    _put(place, "objects/info/alternates", clone.alternates)
    config = clone.configuration(is_bare=False, plain_links=worktree.plain_links, lfs=worktree.lfs)
    _put(place, "config", config.encode())
    if clone.is_shallow:
        _put(place, SHALLOW, disk.read(os.path.join(clone.path, SHALLOW), LARGEST)[0])
    else:
        trees.remove_anything(os.path.join(place, SHALLOW))
    _renew_refs(worktree)


def _renew_refs(worktree: Worktree) -> None:
    """The remote's branches and tags as the clone has them; a soldier's own refs are not touched,
    and its own tag wins over one of the same name."""
    clone, place = worktree.clone, worktree.git_dir
    refs = clone.refs("refs/remotes", "refs/tags")
    for name, sha in worktree.data.refs().items():
        if not name.startswith(_REMOTE):
            refs[name] = sha
    lines = sorted(os.fsencode(f"{name}\0{sha}") for name, sha in refs.items())
    packed = [b"%s %s\n" % tuple(reversed(line.split(b"\0"))) for line in lines]
    _put(place, "packed-refs", _HEADER + b"".join(packed))
    trees.remove_anything(os.path.join(place, "refs", "remotes"))
    default = disk.head(os.path.join(clone.path, REMOTE_HEAD), _SMALL).decode("utf-8", "replace")
    if default.startswith(f"ref: {REMOTE_BRANCHES}"):
        _write_ref(place, REMOTE_HEAD, default.strip())


def _put(place: str, name: str, data: bytes) -> None:
    path = os.path.join(place, name)
    if os.path.isdir(path):
        trees.remove_anything(path)
    disk.replace(path, data, sync=False)


def _write_ref(place: str, name: str, value: str) -> None:
    path = place
    for part in name.split("/")[:-1]:
        path = os.path.join(path, part)
        if not disk.exists(path):
            disk.make_private_directory(path)
    disk.create(os.path.join(place, name), f"{value}\n".encode())
