"""What a task's work is compared with: the branch that it is to go into, found in the clone.

A soldier reaches no remote. So all that comparing takes is fetched before it begins: history as far
back as where the two parted, in a shallow clone, and the files of both and of that place, in a
partial one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kingdom.clients.git import Place
from kingdom.clients.git_faults import RefMissing
from kingdom.general.checkouts.beginnings import Wish
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones
from kingdom.general.checkouts.refs import (
    BRANCHES,
    PULLS,
    REMOTE_BRANCHES,
    checked_branch,
    ref_of_commit,
)
from kingdom.settings.addresses import Remote

_STEPS = tuple(64 * 2**number for number in range(6))  # commits more each time, then all


class Comparing:
    def __init__(self, clones: Clones, pull_ref: str) -> None:
        self._clones = clones
        self._pull_ref = pull_ref

    def base(self, clone: Clone, remote: Remote, wish: Wish, head: str) -> str:
        """The commit; empty where the remote has no default branch and none is named. With the
        lock held, after a fetch."""
        branch = _branch(clone, wish)
        if not branch:
            return ""
        for by in (*_STEPS, None):
            base = clone.resolve(branch)
            if not clone.is_shallow or clone.merge_base(base, head):
                return base
            self._clones.deepen(clone, remote, tuple(self._refspecs(clone, wish, branch)), by)
        return clone.resolve(branch)

    @staticmethod
    def known(clone: Clone, wish: Wish) -> str:
        """Whatever the last fetch brought."""
        branch = _branch(clone, wish)
        return clone.resolve(branch) if branch else ""

    def _refspecs(self, clone: Clone, wish: Wish, branch: str) -> Iterator[str]:
        """Of both sides, as far as the remote knows them."""
        yield f"+{BRANCHES}{branch.removeprefix(REMOTE_BRANCHES)}:{branch}"
        number, sha = wish.pull_request, wish.head_sha
        if number is not None and clone.resolve(f"{PULLS}{number}"):
            yield f"+{self._pull_ref.replace('{number}', str(number))}:{PULLS}{number}"
        elif sha and clone.resolve(ref_of_commit(number, sha)):
            yield f"+{sha}:{ref_of_commit(number, sha)}"

    def bring_files(self, clone: Clone, remote: Remote, base: str, head: str) -> None:
        """Those in which they differ from each other, and from where they parted: what else there
        is of them lies in the worktree already."""
        if not clone.is_partial or not base or base == head:
            return
        parted = clone.merge_base(base, head)
        with clone.view() as view:
            for one in dict.fromkeys(filter(None, (base, parted))):
                words = ("diff-tree", "-r", "--shortstat", "--no-renames", one, head)
                self._clones.reach(clone, remote, *words, at=Place(view))


def _branch(clone: Clone, wish: Wish) -> str:
    """The ref of the one that is named, if it is there; else of the default one."""
    with suppress(RefMissing):
        named = f"{REMOTE_BRANCHES}{checked_branch(wish.base_branch)}"
        if clone.resolve(named):
            return named
    return clone.default_branch()
