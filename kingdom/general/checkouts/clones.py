"""One clone per repository, in `workspace/{general}/.clones/`, shared by all tasks' worktrees.

    {slug}.git/        bare; the soldiers' git reads its objects
    {slug}.2.git/      its successor, after `kingdom-broken` was left in the first
    {slug}.lock        held while the clone is made, fetched, or its worktrees change
    .work-…/           what is being made; after a crash it is removed by the next one to look

A crash leaves a clone whole: it is renamed into place when it is complete, objects come before the
refs to them, and refs move by git's own transactions.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from kingdom.clients.git import Git, Place
from kingdom.clients.git_faults import CloneBroken, GitBusy, GitRefused, RefMissing
from kingdom.clients.git_hosts import GitSettings, Hosts
from kingdom.clients.programs import Said
from kingdom.clock import SystemClock
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import LARGEST, SHALLOW, Clone
from kingdom.general.checkouts.older import paths_of
from kingdom.general.checkouts.refs import BORROWED, BRANCHES, REMOTE_BRANCHES, REMOTE_HEAD
from kingdom.runtime.processes import until
from kingdom.settings.addresses import Remote
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir

_CLOCK = SystemClock()
_T = TypeVar("_T")
CLONES = ".clones"
_SEEN_HEAD = "refs/kingdom-head"  # in views only: the commit of the default branch
_NO_HEAD = "remote ref HEAD."  # it is empty, or its HEAD names a branch that is not there
_EVERYTHING = (f"+{BRANCHES}*:{REMOTE_BRANCHES}*", f"+HEAD:{_SEEN_HEAD}")
_NAME = re.compile(r"(?P<slug>.+?)(?:\.(?P<generation>\d+))?\.git")


class Clones:
    """All of one general."""

    def __init__(
        self, base: BaseDir, general: str, git: Git, hosts: Hosts, settings: GitSettings
    ) -> None:
        self.home = os.path.realpath(os.path.join(base.workspace, general))
        self.root = os.path.join(self.home, CLONES)
        self._git = git
        self._hosts = hosts
        self._settings = settings
        self._fetched: dict[str, float] = {}  # path: when the last good fetch began

    def all(self) -> list[Clone]:
        names = sorted(name for name in disk.names(self.root) if _NAME.fullmatch(name))
        return [self._at(os.path.join(self.root, name)) for name in names]

    def of(self, remote: Remote) -> Clone | None:
        """The one in use, if there is one."""
        for generation in range(1, 10_000):
            number = "" if generation == 1 else f".{generation}"
            clone = self._at(os.path.join(self.root, f"{slug(remote)}{number}.git"))
            if not disk.exists(clone.path):
                return None
            if not clone.is_broken:
                return clone
        return None

    @contextmanager
    def locked(self, remote_slug: str) -> Iterator[None]:
        disk.make_directory(self.root)
        lock = Lock(os.path.join(self.root, f"{remote_slug}.lock"))
        try:
            if not until(lock.try_acquire, self._git.patience):
                raise GitBusy(f"Another task has been at the clone {remote_slug} for too long.")
            with self._git.lending(lock.fileno()):
                yield
        finally:
            lock.close()

    def ready(self, remote: Remote, *, partial: bool, depth: int | None) -> Clone:
        """The clone in use, made if there is none; with the lock held."""
        trees.clear_work(self.root)
        clone = self.of(remote)
        if clone is None:
            clone = self._make(remote, partial=partial, depth=depth)
        clone.drop_stale_locks()
        clone.put_right()
        clone.mark_used()
        self.forget_missing(clone)
        return clone

    def forget_missing(self, clone: Clone) -> None:
        """Worktrees whose task's directory is gone: whoever makes one makes that first."""
        for worktree in clone.worktrees():
            task = os.path.relpath(worktree.path, self.home).split(os.sep)[0]
            if not disk.exists(os.path.join(self.home, task)):
                clone.forget_worktree(worktree)

    def again_if_broken(self, remote: Remote, act: Callable[[], _T]) -> _T:
        """Once more, with a successor of the clone that turned out to be broken."""
        try:
            return act()
        except CloneBroken as error:
            self._give_up(remote, str(error))
            return act()

    def _give_up(self, remote: Remote, reason: str) -> None:
        """A clone that cannot be read gets a successor; it goes when nobody needs it any more."""
        for clone in self.all():
            if slug_of(clone) == slug(remote) and not clone.is_broken:
                clone.mark_broken(reason)
                self.drop_if_unused(clone)

    def drop_if_unused(self, clone: Clone) -> None:
        if not paths_of(clone) and not clone.has_refs_of_its_own():
            with trees.work_directory(self.root) as work:
                disk.move_anything(clone.path, os.path.join(work, clone.name))

    def fetch(
        self, clone: Clone, remote: Remote, *, asked: float, depth: int | None = None,
        also: Sequence[str] = (), wanted: str = "",
    ) -> None:  # fmt: skip
        """With the lock held. One that just happened will do, if it brought what is wanted."""
        fresh = self._fetched.get(clone.path, float("-inf")) >= asked - self._settings.fresh_seconds
        if fresh and not also and (not wanted or clone.resolve(wanted)):
            return
        began = _CLOCK.monotonic()
        # A clone that has all of history is not cut; soldiers may be at work with its objects.
        cut = (f"--depth={depth}",) if depth is not None and clone.is_shallow else ()
        self._fetch(clone, remote, (*_EVERYTHING, *also), *cut)
        self._fetched[clone.path] = began

    def deepen(self, clone: Clone, remote: Remote, refspecs: Sequence[str], by: int | None) -> None:
        """More history of what these name, or all of it; with the lock held."""
        how = "--unshallow" if by is None else f"--deepen={by}"
        self._fetch(clone, remote, refspecs, how)

    def default_branch(self, clone: Clone, remote: Remote) -> str:
        """A ref in the clone; asked of the remote if fetching did not tell."""
        known = clone.default_branch()
        if known and clone.resolve(known):
            return known
        target = self._ask_for_head(clone, remote)
        if not target or not clone.resolve(target):
            raise RefMissing(
                f"{clone.url} has no default branch: it is empty, or its HEAD names none.",
                remedy="Push a first commit to it, or name a branch.",
            )
        self._git.run("symbolic-ref", REMOTE_HEAD, target, at=clone.at)
        return target

    def _note_head(self, clone: Clone, remote: Remote, after: Mapping[str, str]) -> None:
        """Which branch is the default one, by the commit that came with the branches; the remote
        is asked only if several are there."""
        seen = after.get(_SEEN_HEAD)
        there = [name for name, sha in after.items() if sha == seen and _is_branch(name)]
        if not there or clone.default_branch() in there:
            return
        target = there[0] if len(there) == 1 else self._ask_for_head(clone, remote)
        if target in there:
            self._git.run("symbolic-ref", REMOTE_HEAD, target, at=clone.at)

    def reach(
        self, clone: Clone, remote: Remote, *words: str, at: Place,
        stdin: bytes = b"", fine: tuple[int, ...] = (0,),
    ) -> Said:  # fmt: skip
        """Run git in a view, with leave to reach this remote."""
        whole = Place(at.git_dir, at.common_dir, at.work_tree, at.index, clone.objects)
        access = self._hosts.access(remote)
        try:
            return self._git.run(*words, at=whole, access=access, stdin=stdin, fine=fine)
        except GitRefused:  # which has done nothing
            renewed = self._hosts.renewed(remote, access)
            if renewed is None:
                raise
        return self._git.run(*words, at=whole, access=renewed, stdin=stdin, fine=fine)

    def _ask_for_head(self, clone: Clone, remote: Remote) -> str:
        with clone.view() as view:
            words = ("ls-remote", "--symref", remote.url, "HEAD")
            answer = self.reach(clone, remote, *words, at=Place(view)).text
        found = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", answer, re.MULTILINE)
        return f"{REMOTE_BRANCHES}{found[1]}" if found else ""

    def _make(self, remote: Remote, *, partial: bool, depth: int | None) -> Clone:
        names = {os.path.basename(clone.path) for clone in self.all()}
        generation = 1 + sum(_slug_of(name) == slug(remote) for name in names)
        number = "" if generation == 1 else f".{generation}"
        target = os.path.join(self.root, f"{slug(remote)}{number}.git")
        with trees.work_directory(self.root) as work:
            path = os.path.join(work, "clone.git")
            self._git.run("init", "--quiet", "--bare", "--template=", path)
            clone = self._at(path)
            clone.note_origin(remote.url, partial=partial)
            clone.put_right()
            began = _CLOCK.monotonic()
            cut = (f"--depth={depth}",) if depth is not None else ()
            self._fetch(clone, remote, _EVERYTHING, *cut)
            disk.sync_filesystem(path)
            disk.move_anything(path, target)
            disk.sync_directory(self.root)
        self._fetched[target] = began
        return self._at(target)

    def _fetch(self, clone: Clone, remote: Remote, refspecs: Sequence[str], *options: str) -> None:
        refs = clone.refs().items()
        before = {name: sha for name, sha in refs if not name.startswith((_SEEN_HEAD, BORROWED))}
        with clone.view(before) as view:
            words = ["fetch", "--prune", "--force", "--no-auto-maintenance", "--progress", *options]
            if clone.is_partial:
                words.append("--filter=blob:none")
            self._bring(clone, remote, words, refspecs, Place(view))
            after = clone.refs(at=Place(view, objects=clone.objects))
            _take_over_shallow(clone, view)
        _take_over(clone, before, after)
        self._note_head(clone, remote, after)

    def _bring(
        self, clone: Clone, remote: Remote, words: list[str], refspecs: Sequence[str], at: Place
    ) -> None:
        try:
            self.reach(clone, remote, *words, "origin", *refspecs, at=at)
        except RefMissing as error:
            if _NO_HEAD not in error.sentence:
                raise
            named = [one for one in refspecs if one not in _EVERYTHING[1:]]
            self.reach(clone, remote, *words, "origin", *named, at=at)

    def _at(self, path: str) -> Clone:
        return Clone(path, self._git, self._settings)


