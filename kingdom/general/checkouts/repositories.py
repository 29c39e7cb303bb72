"""The repositories of a general: a worktree for each task, and what soldiers leave in them.

    workspace/{general}/{task}/repo/            the task's worktree, on a branch of its own
    workspace/{general}/{task}/repo.broken-1/   one that could not be used; never deleted here
    workspace/{general}/.clones/                see `kingdom.general.checkouts.clones`

Every method blocks, may be cut off by `kill -9` anywhere, and then simply runs again. Tasks may be
prepared at the same time in several threads; one and the same task may not, and its soldier must
have ended before it is kept, pushed or removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kingdom.clients.git import Git, Place
from kingdom.clients.git_faults import (
    CloneBroken,
    DiskRefused,
    GitFailed,
    GitUnreachable,
    PushRejected,
    RefMissing,
    failure_of,
)
from kingdom.clients.git_hosts import GitSettings, Hosts, Remote
from kingdom.clients.programs import Said
from kingdom.clock import Clock, SystemClock
from kingdom.errors import ConfigurationError, KingdomError, NeverWorks
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clones import (
    BRANCHES,
    PRIVATE,
    PULLS,
    REMOTE_BRANCHES,
    Clone,
    Clones,
    Worktree,
    is_sha,
    slug,
    slug_of,
)
from kingdom.general.checkouts.committed import Tree
from kingdom.general.checkouts.holdings import (
    PrivateRef,
    Survey,
    facts_of,
    moved_aside,
    private_refs,
)
from kingdom.general.checkouts.keeping import Keeper, Kept, ref_word
from kingdom.models.ids import check_id
from kingdom.store import disk
from kingdom.store.paths import BaseDir

_T = TypeVar("_T")
REPO = "repo"
_BROKEN, _INCOMPLETE = "broken", "kept"
_DEEPEST = 10  # submodules within submodules
_WORKTREE_LOCKS = ("index.lock", "HEAD.lock")


class LfsMissing(ConfigurationError):
    """The repository keeps large files with git-lfs, which is not installed."""

    code = "lfs_missing"


@dataclass(frozen=True)
class Checkout:
    """Where a task's soldier works."""

    path: str
    branch: str  # without refs/heads/; empty when HEAD is on none
    head: str  # the commit; empty in a repository without any
    repo: str  # as the task names it
    clone: str


@dataclass(frozen=True)
class _Wish:
    """Where a worktree is to begin."""

    pull_request: int | None
    head_sha: str
    base_branch: str
    depth: int | None
    partial: bool


