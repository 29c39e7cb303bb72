"""Saves what a soldier left in a worktree under `refs/kingdom/{task}/…` of the clone.

    uncommitted    what differs from HEAD: changed, new (not ignored) and deleted files. Its first
                   parent is HEAD; a second one has what was staged, if that is something else.
    head           HEAD, when it is on no branch
    branch/…       branches; other/…: tags and whatever else the soldier named
    stash          one for each
    merge/…        the other side of a merge, pick or rebase under way, and what it had stashed
    nested         a repository inside the worktree: `files/` and `git/`, the content of its `.git`

Neither the worktree nor its index nor its branch is touched, and what is reachable from a branch of
the remote is not kept again. Running it twice makes nothing twice: same content, same ref.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from kingdom.errors import KingdomError
from kingdom.general.checkouts.clone import Clone, Worktree
from kingdom.general.checkouts.refs import BRANCHES, PRIVATE, is_sha, ref_word
from kingdom.general.checkouts.worktree_files import Files
from kingdom.store import disk

_UNDER_WAY = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "MERGE_AUTOSTASH",
    "rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/autostash",
    "rebase-apply/orig-head", "rebase-apply/autostash",
)  # fmt: skip
_NOT_OURS = ("refs/remotes/", PRIVATE, "refs/stash", "refs/bisect/", "refs/worktree/")
_STASHED_ON = re.compile(r"(?:WIP on|On) (?P<branch>[^:]+):")
_LARGEST_LOG = 64 * 1024 * 1024


@dataclass
class Kept:
    refs: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)  # files that git would not take

    def add(self, name: str) -> None:
        if name not in self.refs:
            self.refs.append(name)


@dataclass(frozen=True)
class _Stash:
    number: int
    sha: str
    branch: str


class Keeper:
    """Of one worktree, for one task."""

    def __init__(
        self, worktree: Worktree, task: str, branches: Iterable[str], known: Set[str]
    ) -> None:
        """`branches` are the task's own; `known`, where other worktrees of the task lie."""
        self._worktree = worktree
        self._clone = worktree.clone
        self._task = task
        self._branches = frozenset(branches)
        self._known = known

    def keep(self) -> Kept:
        kept = Kept()
        head = self._worktree.head()
        if os.path.isdir(self._worktree.path):
            self._keep_files(head, kept)
        for wanted, sha in self._commits(head):
            if not self._clone.has_all_of(sha, "refs/remotes"):
                kept.add(save(self._clone, self._task, wanted, sha))
        return kept

    # Commits.

    def _commits(self, head: str) -> Iterator[tuple[str, str]]:
        own = self._worktree.branch()
        if head and not own:
            yield "head", head
        yield from self._named(own)
        for name in _UNDER_WAY:
            for sha in self._noted(name):
                yield f"merge/{os.path.basename(name).lower()}", sha
        for stash in self._stashes():
            yield "stash", stash.sha

    def _named(self, own: str) -> Iterator[tuple[str, str]]:
        others = _heads_elsewhere(self._worktree)
        for name, sha in self._clone.refs().items():
            if name.startswith(_NOT_OURS) or not self._clone.resolve(sha):
                continue
            if name == own or name in self._branches or sha not in others:
                short = name.removeprefix(BRANCHES)
                kind = "branch" if name != short else "other"
                yield f"{kind}/{short.removeprefix('refs/').replace('/', '--')}", sha

    def _noted(self, name: str) -> list[str]:
        path = os.path.join(self._worktree.admin, name)
        with suppress(OSError):
            found = disk.read(path, _LARGEST_LOG)[0].decode("utf-8", "replace").split()
            return [sha for sha in found if is_sha(sha) and self._clone.resolve(sha)]
        return []

    def _stashes(self) -> list[_Stash]:
        """The clone has one list for all worktrees; those made on another's branch are not ours."""
        others = _branches_elsewhere(self._worktree)
        entries = _log_of(os.path.join(self._clone.path, "logs", "refs", "stash"))
        return [
            _Stash(number, sha, branch)
            for number, (sha, message) in enumerate(reversed(entries))
            for branch in [_stashed_on(message)]
            if f"{BRANCHES}{branch}" not in others and self._clone.resolve(sha)
        ]

    # Files.

    def _keep_files(self, head: str, kept: Kept) -> None:
        with self._clone.view() as view:
            files = Files(self._clone, view, self._worktree.path, kept.missed)
            staged = files.read_index(os.path.join(self._worktree.admin, "index"), head)
            nested = files.add_changes()
            if os.path.isdir(os.path.join(self._worktree.path, ".git")):  # a new one, over ours
                nested.append(".")
            tree = files.write_tree()
            base = self._tree_of(head)
            parents = [head] if head else []
            if staged not in ("", base, tree):
                parents.append(self._commit(files, staged, parents, "What was staged"))
            if tree != base or len(parents) > 1:
                self._save_tree("uncommitted", files, tree, parents, "What was not committed", kept)
        for path in nested:
            self._keep_nested(path, kept)

    def _keep_nested(self, path: str, kept: Kept) -> None:
        whole = os.path.normpath(os.path.join(self._worktree.path, os.fsdecode(path)))
        if whole in self._known and whole != self._worktree.path:
            return
        git_dir = self._git_dir_of(whole)
        entries = []
        with self._clone.view() as view:
            files = Files(self._clone, view, whole, kept.missed)
            if whole != self._worktree.path:
                for deeper in files.add_changes():
                    self._keep_nested(os.path.join(path, deeper), kept)
                entries.append(("files", files.write_tree()))
        if git_dir:
            with self._clone.view() as view:
                files = Files(self._clone, view, git_dir, kept.missed)
                files.add_changes(everything=True)
                entries.append(("git", files.write_tree()))
        if entries:
            with self._clone.view() as view:
                files = Files(self._clone, view, whole, kept.missed)
                tree = files.make_tree(entries)
                message = f"A repository inside the worktree: {os.fsdecode(path)}"
                self._save_tree("nested", files, tree, [], message, kept)

    def _git_dir_of(self, whole: str) -> str:
        """Where a nested repository keeps its history, if that is the task's own."""
        place = os.path.join(whole, ".git")
        if os.path.isdir(place) and not os.path.islink(place):
            return place
        with suppress(OSError):
            pointer = os.fsdecode(disk.read(place, 65536)[0]).strip()
            found = os.path.realpath(os.path.join(whole, pointer.removeprefix("gitdir: ")))
            own = (os.path.realpath(self._worktree.admin), os.path.realpath(self._worktree.path))
            if os.path.isdir(found) and found.startswith(tuple(f"{one}{os.sep}" for one in own)):
                return found
        return ""

    def _tree_of(self, commit: str) -> str:
        if not commit:
            return ""
        words = ("rev-parse", "--verify", f"{commit}^{{tree}}")
        return self._clone.git.run(*words, at=self._clone.at).text

    def _save_tree(
        self, wanted: str, files: Files, tree: str, parents: list[str], message: str, kept: Kept
    ) -> None:
        for name, sha in self._clone.refs(f"{PRIVATE}{ref_word(self._task)}").items():
            own = name.removeprefix(f"{PRIVATE}{ref_word(self._task)}/")
            if re.fullmatch(rf"{wanted}(?:-\d+)?", own) and self._is_same(sha, tree, parents):
                kept.add(name)
                return
        made = self._commit(files, tree, parents, message)
        kept.add(save(self._clone, self._task, wanted, made))

    def _is_same(self, sha: str, tree: str, parents: list[str]) -> bool:
        """Of staged content only the tree counts: its commit is made anew each time."""
        words = ("rev-list", "--parents", "-n1", sha)
        found = self._clone.git.run(*words, at=self._clone.at).text.split()[1:]
        trees_of = [self._tree_of(one) for one in (sha, *found[1:])]
        wanted = [tree, *(self._tree_of(one) for one in parents[1:])]
        return trees_of == wanted and found[:1] == parents[:1]

    def _commit(self, files: Files, tree: str, parents: list[str], message: str) -> str:
        given = [word for parent in parents for word in ("-p", parent)]
        text = f"{message}\n\nKept by the kingdom for {self._task}.\n"
        return files.run("commit-tree", tree, *given, stdin=text.encode("utf-8", "replace"))

    # Afterwards.

    def drop_kept(self) -> None:
        """Its branches and stashes; what is not kept or pushed stays."""
        gone = [
            (name, "")
            for name, sha in self._own_branches().items()
            if self._clone.has_all_of(sha, "refs/remotes", PRIVATE)
        ]
        self._drop_stashes()
        if gone:
            self._clone.update(*gone)

    def _drop_stashes(self) -> None:
        """Which are kept by now; another task's soldier must not find them on its list."""
        entries = len(self._stashes())
        for stash in sorted(self._stashes(), key=lambda one: -one.number):
            if not self._clone.has_all_of(stash.sha, "refs/remotes", PRIVATE):
                continue
            if entries == 1 and stash.number == 0:
                self._clone.update(("refs/stash", ""))
            else:
                entry = f"refs/stash@{{{stash.number}}}"
                words = ("reflog", "delete", "--rewrite", "--updateref", entry)
                self._clone.git.run(*words, at=self._clone.at)
            entries -= 1

    def _own_branches(self) -> dict[str, str]:
        """Those that are certainly this task's: by their name, or because it stood on them."""
        stood = {sha for sha, _ in _log_of(os.path.join(self._worktree.admin, "logs", "HEAD"))}
        own = self._worktree.branch()
        others = _branches_elsewhere(self._worktree)
        return {
            name: sha
            for name, sha in self._clone.refs(BRANCHES).items()
            if name not in others and (name == own or name in self._branches or sha in stood)
        }