def _take_over_shallow(clone: Clone, view: str) -> None:
    """Where history ends now. What was here of it stays: it is cut nowhere that it was not."""
    old, new = _ends_of_history(clone.path), _ends_of_history(view)
    if new - old:
        new -= set(clone.git.run("rev-list", "--all", at=clone.at).text.split()) - old
    if new == old:
        return
    path = os.path.join(clone.path, SHALLOW)
    if new:
        disk.replace(path, "".join(f"{sha}\n" for sha in sorted(new)).encode())
    else:
        disk.remove(path)


def _ends_of_history(directory: str) -> set[str]:
    with suppress(FileNotFoundError):
        return set(disk.read(os.path.join(directory, SHALLOW), LARGEST)[0].decode().split())
    return set()


def _take_over(clone: Clone, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """The remote's refs as they now are, and tags that are new; a soldier's own are not touched.

    What is gone goes first: `a` must make room for `a/b`.
    """
    gone = [(name, "") for name in before if name.startswith("refs/remotes/") and name not in after]
    new = [
        (name, sha)
        for name, sha in after.items()
        if before.get(name) != sha and _is_the_remote_s(name, is_new=name not in before)
    ]
    for changes in (gone, new):
        if changes:
            clone.update(*changes)


def _is_the_remote_s(name: str, *, is_new: bool) -> bool:
    if name.startswith("refs/tags/"):
        return is_new
    # A branch that is called HEAD would be written through the symbolic ref of that name.
    return name.startswith("refs/remotes/") and name != REMOTE_HEAD


def _is_branch(name: str) -> bool:
    return name.startswith(REMOTE_BRANCHES) and name != REMOTE_HEAD


def slug(remote: Remote) -> str:
    """Readable, and never the same for two addresses."""
    tail = "-".join(re.split(r"[/:]", remote.url.removesuffix(".git").rstrip("/"))[-2:])
    readable = re.sub(r"[^a-z0-9_-]+", "-", tail.lower()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(remote.url.encode()).hexdigest()[:12]}"


def _slug_of(name: str) -> str:
    found = _NAME.fullmatch(name)
    return found["slug"] if found else ""


def slug_of(clone: Clone) -> str:
    """Whose lock is this clone's."""
    return _slug_of(clone.name)
