"""Nothing that a soldier makes of its git directory brings anything else into the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kingdom.clients.git_faults import RefMissing
from kingdom.errors import KingdomError
from kingdom.general.checkouts.refs import ref_word
from kingdom.general.checkouts.repositories import Checkout, Repositories
from tests.support.git_remotes import ENVIRONMENT, BareRemote, Realm, git, kept_files

TASK = "task-1"
PRIVATE = f"refs/kingdom/{TASK}"
SECRET = "the owner's own, and nobody else's\n"


class Scene:
    """A soldier's worktree, and a repository of the owner's elsewhere on the disk."""

    def __init__(self, realm: Realm, task: str = TASK) -> None:
        self.task = task
        self.repositories: Repositories = realm.repositories()
        self.checkout: Checkout = self.repositories.prepare("acme/shop", task)
        self.place = Path(self.checkout.path)
        self.own = self.place / ".git"
        self.objects = self.own / "objects"
        self.owners = BareRemote(realm.root / task / "owners.git", {"secret.txt": SECRET}).elsewhere
        self.commit = git(self.owners, "rev-parse", "HEAD")
        self.blob = git(self.owners, "rev-parse", "HEAD:secret.txt")

    def listing(self) -> list[tuple[str, int]]:
        found = [path for path in self.owners.rglob("*") if path.is_file()]
        return sorted((str(path), path.stat().st_mtime_ns) for path in found)

    def path_of(self, sha: str, place: Path | None = None) -> Path:
        return (place or self.objects) / sha[:2] / sha[2:]

    def stand_at(self, sha: str) -> None:
        (self.own / "HEAD").write_text(f"{sha}\n")

    def work(self) -> str:
        (self.place / "a.txt").write_text("work")
        git(self.place, "commit", "-qam", "work")
        return git(self.place, "rev-parse", "HEAD")


def alternates(scene: Scene) -> None:
    with (scene.objects / "info/alternates").open("a") as file:
        file.write(f"{scene.owners}/.git/objects\n")
    scene.stand_at(git(scene.place, "commit-tree", f"{scene.commit}^{{tree}}", "-m", "x"))


def objects_linked(scene: Scene) -> None:
    for path in (scene.owners / ".git/objects").iterdir():
        if len(path.name) == 2 and not (scene.objects / path.name).exists():
            (scene.objects / path.name).symlink_to(path)
    scene.stand_at(scene.commit)


def one_object_linked(scene: Scene) -> None:
    git(scene.owners, "cat-file", "-p", "HEAD")
    for sha in git(scene.owners, "rev-list", "--objects", "HEAD").split("\n"):
        path = scene.path_of(sha.split(" ")[0])
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(scene.path_of(sha.split(" ")[0], scene.owners / ".git/objects"))
    scene.stand_at(scene.commit)


def packs_linked(scene: Scene) -> None:
    git(scene.owners, "repack", "-adq")
    shutil.rmtree(scene.objects / "pack")
    (scene.objects / "pack").symlink_to(scene.owners / ".git/objects/pack")
    scene.stand_at(scene.commit)


def all_objects_linked(scene: Scene) -> None:
    shutil.rmtree(scene.objects)
    scene.objects.symlink_to(scene.owners / ".git/objects")
    scene.stand_at(scene.commit)


def another_common_directory(scene: Scene) -> None:
    (scene.own / "commondir").write_text(f"{scene.owners}/.git\n")
    git(scene.place, "config", "core.worktree", str(scene.owners))
    shutil.rmtree(scene.own / "refs")
    (scene.own / "refs").symlink_to(scene.owners / ".git/refs")


def worktree_linked(scene: Scene) -> None:
    scene.place.rename(scene.place.with_name("elsewhere"))
    scene.place.symlink_to(scene.owners)


def a_repository_behind_a_link(scene: Scene) -> None:
    (scene.place / "link").symlink_to(scene.owners.parent)
    name = f"link/{scene.owners.name}"
    words = ("update-index", "--add", "--cacheinfo", f"160000,{scene.commit},{name}")
    git(scene.place, *words)


def a_worktree_elsewhere(scene: Scene) -> None:
    admin = scene.own / "worktrees" / "x"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(f"{scene.owners}/.git\n")
    (admin / "HEAD").write_text("ref: refs/heads/main\n")


def a_parent_hidden_by_shallow(scene: Scene) -> None:
    tree = git(scene.place, "rev-parse", "HEAD^{tree}")
    who = "author a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000"
    text = f"tree {tree}\nparent {scene.commit}\n{who}\n\nx\n"
    words = ("hash-object", "-w", "-t", "commit", "--stdin", "--literally")
    sha = git(scene.place, *words, stdin=text.encode())
    (scene.own / "shallow").write_text(f"{sha}\n")
    (scene.own / "info").mkdir(exist_ok=True)
    (scene.own / "info/grafts").write_text(f"{sha}\n")
    scene.stand_at(sha)


def an_object_of_another_name(scene: Scene) -> None:
    """The remote's own commit, with other content under its name."""
    head = scene.checkout.head
    tree = git(scene.place, "rev-parse", "HEAD^{tree}")
    body = f"tree {tree}\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nforged\n".encode()
    path = scene.path_of(head)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(b"commit %d\0%s" % (len(body), body)))


