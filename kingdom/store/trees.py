"""Whole directories: what to walk through, and how to remove one."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kingdom.store import disk


def files_below(root: str) -> Iterator[str]:
    """Every path below that is not a directory, links not followed; what went meanwhile is left
    out."""
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            yield os.path.join(directory, name)


def remove_tree(root: str) -> int:
    """How many files went; links are removed and not followed."""
    removed = 0
    for directory, directories, names in os.walk(root, topdown=False):
        for name in names:
            removed += disk.remove(os.path.join(directory, name))
        for name in directories:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                disk.remove(path)
            else:
                disk.remove_directory(path)
    if os.path.isdir(root):
        disk.remove_directory(root)
    return removed