class Repositories:
    def __init__(
        self,
        base: BaseDir,
        general: str,
        git: Git,
        environment: Mapping[str, str],
        settings: GitSettings | None = None,
        configured: frozenset[str] = frozenset(),
        clock: Clock | None = None,
    ) -> None:
        """`configured`: what manifests name as repositories, and may be addresses and paths."""
        self._settings = settings or GitSettings()
        self._git = git
        self._clock = clock or SystemClock()
        self._home = os.path.join(os.path.realpath(base.workspace), general)
        self._hosts = Hosts(self._settings, environment, configured)
        self._clones = Clones(base, general, git, self._hosts, self._settings)

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
    ) -> Checkout:
        """The task's worktree: as it was left, or new, at the head of what is asked for.

        `head_sha` is what the event saw: it makes sure that a fetch brought it, and stands in for
        a pull request whose ref is gone. The pull request's head of today wins over it.
        """
        wish = _Wish(
            pull_request=_number(pull_request),
            head_sha=_sha(head_sha),
            base_branch=base_branch or "",
            depth=depth or self._settings.depth,
            partial=self._settings.partial if partial is None else partial,
        )
        remote = self._hosts.remote(repo)
        with _disk_errors():
            found = self._reusable(check_id(task_id))
            if found is not None:
                self._refresh(found, remote)
                return self._checkout(found, repo)
            with_submodules = self._settings.submodules if submodules is None else submodules
            made = self._again_if_broken(
                remote, lambda: self._new(remote, task_id, wish, with_submodules)
            )
            return self._checkout(made, repo)

    def find(self, repo: str, task_id: str) -> Checkout | None:
        """The task's worktree as it is, if there is one; nothing is fetched."""
        for worktree in self._registered(self._place(task_id)):
            if disk.exists(worktree.path):
                return self._checkout(worktree, repo)
        return None

    def _again_if_broken(self, remote: Remote, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except CloneBroken as error:
            self._give_up(remote, str(error))
            return act()

    def _place(self, task_id: str) -> str:
        return os.path.join(self._home, check_id(task_id), REPO)

    def _reusable(self, task_id: str) -> Worktree | None:
        """The worktree that is there; one that cannot be used is moved aside."""
        path = self._place(task_id)
        found = self._registered(path)
        if not disk.exists(path):
            inside = [one for one in self._of_task(task_id) if _is_in(one.path, path)]
            self._drop_missing(inside, task_id)
            return None
        for worktree in found:
            for name in _WORKTREE_LOCKS:  # its soldier has ended, so nobody holds them
                disk.remove(os.path.join(worktree.admin, name))
            if worktree.is_whole():
                return worktree
        aside = trees.move_aside(path, _BROKEN)
        for worktree in found:
            worktree.clone.place_worktree(worktree, aside)
        return None

    def _registered(self, path: str) -> list[Worktree]:
        return [
            worktree
            for clone in self._clones.all()
            for worktree in clone.worktrees()
            if worktree.path == path
        ]

    def _drop_missing(self, found: list[Worktree], task_id: str) -> None:
        """Whose files someone deleted, or were not yet there when a crash came."""
        for worktree in found:
            with self._clones.locked(slug_of(worktree.clone)):
                with suppress(CloneBroken, GitFailed):
                    self._keeper(worktree, task_id).keep()
                worktree.clone.forget_worktree(worktree)

    def _refresh(self, worktree: Worktree, remote: Remote) -> None:
        """Its clone, if the remote can be reached; who has a worktree can go on without."""
        clone = worktree.clone
        with self._clones.locked(slug_of(clone)):
            clone.put_right()
            clone.mark_used()
            if clone.url == remote.url and not clone.is_broken:
                with suppress(KingdomError):
                    self._clones.fetch(clone, remote, asked=self._clock.monotonic())

    def _new(self, remote: Remote, task_id: str, wish: _Wish, submodules: bool) -> Worktree:
        asked = self._clock.monotonic()
        path = self._place(task_id)
        disk.make_directory(self._clones.root)
        disk.make_directory(os.path.dirname(path))
        with trees.work_directory(self._clones.root) as work:
            with self._clones.locked(slug(remote)):
                clone = self._clones.ready(remote, partial=wish.partial, depth=wish.depth)
                start = self._start(clone, remote, wish, asked)
                branch = self._free_branch(clone, task_id, start)
                worktree = clone.add_worktree(work, task_id, start, branch)
            try:
                tree = Tree(self._clones, clone, remote, start)
                self._fill(worktree, remote, tree)
                if submodules:
                    self._add_submodules(worktree, tree, path, task_id)
                placed = clone.place_worktree(worktree, path)
                disk.move_anything(worktree.path, path)
            except BaseException:
                with self._clones.locked(slug(remote)):
                    trees.remove(worktree.path)
                    clone.forget_worktree(worktree)
                raise
            disk.sync_directory(os.path.dirname(path))
        return placed

    def _start(self, clone: Clone, remote: Remote, wish: _Wish, asked: float) -> str:
        """The commit to begin at, after a fetch."""
        if wish.pull_request is not None:
            return self._head_of_pull(clone, remote, wish, asked)
        branch = f"{REMOTE_BRANCHES}{_branch(wish.base_branch)}" if wish.base_branch else ""
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

    def _head_of_pull(self, clone: Clone, remote: Remote, wish: _Wish, asked: float) -> str:
        name = f"{PULLS}{wish.pull_request}"
        source = self._settings.pull_ref.replace("{number}", str(wish.pull_request))
        try:
            also = (f"+{source}:{name}",)
            self._clones.fetch(clone, remote, asked=asked, depth=wish.depth, also=also)
        except RefMissing:
            if not wish.head_sha:
                raise
            self._fetch_commit(clone, remote, wish, asked)
            return wish.head_sha
        return clone.resolve(name)

    def _fetch_commit(self, clone: Clone, remote: Remote, wish: _Wish, asked: float) -> None:
        """One that no branch leads to any more; many hosts give it out all the same."""
        name = f"{PULLS}{wish.pull_request or 'commit'}-{wish.head_sha[:12]}"
        also = (f"+{wish.head_sha}:{name}",)
        self._clones.fetch(clone, remote, asked=asked, depth=wish.depth, also=also)

    def _free_branch(self, clone: Clone, task_id: str, start: str) -> str:
        """A branch of this task's own; what an earlier one had is kept first."""
        taken = set()
        for worktree in clone.worktrees():
            with suppress(KingdomError):
                taken.add(worktree.branch())
        flat = clone.resolve(f"{BRANCHES}kingdom") != ""  # a soldier's, in the way of kingdom/…
        for name in _branch_names(task_id, flat):
            if f"{BRANCHES}{name}" in taken:
                continue
            tip = clone.resolve(f"{BRANCHES}{name}")
            if tip and not clone.has_all_of(tip, "refs/remotes", PRIVATE):
                wanted = f"branch/{name.replace('/', '--')}"
                Keeper(_nobody(clone), task_id, (), frozenset()).save(wanted, tip)
            return name
        raise AssertionError("names do not end")

    def _fill(self, worktree: Worktree, remote: Remote, tree: Tree) -> None:
        """Its files; through a view, since the soldiers' configuration may name programs."""
        clone = worktree.clone
        self._see_to_lfs(clone, tree)
        with clone.view() as view:
            index = os.path.join(view, "index")
            at = Place(view, work_tree=worktree.path, index=index)
            words = ("read-tree", "-u", "--reset", tree.commit)
            if clone.is_partial or disk.exists(clone.lfs):
                self._clones.reach(clone, remote, *words, at=at)
            else:
                clone.in_view(*words, at=at)
            disk.replace_by(index, os.path.join(worktree.admin, "index"))

    def _see_to_lfs(self, clone: Clone, tree: Tree) -> None:
        if not self._settings.lfs or disk.exists(clone.lfs) or not tree.uses_lfs():
            return
        if not self._git.has("git-lfs"):
            raise LfsMissing(
                f"{clone.url} keeps large files with git-lfs, which is not installed.",
                remedy="Install it with: apt-get install git-lfs; or set git.lfs: false, and "
                "soldiers see the small files that stand for the large ones.",
            )
        disk.make_directory(clone.lfs)
        clone.put_right()

    # Submodules: each a worktree of a clone of its own.

    def _add_submodules(
        self, outer: Worktree, tree: Tree, final: str, task_id: str, depth: int = 0
    ) -> None:
        if depth == _DEEPEST:
            raise NeverWorks(f"{outer.clone.url} has submodules more than {_DEEPEST} deep.")
        for path, url, sha in tree.submodules():
            if not _is_plain_directory(outer.path, path):
                raise NeverWorks(f"The submodule {path!r} of {outer.clone.url} lies elsewhere.")
            remote = self._hosts.submodule(tree.remote, url)
            inside, target = os.path.join(outer.path, path), os.path.join(final, path)
            with trees.work_directory(self._clones.root) as work:
                inner, below = self._again_if_broken(
                    remote, partial(self._submodule, remote, sha, work, f"{task_id}-{_word(path)}")
                )
                self._add_submodules(inner, below, target, task_id, depth + 1)
                inner.clone.place_worktree(inner, target)
                with suppress(FileNotFoundError):
                    disk.remove_directory(inside)  # which git made, empty
                disk.move_anything(inner.path, inside)

    def _submodule(self, remote: Remote, sha: str, work: str, id_: str) -> tuple[Worktree, Tree]:
        with self._clones.locked(slug(remote)):
            clone = self._clones.ready(remote, partial=False, depth=None)
            self._have(clone, remote, sha)
            trees.remove(os.path.join(work, id_))
            inner = clone.add_worktree(work, id_, sha)
        tree = Tree(self._clones, clone, remote, sha)
        self._fill(inner, remote, tree)
        return inner, tree

    def _have(self, clone: Clone, remote: Remote, sha: str) -> None:
        if clone.resolve(sha):
            return
        self._clones.fetch(clone, remote, asked=float("inf"))
        if not clone.resolve(sha):
            also = (f"+{sha}:{PULLS}commit-{sha[:12]}",)
            self._clones.fetch(clone, remote, asked=float("inf"), also=also)

    def _give_up(self, remote: Remote, reason: str) -> None:
        """A clone that cannot be read gets a successor; it goes when nobody needs it any more."""
        for clone in self._clones.all():
            if slug_of(clone) == slug(remote) and not clone.is_broken:
                clone.mark_broken(reason)
                self._drop_if_unused(clone)

    def _drop_if_unused(self, clone: Clone) -> None:
        if not clone.worktrees() and not clone.has_refs_of_its_own():
            with trees.work_directory(self._clones.root) as work:
                disk.move_anything(clone.path, os.path.join(work, clone.name))

    # After a soldier.

    def keep(self, task_id: str) -> list[str]:
        """Save what is neither committed nor pushed; the private refs that have it now.

        A ref of another clone than the task's own (a submodule's) has that clone's name before it.
        """
        with _disk_errors():
            return self._keep(task_id).refs

    def _keep(self, task_id: str) -> Kept:
        total, main = Kept(), self._place(task_id)
        found = self._of_task(task_id)
        names = {worktree.clone.name for worktree in found if worktree.path == main}
        for worktree in found:
            kept = self._kept_of(worktree, task_id)
            own = worktree.clone.name in names or not names
            for ref in kept.refs:
                is_elsewhere = not own and ref.startswith(PRIVATE)
                total.add(f"{worktree.clone.name} {ref}" if is_elsewhere else ref)
            total.missed += [os.path.join(worktree.path, path) for path in kept.missed]
            worktree.clone.mark_used()
        if disk.exists(main) and not names:  # the soldier made the clone forget it
            total.add(main)
            total.missed.append(main)
        return total

    def _kept_of(self, worktree: Worktree, task_id: str) -> Kept:
        """Of a clone that cannot be read, the files themselves are what is kept."""
        try:
            return self._keeper(worktree, task_id).keep()
        except CloneBroken:
            return Kept([worktree.path], ["."])

    def _of_task(self, task_id: str) -> list[Worktree]:
        """All that lie in its directory: its own, submodules, and what the soldier added."""
        inside = os.path.join(self._home, check_id(task_id)) + os.sep
        return [
            worktree
            for clone in self._clones.all()
            for worktree in clone.worktrees()
            if worktree.path.startswith(inside)
        ]

    def _keeper(self, worktree: Worktree, task_id: str) -> Keeper:
        known = frozenset(os.path.normpath(one.path) for one in self._of_task(task_id))
        branches = [
            name
            for name in worktree.clone.refs(BRANCHES)
            if _is_of(task_id, name.removeprefix(BRANCHES))
        ]
        return Keeper(worktree, task_id, branches, known)

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
            worktree = self._worktree_of(checkout)
            clone = worktree.clone
            sha = worktree.head() if source == "HEAD" else clone.resolve(source)
            if not sha:
                raise RefMissing(f"There is no commit {source} to push.")
            target = f"{BRANCHES}{_branch(branch)}"
            tracking = f"{REMOTE_BRANCHES}{branch}"
            words = ["push", "--porcelain", "--no-verify", "--progress"]
            if force_with_lease:
                words.append(f"--force-with-lease={target}:{clone.resolve(tracking)}")
            with clone.view(clone.refs("refs/remotes")) as view:
                self._push_large_files(clone, remote, view, sha)
                words += [remote.url, f"{sha}:{target}"]
                at = Place(view)
                said = self._clones.reach(clone, remote, *words, at=at, fine=(0, 1))
            _check_push(said, branch)
            clone.update((tracking, sha))
            clone.mark_used()
        return sha

    def _worktree_of(self, checkout: Checkout) -> Worktree:
        for worktree in self._registered(checkout.path):
            if worktree.clone.path == checkout.clone:
                return worktree
        raise RefMissing(f"{checkout.path} is not a worktree any more.")

    def _push_large_files(self, clone: Clone, remote: Remote, view: str, sha: str) -> None:
        if disk.exists(clone.lfs) and self._git.has("git-lfs"):
            disk.replace(os.path.join(view, "HEAD"), f"{sha}\n".encode(), sync=False)
            self._clones.reach(clone, remote, "lfs", "push", "origin", "HEAD", at=Place(view))

    def remove(self, task_id: str) -> list[str]:
        """Keep first; then the worktree goes, and branches whose commits are kept or pushed.

        If not all of it could be kept, its files are moved aside instead, and the place is named.
        """
        path = self._place(task_id)
        with _disk_errors():
            kept = self._keep(task_id)
            names = [name for name in kept.refs if not os.path.isabs(name)]
            found = [one for one in self._of_task(task_id) if _is_in(one.path, path)]
            if disk.exists(path) and (kept.missed or not found):
                names.append(trees.move_aside(path, _INCOMPLETE))
            disk.make_directory(self._clones.root)
            with trees.work_directory(self._clones.root) as work:
                if disk.exists(path):
                    disk.move_anything(path, os.path.join(work, REPO))
                for worktree in found:
                    self._forget(worktree, task_id)
        return names

    def _forget(self, worktree: Worktree, task_id: str) -> None:
        clone = worktree.clone
        with self._clones.locked(slug_of(clone)):
            with suppress(CloneBroken):
                self._drop_branches(self._keeper(worktree, task_id), clone)
            clone.forget_worktree(worktree)
            if clone.is_broken:
                self._drop_if_unused(clone)

    def _drop_branches(self, keeper: Keeper, clone: Clone) -> None:
        """And stashes, of which the same holds: what is not kept or pushed stays."""
        gone = [
            (name, "")
            for name, sha in keeper.own_branches().items()
            if clone.has_all_of(sha, "refs/remotes", PRIVATE)
        ]
        self._drop_stashes(keeper, clone)
        if gone:
            clone.update(*gone)

    def _drop_stashes(self, keeper: Keeper, clone: Clone) -> None:
        """Which are kept by now; another task's soldier must not find them on its list."""
        entries = len(keeper.stashes())
        for stash in sorted(keeper.stashes(), key=lambda one: -one.number):
            if not clone.has_all_of(stash.sha, "refs/remotes", PRIVATE):
                continue
            if entries == 1 and stash.number == 0:
                clone.update(("refs/stash", ""))
            else:
                entry = f"refs/stash@{{{stash.number}}}"
                words = ("reflog", "delete", "--rewrite", "--updateref", entry)
                self._git.run(*words, at=clone.at)
            entries -= 1

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

    def discard(self, clone: str) -> bool:
        """A clone that nobody uses; False if it still is needed."""
        for one in self._clones.all():
            if one.path != clone:
                continue
            with self._clones.locked(slug_of(one)), _disk_errors():
                if one.worktrees() or private_refs(one):
                    return False
                with trees.work_directory(self._clones.root) as work:
                    disk.move_anything(one.path, os.path.join(work, "clone.git"))
                return True
        return True

    def _checkout(self, worktree: Worktree, repo: str) -> Checkout:
        branch = worktree.branch().removeprefix(BRANCHES)
        return Checkout(worktree.path, branch, worktree.head(), repo, worktree.clone.path)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskRefused(f"{error.filename}: {error.strerror}.") from error


def _number(number: int | None) -> int | None:
    if number is not None and (isinstance(number, bool) or number < 1):
        raise RefMissing(f"{number} is not the number of a pull request.")
    return number


def _sha(text: str | None) -> str:
    if text and not is_sha(text):
        raise RefMissing(f"{text[:80]!r} is not a commit.")
    return text or ""


def _branch(name: str) -> str:
    """Names come from outside: what git could take for something else is refused."""
    bad = re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\.\Z|/\Z", name)
    if not name or bad or name.startswith(("-", "/", ".")) or name in ("@", "HEAD"):
        raise RefMissing(f"{name[:80]!r} is not the name of a branch.")
    return name


def _branch_names(task_id: str, flat: bool) -> Iterator[str]:
    first = f"kingdom-{ref_word(task_id)}" if flat else f"kingdom/{ref_word(task_id)}"
    yield first
    for number in range(2, 1_000_000):
        yield f"{first}-{number}"


def _is_of(task_id: str, branch: str) -> bool:
    return re.fullmatch(rf"kingdom[/-]{re.escape(ref_word(task_id))}(?:-\d+)?", branch) is not None


def _nobody(clone: Clone) -> Worktree:
    """For a keeper that only saves what it is given."""
    return Worktree("", "", "", clone)


def _word(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[-60:] or "submodule"


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + os.sep)


def _is_plain_directory(root: str, path: str) -> bool:
    real = os.path.realpath(root)
    return os.path.realpath(os.path.join(root, path)) == os.path.join(real, os.path.normpath(path))


def _check_push(said: Said, branch: str) -> None:
    refused = [line for line in said.text.split("\n") if line.startswith("!")]
    if not refused and said.code == 0:
        return
    if not refused:
        raise failure_of("push", said.complaint, True)
    reason = refused[0].rpartition("\t")[2]
    if re.search(r"failed to (?:update ref|lock)|cannot lock|unpacker|[Ii]nternal", reason):
        raise GitUnreachable(f"The remote could not take the push to {branch}: {reason}.")
    raise PushRejected(
        f"The remote does not take the push to {branch}: {reason}.",
        remedy="Someone else pushed meanwhile, or the branch is protected; the commits are kept.",
    )