def pipes(scene: Scene) -> None:
    for name in ("packed-refs", "index", "MERGE_HEAD", "shallow"):
        (scene.own / name).unlink(missing_ok=True)
        os.mkfifo(scene.own / name)
    place = scene.path_of("1" * 40)
    place.parent.mkdir()
    os.mkfifo(place)


def a_huge_index(scene: Scene) -> None:
    os.truncate(scene.own / "index", 3 * 1024**3)


def refs_of_odd_names(scene: Scene) -> None:
    sha = scene.work()
    names = ("refs/heads/../../x", "refs/heads/a..b", "refs/kingdom/task-2/head", "HEAD",
             "refs/remotes/origin/main", "refs/heads/x.lock", "../outside", "refs/heads/a b",
             "refs/kingdom-borrowed/x", "refs/heads/" + "long" * 50)  # fmt: skip
    with (scene.own / "packed-refs").open("a") as file:
        file.writelines(f"{sha} {name}\n" for name in names)
        file.write(f"{'2' * 64} refs/heads/sha256\nnonsense\n\0\0\n{sha[:39]} refs/heads/short\n")
    (scene.own / "refs/heads/round").write_text("ref: refs/heads/about\n")
    (scene.own / "refs/heads/about").write_text("ref: refs/heads/round\n")
    (scene.own / "refs/heads/linked").symlink_to(scene.owners / ".git/refs/heads/main")


TRICKS: tuple[Callable[[Scene], None], ...] = (
    alternates, objects_linked, one_object_linked, packs_linked, all_objects_linked,
    another_common_directory, worktree_linked, a_repository_behind_a_link, a_worktree_elsewhere,
    a_parent_hidden_by_shallow, an_object_of_another_name, pipes, a_huge_index, refs_of_odd_names,
)  # fmt: skip


def test_nothing_from_elsewhere_gets_in_and_the_clone_stays_whole(scratch: Path) -> None:
    realm = Realm(scratch)
    remote = realm.remote()
    for trick in TRICKS:
        scene = Scene(realm, trick.__name__)
        trick(scene)
        before = scene.listing()
        with suppress(KingdomError):
            scene.repositories.push(scene.checkout, scene.task)
        kept = scene.repositories.keep(scene.task)
        print(scene.task, kept)  # shown with a failure
        scene.repositories.prepare("acme/shop", scene.task)
        git(scene.place, "status")
        scene.repositories.remove(scene.task)
        assert scene.listing() == before
    clone = Path(scene.checkout.clone)
    for place in (clone, remote.path):
        for sha in (scene.blob, scene.commit):
            with pytest.raises(AssertionError):
                git(place, "cat-file", "-e", sha)
        assert git(place, "fsck", "--no-dangling") == ""
    assert git(clone, "rev-parse", "origin/main") == remote.refs()["refs/heads/main"]
    names = git(clone, "for-each-ref", "--format=%(refname)", "refs/kingdom", "refs/heads").split()
    tasks = {f"refs/kingdom/{ref_word(trick.__name__)}/" for trick in TRICKS}
    assert all(name.startswith(tuple(tasks)) for name in names)
    for name in names:
        assert SECRET.strip() not in kept_files(str(clone), name).values()


