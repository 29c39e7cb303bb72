"""Takes what a soldier committed out of its git directory and into the clone.

git reads the soldier's objects through a view of the clone: object files alone are linked into it,
its alternate is the clone and nothing else, and packs are indexed anew. What is wanted of them goes
into a pack whose every object git names by its content, checks, and finds complete together with
what the clone has; only then the pack becomes the clone's. Until a ref names it, nobody sees it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from kingdom.clients.git import Place
from kingdom.clients.git_faults import CloneBroken, GitFailed
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.private_git import is_real_directory
from kingdom.general.checkouts.refs import BORROWED, PRIVATE
from kingdom.general.checkouts.worktree import Worktree
from kingdom.store import disk

_FAN = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}")
_PACK = re.compile(r"pack-[0-9a-f]{40}\.pack")
_LARGE = re.compile(r"[0-9a-f]{64}")
_NEW = "pack"  # how git begins the name of one that it makes


class Taken:
    """What a soldier has and what the clone has, seen together."""

    def __init__(self, clone: Clone, view: str, objects: str) -> None:
        self.clone = clone
        self.objects = objects
        self._view = view

    def run(self, *words: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)) -> str:
        at = Place(self._view, objects=self.objects)
        return self.clone.in_view(*words, at=at, stdin=stdin, fine=fine).text

    def commits(self, names: Iterable[str]) -> dict[str, str]:
        """Of these objects, those that are commits or lead to one: the commit of each."""
        asked = list(dict.fromkeys(names))
        lines = "".join(f"{name}^{{commit}}\n" for name in asked)
        said = self.run("cat-file", "--batch-check=%(objectname)", stdin=lines.encode())
        answers = zip(asked, said.split("\n"), strict=False)
        return {name: sha for name, sha in answers if " " not in sha and sha}

    def has_all_of(self, sha: str) -> bool:
        """Whether the remote has everything up to this commit, as far as the clone knows."""
        return not self.run("rev-list", "-n1", sha, "--not", "--glob=refs/remotes")

    def bring(self, tips: Iterable[str]) -> list[str]:
        """Into the clone, with all that they lead to; returns those that cannot be had whole."""
        wanted = list(dict.fromkeys(tips))
        try:
            self._bring(wanted)
        except (GitFailed, CloneBroken):
            if len(wanted) == 1:
                return wanted
            return [tip for one in wanted for tip in self.bring([one])]
        return []

    def _bring(self, wanted: list[str]) -> None:
        if not wanted:
            return
        kinds = ("refs/remotes", "refs/tags", PRIVATE, BORROWED)
        known = dict.fromkeys(self.clone.refs(*(kind.rstrip("/") for kind in kinds)).values())
        lines = "".join(f"{one}\n" for one in (*wanted, *(f"^{sha}" for sha in known)))
        given = lines.encode()
        partial = ("--missing=allow-promisor",) if self.clone.is_partial else ()
        packed = os.path.join(self._view, _NEW)
        words = ("pack-objects", "--quiet", "--revs", "--non-empty", "--window=0", *partial)
        name = self.run(*words, packed, stdin=given)
        if name:
            self._adopt(f"{packed}-{name}")
        words = ("rev-list", "--quiet", "--objects", *partial, "--stdin")
        self.clone.in_view(*words, at=Place(self._view), stdin=given)

    def _adopt(self, pack: str) -> None:
        """Names and checks each object by its content; then the pack is the clone's."""
        disk.remove(f"{pack}.idx")
        # A partial clone lacks objects that others name, so they cannot all be looked for.
        check = "--fsck-objects" if self.clone.is_partial else "--strict"
        words = ("index-pack", check, "-o", f"{pack}.idx", f"{pack}.pack")
        self.clone.in_view(*words, at=Place(self._view))
        target = os.path.join(self.clone.objects, "pack")
        disk.make_directory(target)
        for suffix in ("pack", "idx"):  # it counts from when its index is there
            disk.sync_file(f"{pack}.{suffix}")
            with suppress(FileExistsError):
                name = f"{os.path.basename(pack)}.{suffix}"
                disk.move_anything(f"{pack}.{suffix}", os.path.join(target, name))
        disk.sync_directory(target)


@contextmanager
def taken_over(worktree: Worktree) -> Iterator[Taken]:
    """While its soldier does not run."""
    clone = worktree.clone
    with clone.view(clone.refs("refs/remotes")) as view:
        objects = os.path.join(view, "objects")
        for name in ("", "info", "pack"):
            disk.make_private_directory(os.path.join(objects, name))
        disk.create(os.path.join(objects, "info", "alternates"), clone.alternates)
        taken = Taken(clone, view, objects)
        _link_objects(os.path.join(worktree.git_dir, "objects"), objects)
        _index_packs(taken)
        yield taken


def take_large_files(worktree: Worktree) -> None:
    """Those of git-lfs that the soldier made, into the clone's own store, if each is what its name
    says. They are copied: the soldier's own stay its own."""
    source, target = os.path.join(worktree.git_dir, "lfs", "objects"), worktree.clone.lfs
    if not worktree.lfs or not disk.exists(target) or not is_real_directory(source):
        return
    with trees.work_directory(os.path.dirname(worktree.clone.path)) as work:
        for place, _, names in os.walk(source):
            for name in filter(_LARGE.fullmatch, names):
                above = os.path.join(target, "objects", name[:2], name[2:4])
                made, final = os.path.join(work, name), os.path.join(above, name)
                with suppress(OSError):
                    if not disk.exists(final):
                        disk.copy(os.path.join(place, name), made)
                        if _sha256(made) == name:
                            disk.make_directory(above)
                            disk.move_anything(made, final)


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_brought_head(worktree: Worktree) -> bool:
    """Whether the commit it stands at is all there; it is in the clone then."""
    head = worktree.head()
    with taken_over(worktree) as taken:
        return not head or not taken.bring([head])


def _link_objects(source: str, target: str) -> None:
    """Loose ones and packs, of the names that git gives them; nothing else."""
    for name in sorted(disk.names(source)) if is_real_directory(source) else ():
        if _FAN.fullmatch(name):
            disk.make_private_directory(os.path.join(target, name))
            _link_files(os.path.join(source, name), os.path.join(target, name), _LOOSE)
    _link_files(os.path.join(source, "pack"), os.path.join(target, "pack"), _PACK)


def _link_files(source: str, target: str, form: re.Pattern[str]) -> None:
    if not is_real_directory(source):
        return
    for entry in disk.entries(source):
        if form.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            disk.link_or_copy(entry.path, os.path.join(target, entry.name))


def _index_packs(taken: Taken) -> None:
    """A soldier's index could say anything of a pack. One that git cannot read is left out."""
    place = os.path.join(taken.objects, "pack")
    for name in sorted(disk.names(place)):
        pack = os.path.join(place, name)
        index = f"{pack.removesuffix('.pack')}.idx"
        try:
            taken.run("index-pack", "-o", index, pack)
        except (GitFailed, CloneBroken):
            disk.remove(pack)
            disk.remove(index)
