"""A new worktree for a task: fetched, on a branch of its own, with all its files."""

from __future__ import annotations

import os
from contextlib import suppress

from kingdom.clients.git_hosts import GitSettings, Hosts
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.beginnings import Beginnings, Wish
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones, slug
from kingdom.general.checkouts.committed import EMPTY_TREE, Limits, Tree
from kingdom.general.checkouts.comparing import Comparing
from kingdom.general.checkouts.filling import Filler
from kingdom.general.checkouts.git_directory import new_worktree
from kingdom.general.checkouts.refs import BRANCHES, branches_for
from kingdom.general.checkouts.submodules import Submodules
from kingdom.general.checkouts.worktree import Worktree
from kingdom.settings.addresses import Remote
from kingdom.store import disk

_CLOCK = SystemClock()  # the same as of `clones`: it says how old a fetch is


class Maker:
    def __init__(self, clones: Clones, hosts: Hosts, settings: GitSettings) -> None:
        self._clones = clones
        self._settings = settings
        self._beginnings = Beginnings(clones, settings.pull_ref)
        self._comparing = Comparing(clones, settings.pull_ref)
        self._filler = Filler(clones, with_lfs=settings.lfs)
        limits = Limits(settings.max_checkout_mb, settings.max_checkout_files, outside=False)
        self._submodules = Submodules(clones, hosts, self._beginnings, self._filler, limits)

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
                self._comparing.bring_files(clone, remote, base, start)
                tree = Tree(self._clones, clone, remote, start, self._limits(wish))
                tree.check_size()
                placed = _planned(path, clone, wish, tree, base)
                self._filler.see_to_lfs(placed, tree)
                branch = _free_branch(clone, task_id, path)
                made = os.path.join(work, os.path.basename(path))
                worktree = new_worktree(placed, made, start, branch)
            try:
                self._filler.fill(worktree, remote, tree, self._steering(placed, tree))
                if submodules:
                    self._submodules.add(worktree, tree, path)
                disk.move_anything(worktree.path, path)
            except BaseException:
                with self._clones.locked(slug(remote)):
                    clone.forget_worktree(placed)
                raise
            disk.sync_directory(os.path.dirname(path))
        return placed, base

    def _limits(self, wish: Wish) -> Limits:
        settings = self._settings
        if wish.trusted:
            return Limits(settings.max_checkout_mb, settings.max_checkout_files, outside=False)
        megabytes, files = settings.max_outside_checkout_mb, settings.max_outside_checkout_files
        return Limits(megabytes, files, outside=True)

    def _steering(self, worktree: Worktree, tree: Tree) -> Tree | None:
        """Where the files come from that steer agents, if not from the commit itself."""
        return tree.at(worktree.steering) if worktree.steering else None

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


def _planned(path: str, clone: Clone, wish: Wish, tree: Tree, base: str) -> Worktree:
    """What is taken of work of people below member: large files, links and steering files not."""
    if wish.trusted:
        return Worktree(path, clone)
    links = tree.has_links_outside()
    return Worktree(path, clone, plain_links=links, lfs=False, steering=base or EMPTY_TREE)


def _free_branch(clone: Clone, task_id: str, path: str) -> str:
    """One that none of the task's worktrees has which were moved aside: it may have been pushed."""
    taken = set()
    for worktree in clone.worktrees():
        if os.path.dirname(worktree.path) == os.path.dirname(path):
            with suppress(KingdomError):
                taken.add(worktree.branch())
    return next(name for name in branches_for(task_id) if f"{BRANCHES}{name}" not in taken)
