"""The commit at which a worktree begins: of a pull request, a branch, or the one an event saw."""

from __future__ import annotations

from dataclasses import dataclass

from kingdom.clients.git_faults import RefMissing
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones
from kingdom.general.checkouts.refs import (
    PULLS,
    REMOTE_BRANCHES,
    checked_branch,
    is_sha,
    ref_of_commit,
)
from kingdom.settings.addresses import Remote


@dataclass(frozen=True)
class Wish:
    """Where a worktree is to begin."""

    pull_request: int | None
    head_sha: str
    base_branch: str  # which it begins at, or which the pull request is to go into
    depth: int | None
    partial: bool
    trusted: bool = True  # False for work of people below member

    def __post_init__(self) -> None:
        number, sha = self.pull_request, self.head_sha
        if number is not None and (isinstance(number, bool) or number < 1):
            raise RefMissing(f"{number} is not the number of a pull request.")
        if sha and not is_sha(sha):
            raise RefMissing(f"{sha[:80]!r} is not a commit.")


class Beginnings:
    """Finds them in a clone, with its lock held, and fetches what is not there."""

    def __init__(self, clones: Clones, pull_ref: str) -> None:
        self._clones = clones
        self._pull_ref = pull_ref

    def commit(self, clone: Clone, remote: Remote, wish: Wish, asked: float) -> str:
        """The commit to begin at, after a fetch."""
        if wish.pull_request is not None:
            return self._head_of_pull(clone, remote, wish, asked)
        branch = f"{REMOTE_BRANCHES}{checked_branch(wish.base_branch)}" if wish.base_branch else ""
        wanted = wish.head_sha or branch
        self._clones.fetch(clone, remote, asked=asked, depth=wish.depth, wanted=wanted)
        if wish.head_sha:
            if not clone.resolve(wish.head_sha):
                self._fetch_commit(clone, remote, wish, asked)
            return wish.head_sha
        if branch:
            found = clone.resolve(branch)
            if not found:
                raise RefMissing(f"{clone.url} has no branch {wish.base_branch}.")
            return found
        return clone.resolve(self._clones.default_branch(clone, remote))

    def _head_of_pull(self, clone: Clone, remote: Remote, wish: Wish, asked: float) -> str:
        name = f"{PULLS}{wish.pull_request}"
        source = self._pull_ref.replace("{number}", str(wish.pull_request))
        try:
            also = (f"+{source}:{name}",)
            self._clones.fetch(clone, remote, asked=asked, depth=wish.depth, also=also)
        except RefMissing:
            if not wish.head_sha:
                raise
            self._fetch_commit(clone, remote, wish, asked)
            return wish.head_sha
        return clone.resolve(name)

    def _fetch_commit(self, clone: Clone, remote: Remote, wish: Wish, asked: float) -> None:
        """One that no branch leads to any more; many hosts give it out all the same."""
        also = (f"+{wish.head_sha}:{ref_of_commit(wish.pull_request, wish.head_sha)}",)
        self._clones.fetch(clone, remote, asked=asked, depth=wish.depth, also=also)

    def have(self, clone: Clone, remote: Remote, sha: str) -> None:
        """This very commit, which another repository has pinned."""
        if clone.resolve(sha):
            return
        self._clones.fetch(clone, remote, asked=float("inf"))
        if not clone.resolve(sha):
            also = (f"+{sha}:{ref_of_commit(None, sha)}",)
            self._clones.fetch(clone, remote, asked=float("inf"), also=also)
