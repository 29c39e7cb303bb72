"""What a commit has in it, as far as a worktree needs to know before it is filled."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kingdom.clients.git import Place
from kingdom.clients.git_faults import CloneBroken, GitTooMuch
from kingdom.errors import NeverWorks
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones
from kingdom.general.checkouts.steering import LINK, contents_at, is_steering
from kingdom.settings.addresses import Remote

_LFS = re.compile(rb"^[^#\n]*\bfilter=lfs\b", re.MULTILINE)
_MB = 1024 * 1024
_BLOCK = 4096  # what a file takes at least
_LINE = 400  # bytes of a list, for each file; more is no list of files that people have
_LONGEST = 4096  # of a path
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # which git knows without having it


class CheckoutTooLarge(NeverWorks):
    """The files of the commit would take more than is allowed."""

    code = "checkout_too_large"


@dataclass(frozen=True)
class Limits:
    """Of what a checkout may take, and the settings that say so."""

    megabytes: int
    files: int
    outside: bool

    def refusal(self, what: str, setting: str) -> CheckoutTooLarge:
        name = f"git.max_{'outside_' if self.outside else ''}checkout_{setting}"
        return CheckoutTooLarge(
            f"The checkout would have more than {what}.",
            remedy=f"If it should, raise {name} in system.yaml.",
        )


class Tree:
    """What a commit has. What a partial clone lacks of it is fetched first."""

    def __init__(
        self, clones: Clones, clone: Clone, remote: Remote, commit: str, limits: Limits
    ) -> None:
        self.commit = commit
        self.remote = remote
        self._clones = clones
        self._clone = clone
        self._limits = limits

    def _out(self, *words: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)) -> bytes:
        most = self._limits.files * _LINE + _MB
        with self._clone.view() as view:
            at = Place(view)
            return self._clone.in_view(*words, at=at, stdin=stdin, fine=fine, most_output=most).out

    @cached_property
    def _entries(self) -> list[tuple[bytes, bytes]]:
        """Mode, kind and object; path. Listing stops where there is too much of it."""
        limits = self._limits
        too_many = limits.refusal(f"{limits.files:,} files", "files")
        self._fetch_missing()
        try:
            listed = self._out("ls-tree", "-r", "-z", self.commit)
        except GitTooMuch:
            raise too_many from None
        if listed.count(b"\0") > limits.files:
            raise too_many
        return [entry.partition(b"\t")[::2] for entry in listed.split(b"\0") if entry]

    def _fetch_missing(self) -> None:
        if not self._clone.is_partial:
            return
        words = ("rev-list", "--objects", "--missing=print", "--no-object-names")
        listed = self._out(*words, f"{self.commit}^{{tree}}").split()
        missing = b"".join(one[1:] + b"\n" for one in listed if one.startswith(b"?"))
        if missing:
            how = ("--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin", "origin")
            with self._clone.view() as view:
                reach = self._clones.reach
                reach(self._clone, self.remote, "fetch", *how, at=Place(view), stdin=missing)

    def check_size(self) -> None:
        """Before anything is written: a small pull request can name one large file many times."""
        named = Counter(facts.split(b" ")[2] for facts, _ in self._entries if b" blob " in facts)
        sizes = self._sizes(list(named))
        total = sum(-(-sizes[name] // _BLOCK) * _BLOCK * count for name, count in named.items())
        if total > self._limits.megabytes * _MB:
            raise self._limits.refusal(f"{self._limits.megabytes:,} MB", "mb")

    def _sizes(self, names: list[bytes]) -> dict[bytes, int]:
        given = b"".join(name + b"\n" for name in names)
        said = self._out("cat-file", "--batch-check=%(objectsize)", stdin=given).split(b"\n")
        found = dict(zip(names, said, strict=False))
        if not all(size.isdigit() for size in found.values()):
            raise CloneBroken(f"{self._clone.path} has lost files of {self.commit}.")
        return {name: int(size) for name, size in found.items()}

    def has_links_outside(self) -> bool:
        """Whether a symbolic link of it leads out of it, by itself or by way of another."""
        links = [(facts, path) for facts, path in self._entries if facts.startswith(LINK)]
        sizes = self._sizes([facts.split(b" ")[2] for facts, _ in links])
        if any(size > _LONGEST for size in sizes.values()):
            return True
        targets = self._blobs([facts for facts, _ in links])
        return not all(map(_stays_inside, (path for _, path in links), targets))

    def at(self, commit: str) -> Tree:
        return Tree(self._clones, self._clone, self.remote, commit, self._limits)

    def steering(self) -> dict[bytes, bytes]:
        """The files that steer agents: path, and what git has there."""
        return {path: facts for facts, path in self._entries if is_steering(path)}

    def contents(self, paths: Iterable[bytes]) -> dict[bytes, bytes]:
        with self._clone.view() as view:
            return contents_at(self._clone, view, self.commit, paths)

    def uses_lfs(self) -> bool:
        named = [
            facts
            for facts, path in self._entries
            if path.rpartition(b"/")[2] == b".gitattributes" and facts.startswith(b"100")
        ]
        return any(_LFS.search(content) for content in self._blobs(named))

    def _blobs(self, entries: list[bytes]) -> list[bytes]:
        if not entries:
            return []
        with self._clone.view() as view:
            names = [facts.split(b" ")[2] for facts in entries]
            return [data or b"" for data in self._clone.read_objects(view, names)]

    def submodules(self) -> list[tuple[str, str, str]]:
        """Path, address and commit of each that is named and pinned."""
        objects = {path: facts.split(b" ")[2].decode() for facts, path in self._entries}
        if b".gitmodules" not in objects:
            return []
        words = ("config", "--blob", objects[b".gitmodules"], "-z", "--list")
        listed = self._out(*words, fine=(0, 1, 128)).decode("utf-8", "surrogateescape")
        return list(self._pinned(listed, objects))

    def _pinned(self, listed: str, objects: dict[bytes, str]) -> Iterator[tuple[str, str, str]]:
        settings = dict(entry.partition("\n")[::2] for entry in listed.split("\0") if entry)
        pinned = {path for facts, path in self._entries if facts.startswith(b"160000 ")}
        for key, path in settings.items():
            url = settings.get(f"{key.removesuffix('.path')}.url")
            named = key.startswith("submodule.") and key.endswith(".path")
            if named and url and os.fsencode(path) in pinned:
                yield path, url, objects[os.fsencode(path)]


def _stays_inside(path: bytes, target: bytes) -> bool:
    """A link that goes up first and then only down, no further up than the tree begins. One that
    goes up again later could do so from where another link leads."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    up = next((number for number, part in enumerate(parts) if part != b".."), len(parts))
    depth = len([part for part in posixpath.dirname(path).split(b"/") if part])
    return not target.startswith(b"/") and up <= depth and b".." not in parts[up:]
