"""What a push would bring to the remote: commits as they are, what they change, large files.

Compared with the commit that the kingdom fetched before the soldier began: whatever refs lie in the
clone now may be the soldier's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from kingdom.clients.git import Place
from kingdom.general.checkouts.clone import Clone
from kingdom.store import disk

_POINTER = re.compile(r"^[+]oid sha256:([0-9a-f]{64})\s*$", re.MULTILINE)
_LARGEST = 16 * 1024 * 1024
_NOT_FOUND, _BROKEN = 1, 128


@dataclass(frozen=True)
class Outgoing:
    sha: str
    commits: str  # their messages and whatever else stands in them
    log: str  # `git log -p`
    large: tuple[tuple[str, str], ...]  # large files: name and content
    known: Callable[[frozenset[str]], frozenset[str]]  # of these strings, those in the base


def outgoing(clone: Clone, sha: str, base: str) -> Outgoing:
    """All that leads to this commit and not to `base`."""
    since = (sha, "--not", base) if base and clone.resolve(base) else (sha,)
    with clone.view() as view:
        at = Place(view)
        raw = clone.in_view("log", "--format=raw", "--no-patch", *since, "--", at=at)
        patch = clone.in_view(
            "log", "--format=", "--patch", "--diff-merges=combined", "--text", "--find-renames",
            "--no-color", "--no-ext-diff", "--no-textconv", "--unified=3", *since, "--", at=at,
        )  # fmt: skip
    log = patch.out.decode("utf-8", "surrogateescape")
    names = dict.fromkeys(_POINTER.findall(log))
    return Outgoing(
        sha,
        raw.out.decode("utf-8", "surrogateescape"),
        log,
        tuple((name, _large_file(clone, name)) for name in names),
        lambda strings: known_in(clone, (base,), strings),
    )


def known_in(clone: Clone, commits: Iterable[str], strings: frozenset[str]) -> frozenset[str]:
    """Those of these strings that a file of one of these commits has."""
    there = [one for one in commits if one and clone.resolve(one)]
    if not strings or not there:
        return frozenset()
    words = [word for one in sorted(strings) for word in ("-e", one)]
    with clone.view() as view:
        said = clone.in_view(
            "grep", "--text", "-h", "-o", "-F", *words, *there, at=Place(view),
            fine=(0, _NOT_FOUND, _BROKEN),
        )  # fmt: skip
    found = set(said.out.decode("utf-8", "surrogateescape").split("\n"))
    # One that is part of another is not printed by itself.
    return frozenset(
        one for one in strings if one in found or any(one in longer for longer in found)
    )


def _large_file(clone: Clone, name: str) -> str:
    path = os.path.join(clone.lfs, "objects", name[:2], name[2:4], name)
    with suppress(OSError):
        return disk.read(path, _LARGEST)[0].decode("utf-8", "replace")
    return ""
