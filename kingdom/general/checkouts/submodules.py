"""Submodules: each a worktree with a git directory of its own, inside the one that names it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from kingdom.clients.git_hosts import Hosts
from kingdom.errors import NeverWorks
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.beginnings import Beginnings
from kingdom.general.checkouts.clones import Clones, slug
from kingdom.general.checkouts.committed import Limits, Tree
from kingdom.general.checkouts.filling import Filler
from kingdom.general.checkouts.git_directory import new_worktree
from kingdom.general.checkouts.worktree import Worktree
from kingdom.settings.addresses import Remote
from kingdom.store import disk

_DEEPEST = 10  # submodules within submodules
_NAME = "submodule"


class Submodules:
    def __init__(
        self, clones: Clones, hosts: Hosts, beginnings: Beginnings, filler: Filler, limits: Limits
    ) -> None:
        self._limits = limits
        self._clones = clones
        self._hosts = hosts
        self._beginnings = beginnings
        self._filler = filler

    def add(self, outer: Worktree, tree: Tree, final: str, depth: int = 0) -> None:
        """All that this tree has, into a worktree that is to be moved to `final`."""
        if depth == _DEEPEST:
            raise NeverWorks(f"{outer.clone.url} has submodules more than {_DEEPEST} deep.")
        for path, url, sha in tree.submodules():
            if not _is_plain_directory(outer.path, path):
                raise NeverWorks(f"The submodule {path!r} of {outer.clone.url} lies elsewhere.")
            remote = self._hosts.submodule(tree.remote, url)
            inside, target = os.path.join(outer.path, path), os.path.join(final, path)
            with trees.work_directory(self._clones.root) as work:
                one = partial(self._one, remote, sha, os.path.join(work, _NAME), target)
                inner, below = self._clones.again_if_broken(remote, one)
                self.add(inner, below, target, depth + 1)
                with suppress(FileNotFoundError):
                    disk.remove_directory(inside)  # which git made, empty
                disk.move_anything(inner.path, inside)

    def _one(self, remote: Remote, sha: str, path: str, target: str) -> tuple[Worktree, Tree]:
        with self._clones.locked(slug(remote)):
            clone = self._clones.ready(remote, partial=False, depth=None)
            self._beginnings.have(clone, remote, sha)
            trees.remove(path)
            tree = Tree(self._clones, clone, remote, sha, self._limits)
            tree.check_size()
            self._filler.see_to_lfs(Worktree(target, clone), tree)
            inner = new_worktree(Worktree(target, clone), path, sha)
        self._filler.fill(inner, remote, tree)
        return inner, tree


def _is_plain_directory(root: str, path: str) -> bool:
    real = os.path.realpath(root)
    return os.path.realpath(os.path.join(root, path)) == os.path.join(real, os.path.normpath(path))
