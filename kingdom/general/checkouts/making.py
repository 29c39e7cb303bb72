"""A new worktree for a task: fetched, on a branch of its own, with all its files."""

from __future__ import annotations

import os
from contextlib import suppress

from kingdom.clients.git_hosts import GitSettings, Hosts
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.beginnings import Beginnings, Wish
from kingdom.general.checkouts.clone import Clone, Worktree
from kingdom.general.checkouts.clones import Clones, slug
from kingdom.general.checkouts.committed import Tree
from kingdom.general.checkouts.comparing import Comparing
from kingdom.general.checkouts.filling import Filler
from kingdom.general.checkouts.keeping import save
from kingdom.general.checkouts.refs import BRANCHES, PRIVATE, branches_for
from kingdom.general.checkouts.submodules import Submodules
from kingdom.settings.addresses import Remote
from kingdom.store import disk

_CLOCK = SystemClock()  # the same as of `clones`: it says how old a fetch is


class Maker:
    def __init__(self, clones: Clones, hosts: Hosts, settings: GitSettings) -> None:
        self._clones = clones
        self._beginnings = Beginnings(clones, settings.pull_ref)
        self._comparing = Comparing(clones, settings.pull_ref)
        self._filler = Filler(clones, with_lfs=settings.lfs)
        self._submodules = Submodules(clones, hosts, self._beginnings, self._filler)

    def make(
        self, remote: Remote, task_id: str, wish: Wish, path: str, *, submodules: bool
    ) -> tuple[Worktree, str]:
        """With the commit that it is compared with. It is made elsewhere and comes to `path` when
        it is whole."""
        asked = _CLOCK.monotonic()
        disk.make_directory(self._clones.root)
        disk.make_directory(os.path.dirname(path))
        with trees.work_directory(self._clones.root) as work:
            with self._clones.locked(slug(remote)):
                clone = self._clones.ready(remote, partial=wish.partial, depth=wish.depth)
                start = self._beginnings.commit(clone, remote, wish, asked)
                base = self._comparing.base(clone, remote, wish, start)
                branch = _free_branch(clone, task_id)
                worktree = clone.add_worktree(work, task_id, start, branch)
            try:
                tree = Tree(self._clones, clone, remote, start)
                self._filler.fill(worktree, remote, tree)
                self._comparing.bring_files(clone, remote, base, start)
                if submodules:
                    self._submodules.add(worktree, tree, path, task_id)
                placed = clone.place_worktree(worktree, path)
                disk.move_anything(worktree.path, path)
            except BaseException:
                with self._clones.locked(slug(remote)):
                    trees.remove(worktree.path)
                    clone.forget_worktree(worktree)
                raise
            disk.sync_directory(os.path.dirname(path))
        return placed, base

    def refresh(self, worktree: Worktree, remote: Remote, wish: Wish) -> str:
        """The clone of one that is there; answers the commit that it is compared with."""
        clone, head = worktree.clone, worktree.head()
        self._clones.fetch(clone, remote, asked=_CLOCK.monotonic(), depth=wish.depth)
        base = self._comparing.base(clone, remote, wish, head)
        self._comparing.bring_files(clone, remote, base, head)
        return base

    def known_base(self, worktree: Worktree, wish: Wish) -> str:
        """The same without a fetch."""
        return self._comparing.known(worktree.clone, wish)


def _free_branch(clone: Clone, task_id: str) -> str:
    """A branch of this task's own; what an earlier one had is kept first."""
    taken = set()
    for worktree in clone.worktrees():
        with suppress(KingdomError):
            taken.add(worktree.branch())
    flat = clone.resolve(f"{BRANCHES}kingdom") != ""  # a soldier's, in the way of kingdom/…
    for name in branches_for(task_id, flat=flat):
        if f"{BRANCHES}{name}" in taken:
            continue
        tip = clone.resolve(f"{BRANCHES}{name}")
        if tip and not clone.has_all_of(tip, "refs/remotes", PRIVATE):
            save(clone, task_id, f"branch/{name.replace('/', '--')}", tip)
        return name
    raise AssertionError("names do not end")
