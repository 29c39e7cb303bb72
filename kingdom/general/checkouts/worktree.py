"""A task's checkout, as its clone knows it."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kingdom.clients.git import Place
from kingdom.errors import KingdomError
from kingdom.general.checkouts.private_git import LARGEST_INDEX, GitData, is_real_directory
from kingdom.general.checkouts.refs import BORROWED
from kingdom.store import disk

if TYPE_CHECKING:
    from kingdom.general.checkouts.clone import Clone


@dataclass(frozen=True)
class Worktree:
    """A checkout with a git directory of its own, which borrows the objects of a clone."""

    path: str
    clone: Clone
    plain_links: bool = False  # symbolic links are files that hold their target
    lfs: bool = True  # large files are filled in and taken out
    steering: str = ""  # the commit whose files steer agents here; empty: its own

    @property
    def id(self) -> str:
        """Readable, and never the same for two paths."""
        readable = re.sub(r"[^A-Za-z0-9]+", "-", self.path)[-60:].strip("-")
        return f"{readable}-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]}"

    @property
    def borrowed(self) -> str:
        return f"{BORROWED}{self.id}"

    @property
    def git_dir(self) -> str:
        return os.path.join(self.path, ".git")

    @property
    def data(self) -> GitData:
        return GitData(self.git_dir)

    def head(self) -> str:
        """The commit it stands at; empty before the first."""
        return self.data.head()

    def branch(self) -> str:
        """refs/heads/…; empty when HEAD is detached."""
        return self.data.branch()

    def view(self) -> AbstractContextManager[str]:
        """A view of the clone in which files are read and written as in this worktree."""
        return self.clone.view(plain_links=self.plain_links, lfs=self.lfs)

    def is_whole(self) -> bool:
        try:
            places = [os.path.join(self.git_dir, name) for name in ("", "objects", "refs")]
            if not all(map(is_real_directory, places)) or not (self.head() or self.branch()):
                return False
            with self.clone.view() as view:
                index = os.path.join(view, "index")
                disk.copy(self.data.index, index, LARGEST_INDEX)
                self.clone.in_view("ls-files", "--", ".git", at=Place(view, index=index))
        except (OSError, KingdomError):
            return False
        return True
