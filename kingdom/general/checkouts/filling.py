"""The files of a new worktree, large ones of git-lfs among them."""

from __future__ import annotations

import os

from kingdom.clients.git import Place
from kingdom.errors import ConfigurationError
from kingdom.general.checkouts.clones import Clones
from kingdom.general.checkouts.committed import Tree
from kingdom.general.checkouts.steering import take_from_base
from kingdom.general.checkouts.worktree import Worktree
from kingdom.settings.addresses import Remote
from kingdom.store import disk


class LfsMissing(ConfigurationError):
    """The repository keeps large files with git-lfs, which is not installed."""

    code = "lfs_missing"


class Filler:
    def __init__(self, clones: Clones, *, with_lfs: bool) -> None:
        self._clones = clones
        self._with_lfs = with_lfs

    def fill(
        self, worktree: Worktree, remote: Remote, tree: Tree, base: Tree | None = None
    ) -> None:
        """Its files; those that steer agents from `base`, if there is one."""
        clone = worktree.clone
        with worktree.view() as view:
            index = os.path.join(view, "index")
            at = Place(view, work_tree=worktree.path, index=index)
            words = ("read-tree", "-u", "--reset", tree.commit)
            if worktree.lfs and disk.exists(clone.lfs):
                self._clones.reach(clone, remote, *words, at=at)
            else:
                clone.in_view(*words, at=at)
            if base is not None:
                take_from_base(worktree, at, tree.steering(), base.steering(), base.contents)
            disk.replace_by(index, os.path.join(worktree.git_dir, "index"))

    def see_to_lfs(self, worktree: Worktree, tree: Tree) -> None:
        """Before it is made, since its configuration depends on it."""
        clone = worktree.clone
        wanted = self._with_lfs and worktree.lfs
        if not wanted or disk.exists(clone.lfs) or not tree.uses_lfs():
            return
        if not clone.git.has("git-lfs"):
            raise LfsMissing(
                f"{clone.url} keeps large files with git-lfs, which is not installed.",
                remedy="Install it with: apt-get install git-lfs; or set git.lfs: false, and "
                "soldiers see the small files that stand for the large ones.",
            )
        disk.make_directory(clone.lfs)
        clone.put_right()
