"""Saves what a soldier left in a worktree under `refs/kingdom/{task}/…` of the clone.

    uncommitted    what differs from HEAD: changed, new (not ignored) and deleted files. Its first
                   parent is HEAD; a second one has what was staged, if that is something else.
    head           HEAD, when it is on no branch
    branch/…       branches; other/…: tags and whatever else the soldier named
    stash          one for each
    merge/…        the other side of a merge, pick or rebase under way, and what it had stashed
    nested         a repository inside the worktree: `files/` and `git/`, the content of its `.git`

The worktree and its git directory are not touched, and what is reachable from a branch of the
remote is not kept again. Running it twice makes nothing twice: same content, same ref.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.private_git import GitData, Unreadable, is_real_directory
from kingdom.general.checkouts.refs import BRANCHES, PRIVATE, ref_word
from kingdom.general.checkouts.steering import contents_at, is_as_given, is_steering
from kingdom.general.checkouts.takeover import Taken, take_large_files, taken_over
from kingdom.general.checkouts.worktree import Worktree
from kingdom.general.checkouts.worktree_files import Files
from kingdom.store import disk

_UNDER_WAY = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "MERGE_AUTOSTASH",
    "rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/autostash",
    "rebase-apply/orig-head", "rebase-apply/autostash",
)  # fmt: skip
_NOT_OURS = ("refs/remotes/", PRIVATE, "refs/stash", "refs/bisect/", "refs/worktree/")
_MOST_REFS = 2000  # of a soldier's own
_LONGEST = 150  # of a part of a ref's name, which is a file's


@dataclass
class Kept:
    refs: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)  # files that git would not take

    def add(self, name: str) -> None:
        if name not in self.refs:
            self.refs.append(name)


@dataclass(frozen=True)
class _Tip:
    """A commit, and under which name it is to be kept; one that is kept already has its ref."""

    wanted: str
    sha: str
    ref: str = ""


class Keeper:
    """Of one worktree, for one task."""

    def __init__(self, worktree: Worktree, task: str, known: Set[str]) -> None:
        """`known`: where other worktrees of the task lie."""
        self._worktree = worktree
        self._clone = worktree.clone
        self._task = task
        self._known = known
        self._kept = Kept()

    def keep(self) -> Kept:
        data = self._worktree.data
        if not data.is_there():
            raise Unreadable(f"{self._worktree.git_dir} is not a directory of git's any more.")
        with taken_over(self._worktree) as taken:
            tips = list(self._uncommitted(taken, self._worktree.path, data))
            for path, added in self._added(data):
                tips += self._uncommitted(taken, path, added)
            tips += self._commits(taken, data)
            self._save(taken, tips)
        take_large_files(self._worktree)
        return self._kept

    def _added(self, data: GitData) -> Iterator[tuple[str, GitData]]:
        """Worktrees of the soldier's own, in the task's directory."""
        task = os.path.dirname(self._worktree.path)
        for path, added in data.added():
            if path.startswith(task + os.sep) and is_real_directory(path):
                yield path, added

    def _save(self, taken: Taken, tips: list[_Tip]) -> None:
        incomplete = set(taken.bring(tip.sha for tip in tips if not tip.ref))
        for tip in tips:
            if tip.sha in incomplete:
                self._kept.missed.append(f".git: {tip.wanted}")
            else:
                self._kept.add(tip.ref or save(self._clone, self._task, tip.wanted, tip.sha))

    # Commits.

    def _commits(self, taken: Taken, data: GitData) -> Iterator[_Tip]:
        found = list(self._named(data))
        if len(found) > _MOST_REFS:
            raise Unreadable(f"{data.directory} has more than {_MOST_REFS} refs of its own.")
        commits = taken.commits(tip.sha for tip in found)
        for tip in found:
            if tip.sha in commits and not taken.has_all_of(commits[tip.sha]):
                yield tip

    def _named(self, data: GitData) -> Iterator[_Tip]:
        for one in (data, *(added for _, added in self._added(data))):
            with suppress(Unreadable):
                if not one.branch() and one.head():
                    yield _Tip("head", one.head())
        known = self._clone.refs("refs/tags")
        for name, sha in sorted(data.refs().items()):
            if not name.startswith(_NOT_OURS) and known.get(name) != sha:
                short = name.removeprefix(BRANCHES)
                kind = "branch" if name != short else "other"
                yield _Tip(f"{kind}/{ref_part(short.removeprefix('refs/'))}", sha)
        for name in _UNDER_WAY:
            for sha in data.noted(name):
                yield _Tip(f"merge/{os.path.basename(name).lower()}", sha)
        for sha in data.stashes():
            yield _Tip("stash", sha)

    # Files.

    def _uncommitted(self, taken: Taken, directory: str, data: GitData) -> Iterator[_Tip]:
        if not is_real_directory(directory):
            return
        head = data.head()
        if head and head not in taken.commits([head]):
            raise Unreadable(f"{directory} stands at {head}, which is not there.")
        with self._worktree.view() as view:
            files = Files(taken, view, directory, self._kept.missed, self._is_given)
            staged = files.read_index(data.index, head)
            nested = files.add_changes()
            tree = files.write_tree()
            base = _tree_of(taken, head)
            parents = [head] if head else []
            if staged not in ("", base, tree):
                parents.append(self._commit(taken, staged, parents, "What was staged"))
            if tree != base or len(parents) > 1:
                yield self._tip(taken, "uncommitted", tree, parents, "What was not committed")
        for path in nested:
            yield from self._nested(taken, directory, path)

    def _is_given(self, directory: str, path: bytes) -> bool:
        """Whether it is a steering file that the soldier found there, and left as it was."""
        base = self._worktree.steering
        if not base or not is_steering(path):
            return False
        with self._clone.view() as view:
            given = contents_at(self._clone, view, base, [path])
        return is_as_given(directory, path, given)

    def _nested(self, taken: Taken, directory: str, path: str) -> Iterator[_Tip]:
        whole = os.path.normpath(os.path.join(directory, path))
        added = {place for place, _ in self._added(self._worktree.data)}
        if whole in self._known or whole in added or not is_real_directory(whole):
            return
        entries = []
        with self._clone.view() as view:
            files = Files(taken, view, whole, self._kept.missed)
            for deeper in files.add_changes():
                yield from self._nested(taken, whole, deeper)
            entries.append(("files", files.write_tree()))
        git_dir = self._git_dir_of(whole)
        if git_dir:
            with self._clone.view() as view:
                files = Files(taken, view, git_dir, self._kept.missed)
                files.add_changes(everything=True)
                entries.append(("git", files.write_tree()))
        lines = "".join(f"040000 tree {sha}\t{name}\n" for name, sha in entries)
        tree = taken.run("mktree", stdin=lines.encode())
        shown = os.path.relpath(whole, self._worktree.path)
        message = f"A repository inside the worktree: {shown}"
        yield self._tip(taken, "nested", tree, [], message)

    def _git_dir_of(self, whole: str) -> str:
        """Where a nested repository keeps its history, if that is the task's own."""
        place = os.path.join(whole, ".git")
        if is_real_directory(place):
            return place
        with suppress(OSError):
            pointer = os.fsdecode(disk.read(place, 65536)[0]).strip()
            found = os.path.realpath(os.path.join(whole, pointer.removeprefix("gitdir: ")))
            if os.path.isdir(found) and found.startswith(f"{self._worktree.path}{os.sep}"):
                return found
        return ""

    def _tip(self, taken: Taken, wanted: str, tree: str, parents: list[str], message: str) -> _Tip:
        for name, sha in self._saved(wanted).items():
            if _is_same(taken, sha, tree, parents):
                return _Tip(wanted, sha, name)
        return _Tip(wanted, self._commit(taken, tree, parents, message))

    def _saved(self, wanted: str) -> Mapping[str, str]:
        place = f"{PRIVATE}{ref_word(self._task)}"
        form = re.compile(rf"{re.escape(place)}/{wanted}(?:-\d+)?")
        found = self._clone.refs(place).items()
        return {name: sha for name, sha in found if form.fullmatch(name)}

    def _commit(self, taken: Taken, tree: str, parents: list[str], message: str) -> str:
        given = [word for parent in parents for word in ("-p", parent)]
        text = f"{message}\n\nKept by the kingdom for {self._task}.\n"
        return taken.run("commit-tree", tree, *given, stdin=text.encode("utf-8", "replace"))


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


def _tree_of(taken: Taken, commit: str) -> str:
    return taken.run("rev-parse", "--verify", f"{commit}^{{tree}}") if commit else ""


def _is_same(taken: Taken, sha: str, tree: str, parents: list[str]) -> bool:
    """Of staged content only the tree counts: its commit is made anew each time."""
    found = taken.run("rev-list", "--parents", "-n1", sha).split()[1:]
    trees_of = [_tree_of(taken, one) for one in (sha, *found[1:])]
    wanted = [tree, *(_tree_of(taken, one) for one in parents[1:])]
    return trees_of == wanted and found[:1] == parents[:1]


def ref_part(name: str) -> str:
    """As part of a ref's name."""
    word = name.replace("/", "--")
    if len(os.fsencode(word)) <= _LONGEST:
        return word
    return f"{word[: _LONGEST // 4]}-{hashlib.sha256(os.fsencode(word)).hexdigest()[:16]}"
