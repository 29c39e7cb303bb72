"""One clone per repository, in `workspace/{general}/.clones/`, shared by all tasks' worktrees.

    {slug}.git/        bare; the soldiers' git writes here, so nothing in it is believed
    {slug}.2.git/      its successor, after `kingdom-broken` was left in the first
    {slug}.lock        held while the clone is made, fetched, or its worktrees change
    .work-…/           what is being made; after a crash it is removed by the next one to look

A soldier can change the clone's `config` and hooks. So git reaches a remote, and reads or writes
the files of a worktree, only through a *view*: a git directory made for the one run, with a
configuration of ours and a copy of the refs, on the clone's objects. In the clone itself git only
reads and moves refs. What one soldier wrote into config and hooks is put right before the next
begins.

A crash leaves a clone whole: it is renamed into place when it is complete, objects come before the
refs to them, and refs move by git's own transactions.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kingdom.clients.git import Git, Place
from kingdom.clients.git_faults import CloneBroken, GitBusy, GitFailed, RefMissing
from kingdom.clients.git_hosts import GitSettings, Hosts, Remote
from kingdom.clients.programs import Said
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.runtime.processes import until
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir

_CLOCK = SystemClock()
CLONES = ".clones"
PRIVATE = "refs/kingdom/"
BRANCHES = "refs/heads/"
REMOTE_BRANCHES = "refs/remotes/origin/"
PULLS = "refs/remotes/pull/"
_REMOTE_HEAD = f"{REMOTE_BRANCHES}HEAD"
_BROKEN, _USED, _URL = "kingdom-broken", "kingdom-used", "kingdom-url"
_PARTIAL = "kingdom-partial"
_NAME = re.compile(r"(?P<slug>.+?)(?:\.(?P<generation>\d+))?\.git")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SMALL = 64 * 1024
_LARGEST = 64 * 1024 * 1024
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
            data = disk.read(packed, _LARGEST)[0]
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
            with suppress(FileNotFoundError):
                shallow = disk.read(os.path.join(self.path, "shallow"), _LARGEST)[0]
                disk.create(os.path.join(path, "shallow"), shallow)
            yield path

    def in_view(
        self, *words: str, at: Place, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
    ) -> Said:
        """Without a way to any remote."""
        whole = Place(at.git_dir, at.common_dir, at.work_tree, at.index, self.objects)
        return self.git.run(*words, at=whole, stdin=stdin, fine=fine)

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
            if facts is not None and _CLOCK.now().timestamp() - facts.st_mtime > _STALE_SECONDS:
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


class Clones:
    """All of one general."""

    def __init__(
        self, base: BaseDir, general: str, git: Git, hosts: Hosts, settings: GitSettings
    ) -> None:
        self.root = os.path.join(os.path.realpath(base.workspace), general, CLONES)
        self._git = git
        self._hosts = hosts
        self._settings = settings
        self._fetched: dict[str, float] = {}  # path: when the last good fetch began

    def all(self) -> list[Clone]:
        names = sorted(name for name in disk.names(self.root) if _NAME.fullmatch(name))
        return [self._at(os.path.join(self.root, name)) for name in names]

    def of(self, remote: Remote) -> Clone | None:
        """The one in use, if there is one."""
        for generation in range(1, 10_000):
            number = "" if generation == 1 else f".{generation}"
            clone = self._at(os.path.join(self.root, f"{slug(remote)}{number}.git"))
            if not disk.exists(clone.path):
                return None
            if not clone.is_broken:
                return clone
        return None

    @contextmanager
    def locked(self, remote_slug: str) -> Iterator[None]:
        disk.make_directory(self.root)
        lock = Lock(os.path.join(self.root, f"{remote_slug}.lock"))
        try:
            if not until(lock.try_acquire, self._git.patience):
                raise GitBusy(f"Another task has been at the clone {remote_slug} for too long.")
            yield
        finally:
            lock.close()

    def ready(self, remote: Remote, *, partial: bool, depth: int | None) -> Clone:
        """The clone in use, made if there is none; with the lock held."""
        trees.clear_work(self.root)
        clone = self.of(remote)
        if clone is None:
            clone = self._make(remote, partial=partial, depth=depth)
        clone.drop_stale_locks()
        clone.put_right()
        clone.mark_used()
        for worktree in clone.worktrees():  # of one who was killed before it was in its place
            if worktree.path.startswith(os.path.join(self.root, "")):
                self._drop_unplaced(worktree)
        return clone

    def _drop_unplaced(self, worktree: Worktree) -> None:
        if not disk.exists(worktree.path):
            worktree.clone.forget_worktree(worktree)

    def fetch(
        self, clone: Clone, remote: Remote, *, asked: float, depth: int | None = None,
        also: Sequence[str] = (), wanted: str = "",
    ) -> None:  # fmt: skip
        """With the lock held. One that just happened will do, if it brought what is wanted."""
        fresh = self._fetched.get(clone.path, float("-inf")) >= asked - self._settings.fresh_seconds
        if fresh and not also and (not wanted or clone.resolve(wanted)):
            return
        began = _CLOCK.monotonic()
        refspecs = (f"+{BRANCHES}*:{REMOTE_BRANCHES}*", *also)
        self._fetch(clone, remote, refspecs, depth)
        self._fetched[clone.path] = began

    def default_branch(self, clone: Clone, remote: Remote) -> str:
        """A ref in the clone; asked of the remote when it is not known, or is no more."""
        said = self._git.run("symbolic-ref", "--quiet", _REMOTE_HEAD, at=clone.at, fine=(0, 1))
        if said.text and clone.resolve(said.text):
            return said.text
        answer = self._ask_for_head(clone, remote)
        found = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", answer, re.MULTILINE)
        target = f"{REMOTE_BRANCHES}{found[1]}" if found else ""
        if not target or not clone.resolve(target):
            raise RefMissing(
                f"{clone.url} has no default branch: it is empty, or its HEAD names none.",
                remedy="Push a first commit to it, or name a branch.",
            )
        self._git.run("symbolic-ref", _REMOTE_HEAD, target, at=clone.at)
        return target

    def reach(
        self, clone: Clone, remote: Remote, *words: str, at: Place, fine: tuple[int, ...] = (0,)
    ) -> Said:
        """Run git in a view, with leave to reach this remote."""
        whole = Place(at.git_dir, at.common_dir, at.work_tree, at.index, clone.objects)
        return self._git.run(*words, at=whole, access=self._hosts.access(remote), fine=fine)

    def _ask_for_head(self, clone: Clone, remote: Remote) -> str:
        with clone.view() as view:
            words = ("ls-remote", "--symref", remote.url, "HEAD")
            return self.reach(clone, remote, *words, at=Place(view)).text

    def _make(self, remote: Remote, *, partial: bool, depth: int | None) -> Clone:
        names = {os.path.basename(clone.path) for clone in self.all()}
        generation = 1 + sum(_slug_of(name) == slug(remote) for name in names)
        number = "" if generation == 1 else f".{generation}"
        target = os.path.join(self.root, f"{slug(remote)}{number}.git")
        with trees.work_directory(self.root) as work:
            path = os.path.join(work, "clone.git")
            self._git.run("init", "--quiet", "--bare", "--template=", path)
            clone = self._at(path)
            disk.create(os.path.join(path, _URL), f"{remote.url}\n".encode())
            if partial:
                disk.create(os.path.join(path, _PARTIAL), b"")
            clone.put_right()
            self._fetch(clone, remote, (f"+{BRANCHES}*:{REMOTE_BRANCHES}*",), depth)
            disk.sync_filesystem(path)
            disk.move_anything(path, target)
            disk.sync_directory(self.root)
        return self._at(target)

    def _fetch(
        self, clone: Clone, remote: Remote, refspecs: Sequence[str], depth: int | None
    ) -> None:
        before = clone.refs()
        with clone.view(before) as view:
            words = ["fetch", "--prune", "--force", "--no-auto-maintenance", "--progress"]
            if depth is not None:
                words.append(f"--depth={depth}")
            if clone.is_partial:
                words.append("--filter=blob:none")
            self.reach(clone, remote, *words, "origin", *refspecs, at=Place(view))
            after = clone.refs(at=Place(view, objects=clone.objects))
            with suppress(FileNotFoundError):
                shallow = disk.read(os.path.join(view, "shallow"), _LARGEST)[0]
                disk.replace(os.path.join(clone.path, "shallow"), shallow)
        _take_over(clone, before, after)

    def _at(self, path: str) -> Clone:
        return Clone(path, self._git, self._settings)


def _take_over(clone: Clone, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """The remote's refs as they now are, and tags that are new; a soldier's own are not touched.

    What is gone goes first: `a` must make room for `a/b`.
    """
    gone = [(name, "") for name in before if name.startswith("refs/remotes/") and name not in after]
    new = [
        (name, sha)
        for name, sha in after.items()
        if before.get(name) != sha and _is_the_remote_s(name, is_new=name not in before)
    ]
    for changes in (gone, new):
        if changes:
            clone.update(*changes)


def _is_the_remote_s(name: str, *, is_new: bool) -> bool:
    if name.startswith("refs/tags/"):
        return is_new
    # A branch that is called HEAD would be written through the symbolic ref of that name.
    return name.startswith("refs/remotes/") and name != _REMOTE_HEAD


def slug(remote: Remote) -> str:
    """Readable, and never the same for two addresses."""
    tail = "-".join(re.split(r"[/:]", remote.url.removesuffix(".git").rstrip("/"))[-2:])
    readable = re.sub(r"[^a-z0-9_-]+", "-", tail.lower()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(remote.url.encode()).hexdigest()[:12]}"


def _slug_of(name: str) -> str:
    found = _NAME.fullmatch(name)
    return found["slug"] if found else ""


def slug_of(clone: Clone) -> str:
    """Whose lock is this clone's."""
    return _slug_of(clone.name)


def is_sha(text: str) -> bool:
    return _SHA.fullmatch(text) is not None


def _quoted(value: str) -> str:
    """As a value in a configuration file."""
    plain = value.replace("\n", " ").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
