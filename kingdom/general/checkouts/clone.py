"""One clone, the worktrees that borrow its objects, and views of it.

Each worktree has a git directory of its own, in which its soldier writes as it likes; of the clone
it needs the objects, to read. So git reaches a remote, and reads or writes the files of a worktree,
only through a *view*: a git directory made for the one run, with a configuration of ours and a copy
of the refs, on the clone's objects. In the clone itself git only reads and moves refs.

    kingdom-checkouts/{id}             where the worktree lies
    refs/kingdom-borrowed/{id}         leads to all that its git directory borrows
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from io import BytesIO

from kingdom.clients.git import Git, Place
from kingdom.clients.git_faults import CloneBroken, GitFailed
from kingdom.clients.git_hosts import GitSettings
from kingdom.clients.programs import MOST_OUTPUT, Said
from kingdom.clock import SystemClock
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.refs import (
    BRANCHES,
    PRIVATE,
    REMOTE_BRANCHES,
    REMOTE_HEAD,
)
from kingdom.general.checkouts.worktree import Worktree
from kingdom.store import disk

_CLOCK = SystemClock()
LARGEST = 64 * 1024 * 1024
SHALLOW = "shallow"  # the commits at which history ends
_BROKEN, _USED, _URL = "kingdom-broken", "kingdom-used", "kingdom-url"
_PARTIAL = "kingdom-partial"
_CHECKOUTS = "kingdom-checkouts"
_SMALL = 64 * 1024
_MUCH = 6700  # objects on their own, by git's own measure
# A git that lives holds one of these for moments only.
_STALE_SECONDS = 30.0
_SHARED_LOCKS = ("packed-refs.lock", "config.lock", "HEAD.lock", "shallow.lock")
# A clone that claims to be partial has git try a fetch, which may end it with a signal.
_NOT_THERE = (0, 1, 128, -signal.SIGPIPE)
_NOWHERE = "ref: refs/heads/none"


class Clone:
    def __init__(self, path: str, git: Git, settings: GitSettings) -> None:
        self.path = path
        self.git = git
        self._settings = settings

    @property
    def at(self) -> Place:
        return Place(self.path)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def url(self) -> str:
        return self._note(_URL)

    @property
    def is_broken(self) -> bool:
        return disk.exists(os.path.join(self.path, _BROKEN))

    def last_used(self) -> float:
        facts = disk.facts_of(os.path.join(self.path, _USED))
        return facts.st_mtime if facts else 0.0

    def mark_used(self) -> None:
        disk.touch(os.path.join(self.path, _USED))

    def mark_broken(self, reason: str) -> None:
        disk.replace(os.path.join(self.path, _BROKEN), f"{reason}\n".encode("utf-8", "replace"))

    def _note(self, name: str) -> str:
        return disk.head(os.path.join(self.path, name), _SMALL).decode("utf-8", "replace").strip()

    def note_origin(self, url: str, *, partial: bool) -> None:
        """Before anything is fetched into it."""
        disk.create(os.path.join(self.path, _URL), f"{url}\n".encode())
        if partial:
            disk.create(os.path.join(self.path, _PARTIAL), b"")

    def compact(self, loose: int = _MUCH) -> None:
        """What nothing leads to any more goes two weeks after it came, once there is much."""
        settings = (f"gc.auto={loose}", "gc.autoDetach=false", "gc.pruneExpire=14.days.ago")
        words = [word for setting in settings for word in ("-c", setting)]
        self.git.run(*words, "gc", "--auto", "--quiet", at=self.at)

    # Refs.

    def refs(self, *under: str, at: Place | None = None) -> dict[str, str]:
        """Name: commit or object. Symbolic ones are not listed."""
        form = "--format=%(objectname) %(refname)%(if)%(symref)%(then) symbolic%(end)"
        said = self.git.run("for-each-ref", form, *under, at=at or self.at)
        words = [line.split(" ") for line in said.text.split("\n") if line]
        return {name: sha for sha, name, *symbolic in words if not symbolic}

    def resolve(self, name: str) -> str:
        """The commit; empty if there is none of that name."""
        said = self.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}",
            at=self.at, fine=_NOT_THERE,
        )  # fmt: skip
        return said.text if said.code == 0 else ""

    def update(self, *changes: tuple[str, str], fine: tuple[int, ...] = (0,)) -> Said:
        """All of them or none; an empty commit deletes."""
        lines = [
            f"update {name}\0{sha}\0\0" if sha else f"delete {name}\0\0" for name, sha in changes
        ]
        return self.git.run(
            "update-ref", "-z", "--stdin", at=self.at, stdin=os.fsencode("".join(lines)), fine=fine
        )

    def default_branch(self) -> str:
        """As it was told by the last fetch; empty if none was."""
        said = self.git.run("symbolic-ref", "--quiet", REMOTE_HEAD, at=self.at, fine=(0, 1))
        return said.text if said.text.startswith(REMOTE_BRANCHES) else ""

    def merge_base(self, one: str, other: str) -> str:
        """Empty if they have nothing in common, as far as history is here."""
        return self.git.run("merge-base", one, other, at=self.at, fine=(0, 1)).text

    def is_ancestor(self, earlier: str, later: str) -> bool:
        words = ("merge-base", "--is-ancestor", earlier, later)
        return self.git.run(*words, at=self.at, fine=(0, 1)).code == 0

    def has_all_of(self, sha: str, *globs: str) -> bool:
        """Whether everything up to this commit is reachable from the refs of these names."""
        known = [f"--glob={glob}" for glob in globs]
        return not self.git.run("rev-list", "-n1", sha, "--not", *known, at=self.at).text

    def has_refs_of_its_own(self) -> bool:
        """Private ones or branches; told from files, since git may not be able to read it."""
        kinds = (PRIVATE, BRANCHES)
        if any(names for kind in kinds for _, _, names in os.walk(os.path.join(self.path, kind))):
            return True
        packed = os.path.join(self.path, "packed-refs")
        with suppress(FileNotFoundError):
            data = disk.read(packed, LARGEST)[0]
            return any(f" {kind}".encode() in data for kind in kinds)
        return False

    # Views.

    @contextmanager
    def view(
        self,
        refs: Mapping[str, str] | None = None,
        *,
        plain_links: bool = False,
        lfs: bool = True,
    ) -> Iterator[str]:
        """A git directory with our configuration on this clone's objects."""
        config = self.configuration(is_view=True, plain_links=plain_links, lfs=lfs)
        with trees.work_directory(os.path.dirname(self.path)) as path:
            disk.make_directory(os.path.join(path, "refs"))
            disk.create(os.path.join(path, "HEAD"), f"{_NOWHERE}\n".encode())
            disk.create(os.path.join(path, "config"), config.encode())
            lines = [f"{sha} {name}\n" for name, sha in sorted((refs or {}).items())]
            disk.create(os.path.join(path, "packed-refs"), "".join(lines).encode())
            if self.is_shallow:
                shallow = disk.read(os.path.join(self.path, SHALLOW), LARGEST)[0]
                disk.create(os.path.join(path, SHALLOW), shallow)
            yield path

    def in_view(
        self, *words: str, at: Place, stdin: bytes = b"", fine: tuple[int, ...] = (0,),
        most_output: int = MOST_OUTPUT,
    ) -> Said:  # fmt: skip
        """Without a way to any remote."""
        objects = at.objects or self.objects
        whole = Place(at.git_dir, at.common_dir, at.work_tree, at.index, objects)
        return self.git.run(*words, at=whole, stdin=stdin, fine=fine, most_output=most_output)

    def read_objects(self, view: str, names: Sequence[bytes]) -> list[bytes | None]:
        """The content of each that is a file, or a link to one in the same commit; else None."""
        given = b"".join(name + b"\n" for name in names)
        words = ("cat-file", "--batch", "--follow-symlinks")
        out = BytesIO(self.in_view(*words, at=Place(view), stdin=given).out)
        found = []
        for _ in names:
            facts = out.readline().split(b" ")
            data = out.read(int(facts[-1]) + 1)[:-1] if facts[-1].strip().isdigit() else None
            found.append(data if len(facts) == 3 and facts[1] == b"blob" else None)
        return found

    @property
    def is_shallow(self) -> bool:
        return disk.exists(os.path.join(self.path, SHALLOW))

    @property
    def is_partial(self) -> bool:
        return disk.exists(os.path.join(self.path, _PARTIAL))

    @property
    def lfs(self) -> str:
        """Where git-lfs keeps what it fetched; the directory is there if the repository uses it."""
        return os.path.join(self.path, "lfs")

    @property
    def objects(self) -> str:
        return os.path.join(self.path, "objects")

    @property
    def alternates(self) -> bytes:
        """What a git directory says that borrows the objects."""
        return os.fsencode(self.objects) + b"\n"

    def configuration(
        self,
        *,
        is_view: bool = False,
        is_bare: bool = True,
        plain_links: bool = False,
        lfs: bool = True,
    ) -> str:
        """Of the clone, of each view, and of a worktree's own git directory, which is not bare."""
        kept, partial = self._settings, self.is_partial
        sections = [
            f"[core]\n\trepositoryformatversion = {1 if partial else 0}\n\tfilemode = true\n"
            f"\tbare = {str(is_bare).lower()}\n\tlogAllRefUpdates = true\n",
            f'[remote "origin"]\n\turl = {_quoted(self.url)}\n'
            "\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            f"[user]\n\tname = {_quoted(kept.name)}\n\temail = {_quoted(kept.email)}\n",
            "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[submodule]\n\tactive = .\n",
        ]
        if partial:
            sections.append(
                '[remote "origin"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n'
                "[extensions]\n\tpartialClone = origin\n"
            )
        if plain_links:
            sections.append("[core]\n\tsymlinks = false\n")
        if lfs and disk.exists(self.lfs):
            sections.append(
                '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n'
                "\tprocess = git-lfs filter-process\n\trequired = true\n"
            )
            sections.append(_of_lfs(self.url))
            if is_view:
                sections.append(f"[lfs]\n\tstorage = {_quoted(self.lfs)}\n\tlocksverify = false\n")
        return "".join(sections)

    def put_right(self) -> None:
        """What a soldier wrote here, when soldiers still could."""
        config = os.path.join(self.path, "config")
        wanted = self.configuration().encode()
        if disk.head(config, _SMALL) != wanted:
            disk.replace(config, wanted, sync=False)
        for name in ("hooks", "config.worktree"):
            trees.remove_anything(os.path.join(self.path, name))

    def drop_stale_locks(self) -> None:
        """Those that a killed git left behind."""
        paths = [os.path.join(self.path, name) for name in _SHARED_LOCKS]
        for directory, _, names in os.walk(os.path.join(self.path, "refs")):
            paths += [os.path.join(directory, name) for name in names if name.endswith(".lock")]
        for path in paths:
            facts = disk.facts_of(path)
            # One from the future is of a clock that was ahead.
            age = 0.0 if facts is None else abs(_CLOCK.now().timestamp() - facts.st_mtime)
            if age > _STALE_SECONDS:
                disk.remove(path)

    # Worktrees.

    def worktrees(self) -> list[Worktree]:
        place = os.path.join(self.path, _CHECKOUTS)
        found = []
        for name in sorted(disk.names(place)):
            with suppress(OSError, ValueError, TypeError):  # one that was cut off
                known = json.loads(disk.read(os.path.join(place, name), _SMALL)[0])
                found.append(Worktree(clone=self, **known))
        return found

    def register(self, worktree: Worktree) -> None:
        """One that lies there, or is to be moved there next."""
        known = {field.name: getattr(worktree, field.name) for field in fields(worktree)}
        del known["clone"]
        place = os.path.join(self.path, _CHECKOUTS)
        disk.make_directory(place)
        disk.remove(os.path.join(place, worktree.id))
        disk.create(os.path.join(place, worktree.id), json.dumps(known).encode(), sync=True)
        disk.sync_directory(place)

    def forget_worktree(self, worktree: Worktree) -> None:
        """Its files are gone already."""
        with suppress(CloneBroken, GitFailed):
            self.update((worktree.borrowed, ""))
        disk.remove(os.path.join(self.path, _CHECKOUTS, worktree.id))

    def move_worktree(self, worktree: Worktree, path: str) -> None:
        """It lies elsewhere by now."""
        moved = replace(worktree, path=path)
        self.register(moved)
        with suppress(CloneBroken, GitFailed):
            self.borrow(moved, worktree.borrowed)
        self.forget_worktree(worktree)

    def borrow(self, worktree: Worktree, *also: str) -> None:
        """What it begins with stays here as long as it is known, whatever the remote drops: all of
        that are the parents of one commit. The same parents make the same commit."""
        form = "--format=%(objecttype) %(objectname)"
        said = self.git.run("for-each-ref", form, "refs/remotes", worktree.borrowed, at=self.at)
        listed = [line.split(" ") for line in said.text.split("\n")]
        found = {line[1] for line in listed if line[0] == "commit"}
        found |= {sha for name in also if (sha := self.resolve(name))}
        tree = self.git.run("mktree", at=self.at).text
        parents = "".join(f"parent {sha}\n" for sha in sorted(found))
        who = "kingdom <kingdom@localhost> 0 +0000"
        text = f"tree {tree}\n{parents}author {who}\ncommitter {who}\n\nborrowed\n"
        words = ("hash-object", "-w", "-t", "commit", "--stdin")
        made = self.git.run(*words, at=self.at, stdin=text.encode()).text
        self.update((worktree.borrowed, made))


def _of_lfs(url: str) -> str:
    """Large files come from the repository's own host, and go there, whatever its `.lfsconfig`
    says: that counts for less."""
    host = f"{url.rstrip('/').removesuffix('.git')}.git/info/lfs"
    place = _quoted(host if url.startswith(("http://", "https://")) else url)
    return f"[lfs]\n\turl = {place}\n\tpushurl = {place}\n"


def _quoted(value: str) -> str:
    """As a value in a configuration file."""
    plain = value.replace("\n", " ").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
