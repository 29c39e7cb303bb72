"""The repositories of a general: a worktree for each task, and what soldiers leave in them.

    workspace/{general}/{task}/repo/            the task's worktree, with a git directory and a
                                                branch of its own
    workspace/{general}/{task}/repo.broken-1/   one that could not be used; never deleted here
    workspace/{general}/.clones/                see `kingdom.general.checkouts.clones`

Every method blocks, may be cut off by `kill -9` anywhere, and then simply runs again. Tasks may be
prepared at the same time in several threads; one and the same task may not, and its soldier must
have ended before it is kept, pushed or removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kingdom.clients.git import Git
from kingdom.clients.git_faults import CloneBroken, DiskRefused, GitFailed, RefMissing
from kingdom.clients.git_hosts import GitSettings, Hosts
from kingdom.errors import KingdomError
from kingdom.general.checkouts import pushing, trees
from kingdom.general.checkouts.beginnings import Wish
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones, slug_of
from kingdom.general.checkouts.git_directory import renew
from kingdom.general.checkouts.holdings import (
    PrivateRef,
    Survey,
    facts_of,
    moved_aside,
    private_refs,
)
from kingdom.general.checkouts.keeping import Keeper, Kept
from kingdom.general.checkouts.making import Maker
from kingdom.general.checkouts.older import convert, older_worktrees, paths_of
from kingdom.general.checkouts.outgoing import Outgoing, known_in, outgoing
from kingdom.general.checkouts.refs import BRANCHES, PRIVATE, is_sha
from kingdom.general.checkouts.takeover import has_brought_head
from kingdom.general.checkouts.worktree import Worktree
from kingdom.models.ids import check_id
from kingdom.settings.addresses import Remote
from kingdom.store import disk
from kingdom.store.paths import BaseDir

REPO = "repo"
_BROKEN, _INCOMPLETE = "broken", "kept"


@dataclass(frozen=True)
class Checkout:
    """Where a task's soldier works."""

    path: str
    branch: str  # without refs/heads/; empty when HEAD is on none
    head: str  # the commit; empty in a repository without any
    repo: str  # as the task names it
    clone: str
    base: str = ""  # the commit that it is compared with; empty if there is none
    borrows: tuple[str, ...] = ()  # directories that its git reads, and never writes to