def save(clone: Clone, task: str, wanted: str, sha: str) -> str:
    """The ref that now has it: one that led here moves on, others are not touched."""
    base = f"{PRIVATE}{ref_word(task)}/{wanted}"
    for number in count(1):
        name = base if number == 1 else f"{base}-{number}"
        there = clone.resolve(name)
        if there == sha:
            return name
        if not there or clone.is_ancestor(there, sha):
            clone.update((name, sha))
            return name
    raise AssertionError("count() ends")


def _log_of(path: str) -> list[tuple[str, str]]:
    """Commit and message of each line of a reflog, oldest first."""
    try:
        text = disk.read(path, _LARGEST_LOG)[0].decode("utf-8", "replace")
    except OSError:
        return []
    lines = [line.partition("\t") for line in text.split("\n")]
    found = [(facts.split(" "), message) for facts, _, message in lines]
    return [(words[1], message) for words, message in found if len(words) > 2 and is_sha(words[1])]


def _stashed_on(message: str) -> str:
    found = _STASHED_ON.match(message)
    return found["branch"] if found else ""


def _elsewhere(worktree: Worktree) -> list[Worktree]:
    return [other for other in worktree.clone.worktrees() if other.id != worktree.id]


def _heads_elsewhere(worktree: Worktree) -> set[str]:
    """Where the HEADs of other worktrees stand or stood, and this one's never did."""

    def stood(one: Worktree) -> set[str]:
        return {sha for sha, _ in _log_of(os.path.join(one.admin, "logs", "HEAD"))}

    found: set[str] = set()
    for other in _elsewhere(worktree):
        found |= stood(other)
    return found - stood(worktree)


def _branches_elsewhere(worktree: Worktree) -> set[str]:
    found = set()
    for other in _elsewhere(worktree):
        with suppress(KingdomError):
            found.add(other.branch())
    return found
