"""One clone, the worktrees that it knows, and views of it.

A soldier can change the clone's `config` and hooks. So git reaches a remote, and reads or writes
the files of a worktree, only through a *view*: a git directory made for the one run, with a
configuration of ours and a copy of the refs, on the clone's objects. In the clone itself git only
reads and moves refs. What one soldier wrote into config and hooks is put right before the next
begins.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kingdom.clients.git import Git, Place
from kingdom.clients.git_faults import CloneBroken, GitFailed
from kingdom.clients.git_hosts import GitSettings
from kingdom.clients.programs import Said
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.refs import BRANCHES, PRIVATE, REMOTE_BRANCHES, REMOTE_HEAD
from kingdom.store import disk

_CLOCK = SystemClock()
LARGEST = 64 * 1024 * 1024
SHALLOW = "shallow"  # the commits at which history ends
_BROKEN, _USED, _URL = "kingdom-broken", "kingdom-used", "kingdom-url"
_PARTIAL = "kingdom-partial"
_SMALL = 64 * 1024
_MUCH = 6700  # objects on their own, by git's own measure
# A git that lives holds one of these for moments only.
_STALE_SECONDS = 30.0
_SHARED_LOCKS = ("packed-refs.lock", "config.lock", "HEAD.lock", "shallow.lock")
# A clone that claims to be partial has git try a fetch, which may end it with a signal.
_NOT_THERE = (0, 1, 128, -signal.SIGPIPE)
_NOWHERE = "ref: refs/heads/none"


@dataclass(frozen=True)
class Worktree:
    """A checkout that a clone knows: where it lies, and what the clone keeps about it."""

    id: str
    path: str
    admin: str
    clone: Clone

    @property
    def at(self) -> Place:
        """To read its HEAD; the clone is named, whatever the soldier wrote into `commondir`."""
        return Place(self.admin, common_dir=self.clone.path)

    def head(self) -> str:
        """The commit it stands at; empty before the first."""
        said = self.clone.git.run(
            "rev-parse", "--verify", "--quiet", "HEAD^{commit}", at=self.at, fine=(0, 1)
        )
        return said.text

    def branch(self) -> str:
        """refs/heads/…; empty when HEAD is detached."""
        said = self.clone.git.run("symbolic-ref", "--quiet", "HEAD", at=self.at, fine=(0, 1))
        return said.text

    def is_whole(self) -> bool:
        try:
            pointer = disk.read(os.path.join(self.path, ".git"), _SMALL)[0]
            if pointer.decode("utf-8", "surrogateescape").strip() != f"gitdir: {self.admin}":
                return False
            if not self.head() and not self.branch():
                return False
            with self.clone.view() as view:
                at = Place(view, index=os.path.join(self.admin, "index"))
                self.clone.in_view("ls-files", "--", ".git", at=at)
        except (OSError, KingdomError):
            return False
        return True


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
            "update-ref", "-z", "--stdin", at=self.at, stdin="".join(lines).encode(), fine=fine
        )

    def default_branch(self) -> str:
        """As it was told by the last fetch; empty if none was. What else a soldier wrote there
        does not count."""
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
    def view(self, refs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A git directory with our configuration on this clone's objects."""
        with trees.work_directory(os.path.dirname(self.path)) as path:
            disk.make_directory(os.path.join(path, "refs"))
            disk.create(os.path.join(path, "HEAD"), f"{_NOWHERE}\n".encode())
            disk.create(os.path.join(path, "config"), self.configuration(is_view=True).encode())
            lines = [f"{sha} {name}\n" for name, sha in sorted((refs or {}).items())]
            disk.create(os.path.join(path, "packed-refs"), "".join(lines).encode())
            if self.is_shallow:
                shallow = disk.read(os.path.join(self.path, SHALLOW), LARGEST)[0]
                disk.create(os.path.join(path, SHALLOW), shallow)
            yield path

    def in_view(
        self, *words: str, at: Place, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
    ) -> Said:
        """Without a way to any remote."""
        whole = Place(at.git_dir, at.common_dir, at.work_tree, at.index, self.objects)
        return self.git.run(*words, at=whole, stdin=stdin, fine=fine)

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

    def configuration(self, *, is_view: bool = False) -> str:
        """Of the clone when no soldier changed it, and of each view."""
        kept, partial = self._settings, self.is_partial
        sections = [
            f"[core]\n\trepositoryformatversion = {1 if partial else 0}\n\tfilemode = true\n"
            "\tbare = true\n\tlogAllRefUpdates = true\n",
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
        if disk.exists(self.lfs):
            sections.append(
                '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n'
                "\tprocess = git-lfs filter-process\n\trequired = true\n"
            )
            if is_view:
                sections.append(f"[lfs]\n\tstorage = {_quoted(self.lfs)}\n\tlocksverify = false\n")
        return "".join(sections)

    def put_right(self) -> None:
        """What an earlier soldier wrote where the next one's git would act on it."""
        config = os.path.join(self.path, "config")
        wanted = self.configuration().encode()
        if disk.head(config, _SMALL) != wanted:
            disk.replace(config, wanted, sync=False)
        for name in ("hooks", "config.worktree"):
            path = os.path.join(self.path, name)
            if os.path.isdir(path) and not os.path.islink(path):
                trees.remove(path)
            else:
                disk.remove(path)

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
        place = os.path.join(self.path, "worktrees")
        found = []
        for id_ in sorted(disk.names(place)):
            admin = os.path.join(place, id_)
            try:
                data = disk.read(os.path.join(admin, "gitdir"), _SMALL)[0]
            except OSError:
                continue
            path = os.path.dirname(os.fsdecode(data).rstrip("\n"))
            found.append(Worktree(id_, path, admin, self))
        return found

    def add_worktree(self, work: str, id_: str, start: str, *branch: str) -> Worktree:
        """Without its files, at `work`/`id_`; locked, so that no git forgets it by itself."""
        path = os.path.join(work, id_)
        words = ["-B", *branch] if branch else ["--detach"]
        self.git.run(
            "worktree", "add", "--quiet", "--lock", "--no-checkout", *words, path, start,
            at=self.at,
        )  # fmt: skip
        pointer = disk.read(os.path.join(path, ".git"), _SMALL)[0]
        admin = os.fsdecode(pointer).removeprefix("gitdir: ").rstrip("\n")
        return Worktree(os.path.basename(admin), path, admin, self)

    def place_worktree(self, worktree: Worktree, path: str) -> Worktree:
        """It will be found there, and is to be moved there next."""
        text = os.fsencode(os.path.join(path, ".git")) + b"\n"
        disk.replace(os.path.join(worktree.admin, "gitdir"), text)
        return Worktree(worktree.id, path, worktree.admin, self)

    def forget_worktree(self, worktree: Worktree) -> None:
        """Its files are gone already."""
        disk.remove(os.path.join(worktree.admin, "locked"))
        with suppress(CloneBroken, GitFailed):
            self.git.run("worktree", "prune", "--expire=now", at=self.at)
        if disk.exists(worktree.admin):  # git would not, because the soldier changed it
            trees.remove(worktree.admin)


def _quoted(value: str) -> str:
    """As a value in a configuration file."""
    plain = value.replace("\n", " ").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