class Repositories:
    def __init__(
        self,
        base: BaseDir,
        general: str,
        git: Git,
        environment: Mapping[str, str],
        settings: GitSettings | None = None,
        configured: frozenset[str] = frozenset(),
    ) -> None:
        """`configured`: what manifests name as repositories, and may be addresses and paths."""
        self._settings = settings or GitSettings()
        self._hosts = Hosts(self._settings, environment, configured)
        self._clones = Clones(base, general, git, self._hosts, self._settings)
        self._home = self._clones.home
        self._maker = Maker(self._clones, self._hosts, self._settings)

    # Before a soldier.

    def prepare(
        self,
        repo: str,
        task_id: str,
        *,
        pull_request: int | None = None,
        head_sha: str | None = None,
        base_branch: str | None = None,
        depth: int | None = None,
        partial: bool | None = None,
        submodules: bool | None = None,
        trusted: bool = True,
    ) -> Checkout:
        """The task's worktree: as it was left, or new, at the head of what is asked for.

        `head_sha` is what the event saw: it makes sure that a fetch brought it, and stands in for
        a pull request whose ref is gone. The pull request's head of today wins over it.
        `base_branch` is where it begins, or what a pull request is to go into. Not `trusted` is
        work of people below member: it gets no submodules and no large files, no links that lead
        out of it, and steering files (CLAUDE.md and such) of the base branch.
        """
        wish = Wish(
            pull_request=pull_request,
            head_sha=head_sha or "",
            base_branch=base_branch or "",
            depth=depth or self._settings.depth,
            partial=self._settings.partial if partial is None else partial,
            trusted=trusted,
        )
        remote = self._hosts.remote(repo)
        with _disk_errors():
            self._convert_older(check_id(task_id))
            found = self._reusable(task_id)
            if found is not None:
                return self._checkout(found, repo, self._refresh(found, remote, wish))
            wanted = self._settings.submodules if submodules is None else submodules
            with_submodules = wanted and trusted  # a fork may name another one of the same owner
            made, base = self._clones.again_if_broken(
                remote,
                lambda: self._maker.make(
                    remote, task_id, wish, self._place(task_id), submodules=with_submodules
                ),
            )
            return self._checkout(made, repo, base)

    def find(self, repo: str, task_id: str) -> Checkout | None:
        """The task's worktree as it is, if there is one; nothing is fetched."""
        for worktree in self._registered(self._place(task_id)):
            if disk.exists(worktree.path):
                return self._checkout(worktree, repo)
        return None

    def _place(self, task_id: str) -> str:
        return os.path.join(self._home, check_id(task_id), REPO)

    def _reusable(self, task_id: str) -> Worktree | None:
        """The worktree that is there; one that cannot be used is moved aside."""
        path = self._place(task_id)
        found = self._registered(path)
        if not disk.exists(path):
            for worktree in self._inside(path):  # its files were deleted, or were not yet there
                self._forget(worktree)
            return None
        for worktree in found:
            if worktree.is_whole() and has_brought_head(worktree):
                return worktree
        self._move_aside(task_id, _BROKEN)
        return None

    def _move_aside(self, task_id: str, word: str) -> str:
        """Its clones go on to lend it what it borrows."""
        path = self._place(task_id)
        inside = self._inside(path)
        aside = trees.move_aside(path, word)
        for one in inside:
            one.clone.move_worktree(one, aside + one.path.removeprefix(path))
        return aside

    def _convert_older(self, task_id: str) -> None:
        """What the version before left of this task; its soldier has ended."""
        inside = os.path.join(self._home, task_id) + os.sep
        for clone in self._clones.all():
            for one in older_worktrees(clone):
                if one.path.startswith(inside):
                    with self._clones.locked(slug_of(clone)), suppress(CloneBroken, GitFailed):
                        convert(one, task_id)

    def _registered(self, path: str) -> list[Worktree]:
        return [
            worktree
            for clone in self._clones.all()
            for worktree in clone.worktrees()
            if worktree.path == path
        ]

    def _refresh(self, worktree: Worktree, remote: Remote, wish: Wish) -> str:
        """Its clone, if the remote can be reached; who has a worktree can go on without. Answers
        the commit that it is compared with."""
        clone, base = worktree.clone, ""
        with self._clones.locked(slug_of(clone)):
            clone.put_right()
            clone.mark_used()
            if clone.url == remote.url and not clone.is_broken:
                with suppress(KingdomError):
                    base = self._maker.refresh(worktree, remote, wish)
            for one in self._inside(worktree.path):
                with suppress(CloneBroken, GitFailed):
                    one.clone.borrow(one)
                    renew(one)
        with suppress(KingdomError):
            return base or self._maker.known_base(worktree, wish)
        return ""

    # After a soldier.

    def keep(self, task_id: str) -> list[str]:
        """Save what is neither committed nor pushed; the private refs that have it now.

        A ref of another clone than the task's own (a submodule's) has that clone's name before it.
        """
        with _disk_errors():
            return self._keep(task_id).refs

    def _keep(self, task_id: str) -> Kept:
        total, main = Kept(), self._place(task_id)
        self._convert_older(check_id(task_id))
        found = [one for one in self._inside(main) if disk.exists(one.path)]
        names = {worktree.clone.name for worktree in found if worktree.path == main}
        for worktree in found:
            kept = self._kept_of(worktree, task_id)
            own = worktree.clone.name in names or not names
            for ref in kept.refs:
                is_elsewhere = not own and ref.startswith(PRIVATE)
                total.add(f"{worktree.clone.name} {ref}" if is_elsewhere else ref)
            total.missed += [os.path.join(worktree.path, path) for path in kept.missed]
            worktree.clone.mark_used()
        if disk.exists(main) and not names:  # no clone knows it
            total.add(main)
            total.missed.append(main)
        return total

    def _kept_of(self, worktree: Worktree, task_id: str) -> Kept:
        """Where git cannot be read, the files themselves are what is kept."""
        known = frozenset(one.path for one in self._inside(self._place(task_id)))
        try:
            return Keeper(worktree, task_id, known).keep()
        except (CloneBroken, GitFailed):
            return Kept([worktree.path], ["."])

    def _inside(self, directory: str) -> list[Worktree]:
        """All that lie there: a task's own, and submodules."""
        return [
            worktree
            for clone in self._clones.all()
            for worktree in clone.worktrees()
            if _is_in(worktree.path, directory)
        ]

    def push(
        self,
        checkout: Checkout,
        branch: str,
        *,
        source: str = "HEAD",
        force_with_lease: bool = False,
    ) -> str:
        """The commit that the remote's branch is at now: the worktree's HEAD, or `source`.

        The address is computed from the repository's name, never read from the clone. With a lease,
        what the last fetch saw there may be overwritten, and nothing else.
        """
        remote = self._hosts.remote(checkout.repo)
        with _disk_errors():
            clone, sha = self._commit_of(checkout, source)
            return pushing.push(
                self._clones, clone, remote, branch, sha=sha, force_with_lease=force_with_lease
            )

    def outgoing(self, checkout: Checkout, source: str = "HEAD") -> Outgoing:
        """What a push of this would bring to the remote."""
        with _disk_errors():
            clone, sha = self._commit_of(checkout, source)
            return outgoing(clone, sha, checkout.base)

    def known_in(self, checkout: Checkout, strings: frozenset[str]) -> frozenset[str]:
        """Of these strings, those that its repository had when the soldier began."""
        clone, _ = self._commit_of(checkout, checkout.head or checkout.base)
        return known_in(clone, (checkout.head, checkout.base), strings)

    def _commit_of(self, checkout: Checkout, source: str) -> tuple[Clone, str]:
        """Taken over from the worktree, unless the clone has it, kept by a ref."""
        clones = [one for one in self._clones.all() if one.path == checkout.clone]
        if clones and is_sha(source) and clones[0].resolve(source):
            return clones[0], source
        self._convert_older(os.path.basename(os.path.dirname(checkout.path)))
        for worktree in self._registered(checkout.path):
            if worktree.clone.path == checkout.clone:
                return worktree.clone, pushing.bring(worktree, source)
        raise RefMissing(f"{checkout.path} is not a worktree any more.")

    def remove(self, task_id: str) -> list[str]:
        """Keep first; then the worktree goes, and branches whose commits are kept or pushed.

        If not all of it could be kept, its files are moved aside instead, and the place is named.
        """
        path = self._place(task_id)
        with _disk_errors():
            kept = self._keep(task_id)
            names = [name for name in kept.refs if not os.path.isabs(name)]
            if disk.exists(path) and (kept.missed or not self._inside(path)):
                names.append(self._move_aside(task_id, _INCOMPLETE))
            disk.make_directory(self._clones.root)
            with trees.work_directory(self._clones.root) as work:
                if disk.exists(path):
                    disk.move_anything(path, os.path.join(work, REPO))
                for worktree in self._inside(path):
                    self._forget(worktree)
        return names

    def _forget(self, worktree: Worktree) -> None:
        clone = worktree.clone
        with self._clones.locked(slug_of(clone)):
            clone.forget_worktree(worktree)
            if clone.is_broken:
                self._clones.drop_if_unused(clone)

    # For retention.

    def survey(self) -> Survey:
        aside = re.compile(rf"{REPO}\.(?:{_BROKEN}|{_INCOMPLETE})-\d+")
        return Survey(
            clones=tuple(facts_of(clone) for clone in self._clones.all()),
            aside=tuple(moved_aside(self._home, aside)),
        )

    def forget_kept(self, ref: PrivateRef, clone: str) -> None:
        """A private ref whose time is over."""
        for one in self._clones.all():
            if one.path == clone and ref.name.startswith(PRIVATE):
                one.update((ref.name, ""))

    def compact(self) -> None:
        """Each clone, if it has become large by what is forgotten; soldiers may be at work."""
        for clone in self._clones.all():
            if not clone.is_broken:
                with self._clones.locked(slug_of(clone)), _disk_errors():
                    clone.put_right()
                    self._clones.forget_missing(clone)
                clone.compact()

    def discard(self, clone: str) -> bool:
        """A clone that nobody uses; False if it still is needed."""
        for one in self._clones.all():
            if one.path != clone:
                continue
            with self._clones.locked(slug_of(one)), _disk_errors():
                if paths_of(one) or private_refs(one):
                    return False
                with trees.work_directory(self._clones.root) as work:
                    disk.move_anything(one.path, os.path.join(work, "clone.git"))
                return True
        return True

    def _checkout(self, worktree: Worktree, repo: str, base: str = "") -> Checkout:
        branch = worktree.branch().removeprefix(BRANCHES)
        clones = [one.clone for one in self._inside(worktree.path)]
        borrows = [path for clone in clones for path in (clone.objects, clone.lfs)]
        lent = tuple(dict.fromkeys(path for path in borrows if disk.exists(path)))
        return Checkout(
            worktree.path, branch, worktree.head(), repo, worktree.clone.path, base, lent
        )


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskRefused(f"{error.filename}: {error.strerror}.") from error


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + os.sep)