def test_what_is_well_is_taken_over_beside_what_is_not(scratch: Path) -> None:
    realm = Realm(scratch)
    realm.remote()
    scene = Scene(realm)
    tip = scene.work()
    (scene.own / "refs/heads/lost").write_text(f"{'1' * 40}\n")
    git(scene.place, "branch", "bad")
    tree = git(scene.place, "mktree", "--missing", stdin=f"100644 blob {'3' * 40}\tx\n".encode())
    bad = git(scene.place, "commit-tree", tree, "-p", "HEAD", "-m", "bad")
    (scene.own / "refs/heads/bad").write_text(f"{bad}\n")
    assert scene.repositories.push(scene.checkout, "topic") == tip
    with pytest.raises(RefMissing):
        scene.repositories.push(scene.checkout, "bad", source="bad")
    (scene.place / "new.txt").write_text("new")
    aside = scene.place.with_name("repo.kept-1")
    assert scene.repositories.remove(TASK) == [f"{PRIVATE}/uncommitted", str(aside)]
    assert git(aside, "rev-parse", "bad") == bad  # what it borrows is still there


def test_a_history_of_another_kind_is_not_lost(scratch: Path) -> None:
    realm = Realm(scratch)
    realm.remote()
    scene = Scene(realm)
    shutil.rmtree(scene.own)
    git(scene.place, "init", "-q", "--object-format=sha256")
    git(scene.place, "add", "-A")
    git(scene.place, "commit", "-qm", "mine")
    assert scene.repositories.keep(TASK) == [str(scene.place)]
    aside = scene.place.with_name("repo.kept-1")
    assert scene.repositories.remove(TASK) == [str(aside)]
    assert git(aside, "log", "--format=%s") == "mine"


def test_packs_are_read_by_what_is_in_them(scratch: Path) -> None:
    """A soldier that tidied up has packs; what their indexes say is not believed."""
    realm = Realm(scratch)
    remote = realm.remote()
    scene = Scene(realm)
    tip = scene.work()
    git(scene.place, "repack", "-adlq")
    git(scene.place, "pack-refs", "--all", "--prune")
    (index,) = (scene.objects / "pack").glob("*.idx")
    index.chmod(0o600)
    index.write_bytes(b"nonsense")
    assert scene.repositories.push(scene.checkout, "topic") == tip
    assert git(remote.path, "show", "topic:a.txt") == "work"


def test_a_soldier_needs_nothing_of_the_clone_but_its_objects_to_read(scratch: Path) -> None:
    realm = Realm(scratch)
    realm.remote()
    scene = Scene(realm)
    assert scene.checkout.borrows == (f"{scene.checkout.clone}/objects",)
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    task = str(scene.place.parent)
    script = (
        "set -e; echo work > a.txt; git commit -qam work; echo more > a.txt; git stash -q; "
        "git log --oneline origin/main; git diff --quiet origin/HEAD...HEAD && exit 1; "
        f"test ! -e {scene.checkout.clone}/config; git gc -q; git status --porcelain"
    )
    bound = [word for path in scene.checkout.borrows for word in ("--ro-bind", path, path)]
    system = [word for path in ("/usr", "/bin", "/lib", "/lib64") if os.path.exists(path)
              for word in ("--ro-bind", path, path)]  # fmt: skip
    argv = (
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *system,
        *bound,
        "--bind",
        task,
        task,
        "--chdir",
        str(scene.place),
        "sh",
        "-c",
        script,
    )
    done = subprocess.run(argv, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    kept = scene.repositories.keep(TASK)
    assert kept == [f"{PRIVATE}/branch/kingdom--{TASK}", f"{PRIVATE}/stash"]
