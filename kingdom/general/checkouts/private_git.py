"""A task's own git directory, read as data.

Its soldier can write anything there. So git is never run in it, and of its files only these are
read: HEAD, refs, the log of stashes, what a merge or rebase under way has noted, and the index.
Each must be a regular file in real directories. Whatever else lies there (configuration, hooks,
attributes, alternates, grafts, commit graphs) is not looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from kingdom.clients.git_faults import GitFailed, RefMissing
from kingdom.general.checkouts.refs import BRANCHES, checked_branch
from kingdom.store import disk

LARGEST_INDEX = 1024 * 1024 * 1024
_LARGEST = 64 * 1024 * 1024
_SMALL = 4096
_MOST_REFS = 200_000
_DEEPEST = 50  # directories within refs/, and refs that name refs
_SHA1 = re.compile(r"[0-9a-f]{40}")
_LINKED = "worktrees"


class Unreadable(GitFailed):
    """A git directory that is not as git makes it; its soldier did something to it."""


class GitData:
    def __init__(self, directory: str, shared: str = "") -> None:
        """`shared` has the refs of a worktree that the soldier added; else all is in one place."""
        self.directory = directory
        self._shared = shared or directory

    @property
    def index(self) -> str:
        return os.path.join(self.directory, "index")

    def is_there(self) -> bool:
        return is_real_directory(self.directory)

    def branch(self) -> str:
        """refs/heads/…; empty when HEAD is detached."""
        named = self._line(self.directory, "HEAD").removeprefix("ref: ")
        return named if named.startswith(BRANCHES) and _is_name(named) else ""

    def head(self) -> str:
        """The commit it stands at; empty before the first."""
        line = self._line(self.directory, "HEAD")
        if _SHA1.fullmatch(line):
            return line
        named = line.removeprefix("ref: ")
        if named == line or not _is_name(named):
            raise Unreadable(f"{self.directory} has no HEAD that git would write.")
        sha = self._resolved().get(named, "")
        if sha and not _SHA1.fullmatch(sha):
            raise Unreadable(f"{self.directory} has commits of another kind than the clone.")
        return sha

    def refs(self) -> dict[str, str]:
        """Name: object."""
        return {name: sha for name, sha in self._resolved().items() if _SHA1.fullmatch(sha)}

    def _resolved(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in (*self._packed(), *self._loose("refs", 0)):
            found[name] = value
            if len(found) > _MOST_REFS:
                raise Unreadable(f"{self._shared} has more than {_MOST_REFS} refs.")
        return {name: _followed(found, name) for name in found}

    def stashes(self) -> list[str]:
        """The newest first."""
        logs = os.path.join(self._shared, "logs", "refs")
        with suppress(OSError):
            text = _read(logs, "stash", _LARGEST).decode("utf-8", "replace")
            found = [line.split(" ")[1:2] for line in text.split("\n")]
            return [sha for words in reversed(found) for sha in words if _SHA1.fullmatch(sha)]
        return []

    def noted(self, name: str) -> list[str]:
        """The commits that this file names, such as MERGE_HEAD."""
        above, base = os.path.split(os.path.join(self.directory, name))
        with suppress(OSError):
            words = _read(above, base, _LARGEST).decode("utf-8", "replace").split()
            return [word for word in words if _SHA1.fullmatch(word)]
        return []

    def added(self) -> Iterator[tuple[str, GitData]]:
        """Worktrees that the soldier added: where each is said to lie, and its own data."""
        place = os.path.join(self.directory, _LINKED)
        for name in sorted(disk.names(place)) if is_real_directory(place) else ():
            admin = os.path.join(place, name)
            with suppress(OSError):
                pointer = os.fsdecode(_read(admin, "gitdir", _SMALL)).rstrip("\n")
                yield os.path.dirname(pointer), GitData(admin, self.directory)

    def _packed(self) -> Iterator[tuple[str, str]]:
        try:
            data = _read(self._shared, "packed-refs", _LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unreadable(f"{self._shared}/packed-refs: {error.strerror}.") from error
        for line in data.decode("utf-8", "surrogateescape").split("\n"):
            sha, _, name = line.partition(" ")
            if _SHA1.fullmatch(sha) and _is_name(name):
                yield name, sha

    def _loose(self, under: str, depth: int) -> Iterator[tuple[str, str]]:
        place = os.path.join(self._shared, under)
        if depth > _DEEPEST or not is_real_directory(place):
            return
        for entry in disk.entries(place):
            name = f"{under}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self._loose(name, depth + 1)
            elif entry.is_file(follow_symlinks=False) and _is_name(name):
                with suppress(OSError):
                    yield name, _text(_read(place, entry.name, _SMALL))

    @staticmethod
    def _line(directory: str, name: str) -> str:
        try:
            return _text(_read(directory, name, _SMALL))
        except OSError as error:
            raise Unreadable(f"{directory}/{name}: {error.strerror}.") from error


def is_real_directory(path: str) -> bool:
    """With no link on the way to it."""
    return os.path.isdir(path) and os.path.realpath(path) == os.path.normpath(path)


def _read(directory: str, name: str, limit: int) -> bytes:
    if not is_real_directory(directory):
        raise FileNotFoundError(2, "not a directory", directory)
    return disk.read(os.path.join(directory, name), limit)[0]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").strip()


def _is_name(name: str) -> bool:
    try:
        return name.startswith("refs/") and bool(checked_branch(name))
    except RefMissing:
        return False


def _followed(refs: dict[str, str], name: str) -> str:
    for _ in range(_DEEPEST):
        value = refs.get(name, "")
        if not value.startswith("ref: "):
            return value
        name = value.removeprefix("ref: ")
    return ""
