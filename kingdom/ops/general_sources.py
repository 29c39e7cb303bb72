"""A general package from elsewhere: out of a directory, or out of a git repository.

Only files that a package is made of are read, only plain ones, and only so much of them. From git
nothing is checked out: the files are read out of the clone's objects, so no link, filter or hook of
the repository has a say.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from kingdom.clients.git import Access, Git, Place
from kingdom.clients.git_faults import GitMissing
from kingdom.errors import InvalidFile, KingdomError, NotFound, TryLater, UsageError
from kingdom.runtime.config import MANIFEST, PROMPT, SOUL
from kingdom.runtime.secrets import Masker
from kingdom.store import disk
from kingdom.store.trees import remove_tree

LARGEST_FILE = 256 * 1024
LARGEST_PACKAGE = 1024 * 1024
MOST_FILES = 20
LARGEST_CLONE = 64 * 1024 * 1024
CLONE_SECONDS = 120.0
_PART = re.compile(r"(?:README(?:\.md|\.txt)?|example[A-Za-z0-9._-]{0,60})\Z")
_URL = re.compile(r"(?:https|ssh|file)://|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:", re.ASCII)
_ANY_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?//|[a-z]+::")
_AS_USER = Access(("https", "ssh", "file"), as_user=True)
_CLONING = ("--bare", "--depth=1", "--single-branch", "--no-tags", "--template=", "--quiet")
_PLAIN_MODES = ("100644", "100755")


@dataclass
class Source:
    """What was found: the package's files by name, and what was left where it is."""

    shown: str
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, data: bytes) -> None:
        self.files[name] = data
        if len(self.files) > MOST_FILES or sum(map(len, self.files.values())) > LARGEST_PACKAGE:
            raise InvalidFile(
                f"{self.shown}: a package has at most {MOST_FILES} files and "
                f"{LARGEST_PACKAGE // 1024:,} KiB in all.",
                remedy="Take out what the general does not need.",
            )


def is_part(name: str) -> bool:
    return name in (MANIFEST, PROMPT, SOUL) or _PART.match(name) is not None


def fetch(typed: str, working_dir: str, environment: Mapping[str, str]) -> Source:
    """The package at this path or URL; `URL#DIR` is a directory inside the repository."""
    if _URL.match(typed):
        return _from_git(typed, environment)
    path = os.path.abspath(os.path.join(working_dir, os.path.expanduser(typed)))
    if os.path.isdir(path):
        return _from_directory(path)
    if _ANY_URL.match(typed):
        raise UsageError(
            f"{Masker(environment).text(typed)} is no address that is cloned from.",
            remedy="Use https://, ssh://, git@host:path or file://, or clone it yourself.",
        )
    raise NotFound(f"There is no directory {typed}.", remedy="Name a directory or a git URL.")


# From a directory


def _from_directory(path: str) -> Source:
    source = Source(path)
    for name in sorted(disk.names(path)):
        if is_part(name):
            source.add(name, _plain_file(os.path.join(path, name)))
        else:
            source.left_out.append(name)
    return source


def _plain_file(path: str) -> bytes:
    try:
        return disk.read(path, LARGEST_FILE)[0]
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _too_large(path) from None
        what = {errno.ELOOP: "it is a link", errno.EINVAL: "it is not a plain file"}
        raise InvalidFile(
            f"{path}: {what.get(error.errno or 0, error.strerror)}.",
            remedy="A package is made of plain files.",
        ) from None


def _too_large(path: str) -> InvalidFile:
    return InvalidFile(
        f"{path}: it is larger than {LARGEST_FILE // 1024} KiB.", remedy="Make it smaller."
    )


# From git


def _from_git(typed: str, environment: Mapping[str, str]) -> Source:
    url, _, inside = typed.partition("#")
    if inside.startswith("/") or ".." in inside.split("/"):
        raise UsageError(
            f"{inside!r} is no directory inside a repository.", remedy="Such as: URL#gen-docs"
        )
    source = Source(Masker(environment).text(typed))
    with _private_directory(environment) as place:
        clone = _cloned(url, os.path.join(place, "clone.git"), source.shown, environment)
        for mode, kind, object_, size, path in clone.tree(inside):
            name = os.path.basename(path)
            if not is_part(name):
                source.left_out.append(name)
            elif kind != "blob" or mode not in _PLAIN_MODES:
                raise InvalidFile(
                    f"{source.shown}: {name} is not a plain file.",
                    remedy="A package is made of plain files.",
                )
            elif size > LARGEST_FILE:
                raise _too_large(f"{source.shown}: {name}")
            else:
                source.add(name, clone.blob(object_))
    return source


@contextmanager
def _private_directory(environment: Mapping[str, str]) -> Iterator[str]:
    parent = environment.get("TMPDIR") or "/tmp"
    place = os.path.join(parent, f"kingdom-general-{os.getpid()}-{os.urandom(4).hex()}")
    disk.make_private_directory(place)
    try:
        yield place
    finally:
        remove_tree(place)


def _cloned(url: str, place: str, shown: str, environment: Mapping[str, str]) -> _Clone:
    git = Git(environment, CLONE_SECONDS, LARGEST_CLONE)
    try:
        git.run("clone", *_CLONING, "--", url, place, access=_AS_USER)
    except GitMissing:
        raise
    except KingdomError as error:
        raise TryLater(
            f"{shown} could not be cloned: {error.sentence}",
            remedy="Check the address and your access with: git ls-remote URL; or clone it "
            "yourself, and install from the directory.",
        ) from None
    return _Clone(git, Place(place), shown)


@dataclass(frozen=True)
class _Clone:
    """Whose objects are read, and nothing else of it."""

    git: Git
    at: Place
    shown: str

    def tree(self, inside: str) -> Iterator[tuple[str, str, str, int, str]]:
        """Mode, kind, object, size and path of all that lies directly in that directory."""
        where = [f"{inside.strip('/')}/"] if inside.strip("/") else []
        listed = self._read("ls-tree", "-z", "-l", "HEAD", "--", *where)
        for entry in filter(None, listed.split(b"\0")):
            facts, _, path = entry.partition(b"\t")
            mode, kind, object_, size = facts.decode().split()
            yield mode, kind, object_, int(size) if size.isdecimal() else 0, os.fsdecode(path)

    def blob(self, object_: str) -> bytes:
        return self._read("cat-file", "blob", object_)

    def _read(self, *words: str) -> bytes:
        try:
            return self.git.run(*words, at=self.at).out
        except KingdomError as error:
            raise InvalidFile(f"{self.shown} cannot be read: {error.sentence}") from None
