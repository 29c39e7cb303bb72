"""Files by which a repository steers the agents that work in it.

In work of people below member they come from the base branch: the working files are those of the
base commit, and what is not there is not here. git's objects and the index have the proposed ones,
to be reviewed; the index says of them that git need not look at the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from kingdom.clients.git import Place
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.private_git import is_real_directory
from kingdom.general.checkouts.worktree import Worktree
from kingdom.store import disk

_NAMES = frozenset({
    b"claude.md", b"claude.local.md", b"agents.md", b"agents.override.md", b"gemini.md",
    b".claude", b".codex", b".cursor", b".mcp.json",
})  # fmt: skip
_COPILOT = (b".github", b"copilot-instructions.md")
_LARGEST = 1024 * 1024
LINK = b"120000"


def is_steering(path: bytes) -> bool:
    """At any depth, in any letter case; of a directory, all that is in it."""
    parts = path.lower().split(b"/")
    return any(part in _NAMES for part in parts) or _COPILOT in pairwise(parts)


def take_from_base(
    worktree: Worktree,
    at: Place,
    ours: Mapping[bytes, bytes],
    theirs: Mapping[bytes, bytes],
    contents: Callable[[Iterable[bytes]], Mapping[bytes, bytes]],
) -> None:
    """In a worktree that was just filled. `ours` are the steering files of its commit and `theirs`
    those of the base, by path, as git lists them; `contents` reads files of the base. Where that
    has a link, the file has what it leads to there: here it could lead to something else."""
    changed = [
        path
        for path in ours.keys() | theirs.keys()
        if ours.get(path) != theirs.get(path) or ours[path].startswith(LINK)
    ]
    hidden = sorted(path for path in changed if path in ours)
    for path in hidden:
        _remove(worktree.path, path)
    for path, data in contents(sorted(path for path in changed if path in theirs)).items():
        _write(worktree.path, path, data)
    stdin = b"".join(path + b"\0" for path in hidden)
    words = ("update-index", "-z", "--skip-worktree", "--stdin")
    worktree.clone.in_view(*words, at=at, stdin=stdin)
    untracked = sorted(theirs.keys() - ours.keys())
    if untracked:
        place = os.path.join(worktree.git_dir, "info")
        disk.make_private_directory(place)
        disk.create(os.path.join(place, "exclude"), b"".join(map(_excluded, untracked)))


def contents_at(clone: Clone, view: str, base: str, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """Of those that are files in this commit, or links to one; others are left out."""
    asked = [path for path in paths if b"\n" not in path]
    found = clone.read_objects(view, [b"%s:%s" % (base.encode(), path) for path in asked])
    return {path: data for path, data in zip(asked, found, strict=True) if data is not None}


def is_as_given(directory: str, path: bytes, given: Mapping[bytes, bytes]) -> bool:
    """Whether the working file is what it was when the soldier began."""
    whole = os.path.join(directory, os.fsdecode(path))
    if not os.path.lexists(whole) or (os.path.isdir(whole) and not os.path.islink(whole)):
        return path not in given
    try:
        return disk.read(whole, _LARGEST)[0] == given.get(path)
    except OSError:
        return False


def _remove(directory: str, path: bytes) -> None:
    whole = os.path.join(directory, os.fsdecode(path))
    if is_real_directory(os.path.dirname(whole)):
        trees.remove_anything(whole)
        above = os.path.dirname(whole)
        while above != directory and not disk.names(above):
            disk.remove_directory(above)
            above = os.path.dirname(above)


def _write(directory: str, path: bytes, data: bytes) -> None:
    """Unless something else lies in the way of it, such as a link."""
    above = directory
    for part in os.fsdecode(path).split(os.sep)[:-1]:
        above = os.path.join(above, part)
        if not disk.exists(above):
            disk.make_private_directory(above)
    whole = os.path.join(directory, os.fsdecode(path))
    if is_real_directory(above) and not disk.exists(whole):
        disk.create(whole, data)


def _excluded(path: bytes) -> bytes:
    return b"/" + re.sub(rb"([\\*?\[ #!])", rb"\\\1", path) + b"\n"
