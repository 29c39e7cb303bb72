"""What a commit has in it, as far as a worktree needs to know before it is filled."""

from __future__ import annotations

import os
import re
from functools import cached_property

from kingdom.clients.git import Place
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones
from kingdom.settings.addresses import Remote

_LFS = re.compile(rb"^[^#\n]*\bfilter=lfs\b", re.MULTILINE)


class Tree:
    """What a commit has. Read with leave to reach the remote: a partial clone may lack some."""

    def __init__(self, clones: Clones, clone: Clone, remote: Remote, commit: str) -> None:
        self.commit = commit
        self.remote = remote
        self._clones = clones
        self._clone = clone

    def _out(self, *words: str, fine: tuple[int, ...] = (0,)) -> bytes:
        with self._clone.view() as view:
            at = Place(view)
            if self._clone.is_partial:
                said = self._clones.reach(self._clone, self.remote, *words, at=at, fine=fine)
            else:
                said = self._clone.in_view(*words, at=at, fine=fine)
        return said.out

    @cached_property
    def _entries(self) -> list[tuple[bytes, bytes]]:
        """Mode, kind and object; path."""
        listed = self._out("ls-tree", "-r", "-z", self.commit)
        return [entry.partition(b"\t")[::2] for entry in listed.split(b"\0") if entry]

    def uses_lfs(self) -> bool:
        for facts, path in self._entries:
            named = path.rpartition(b"/")[2] == b".gitattributes" and facts.startswith(b"100")
            if named and _LFS.search(self._blob(facts)):
                return True
        return False

    def _blob(self, facts: bytes) -> bytes:
        return self._out("cat-file", "blob", facts.split(b" ")[2].decode())

    def submodules(self) -> list[tuple[str, str, str]]:
        """Path, address and commit of each that is named and pinned."""
        objects = {path: facts.split(b" ")[2].decode() for facts, path in self._entries}
        if b".gitmodules" not in objects:
            return []
        words = ("config", "--blob", objects[b".gitmodules"], "-z", "--list")
        listed = self._out(*words, fine=(0, 1, 128)).decode("utf-8", "surrogateescape")
        settings = dict(entry.partition("\n")[::2] for entry in listed.split("\0") if entry)
        pinned = {path for facts, path in self._entries if facts.startswith(b"160000 ")}
        found = []
        for key, path in settings.items():
            url = settings.get(f"{key.removesuffix('.path')}.url")
            named = key.startswith("submodule.") and key.endswith(".path")
            if named and url and os.fsencode(path) in pinned:
                found.append((path, url, objects[os.fsencode(path)]))
        return found
