"""A worktree of the version before, whose `.git` is a file that points into the clone."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from kingdom.general.checkouts.repositories import Checkout
from tests.general.test_repositories_kills import SEED, kills_at_disk
from tests.support.git_remotes import Realm, git, kept_files

TASK = "task-1"
PRIVATE = f"refs/kingdom/{TASK}"


class Older:
    """Two tasks of the version before, at work in one clone."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.remote = realm.remote()
        self.repositories = realm.repositories()
        self.clone = Path(self.repositories.prepare("acme/shop", "task-0").clone)
        self.repositories.remove("task-0")
        self.clone.joinpath("kingdom-checkouts").rmdir()
        self.place, self.other = (self.added(task) for task in (TASK, "task-2"))
        for place in (self.other, self.place):
            (place / "a.txt").write_text(f"stashed in {place.parent.name}")
            git(place, "stash")
            (place / "a.txt").write_text(f"committed in {place.parent.name}")
            git(place, "commit", "-qam", "work")
        git(self.place, "branch", "side")
        (self.place / "dir/b.txt").write_text("staged")
        git(self.place, "add", "-A")
        (self.place / "new.txt").write_text("new")

    def added(self, task: str) -> Path:
        place = Path(self.realm.base.workspace, "gen-pr", task, "repo")
        place.parent.mkdir()
        words = ("worktree", "add", "-q", "--lock", "-B", f"kingdom/{task}")
        git(self.clone, *words, str(place), git(self.clone, "rev-parse", "origin/main"))
        return place

    @property
    def checkout(self) -> Checkout:
        """As its spec had it."""
        head = self.remote.refs()["refs/heads/main"]
        return Checkout(str(self.place), f"kingdom/{TASK}", head, "acme/shop", str(self.clone))

    def status(self, place: Path) -> tuple[str, ...]:
        words = (("status", "--porcelain=v2", "--branch"), ("stash", "list"), ("log", "--oneline"))
        return tuple(git(place, *one) for one in words)


@pytest.fixture
def older(scratch: Path) -> Older:
    return Older(Realm(scratch))


def test_it_is_pushed_and_kept_and_the_next_soldier_gets_a_git_directory_of_its_own(
    older: Older,
) -> None:
    before, others = older.status(older.place), older.status(older.other)
    tip = git(older.place, "rev-parse", "HEAD")
    facts = older.repositories.survey().clones[0]
    assert set(facts.worktrees) == {str(older.place), str(older.other)}
    assert older.repositories.push(older.checkout, "topic") == tip
    assert older.remote.refs()["refs/heads/topic"] == tip
    kept = older.repositories.keep(TASK)
    assert kept == [f"{PRIVATE}/uncommitted", f"{PRIVATE}/stash"]
    assert kept_files(str(older.clone), kept[0])["new.txt"] == "new"
    assert kept_files(str(older.clone), f"{kept[0]}^2")["dir/b.txt"] == "staged"
    assert kept_files(str(older.clone), kept[1])["a.txt"] == f"stashed in {TASK}"
    found = older.repositories.prepare("acme/shop", TASK)
    assert (found.path, found.head) == (str(older.place), tip)
    assert found.borrows == (str(older.clone / "objects"),)
    assert (older.place / ".git").is_dir()
    # The stashes of others were on its list, too.
    assert older.status(older.place)[0::2] == before[0::2]
    assert f"stashed in {TASK}" in git(older.place, "show", "stash@{0}:a.txt")
    assert older.status(older.other)[0::2] == others[0::2]
    assert set(older.repositories.remove("task-2")) == {
        "refs/kingdom/task-2/branch/kingdom--task-2", "refs/kingdom/task-2/stash",
    }  # fmt: skip
    assert git(older.clone, "for-each-ref", "refs/heads", "refs/stash") == ""


def test_a_general_killed_meanwhile_goes_on(older: Older) -> None:
    def keep() -> object:
        return older.realm.repositories().keep(TASK)

    points = sorted(random.Random(SEED).sample(range(1, 60), 12))
    assert kills_at_disk(keep, points, after=True)
    before = git(older.place, "rev-parse", "HEAD")
    assert older.realm.repositories().remove(TASK) == [
        f"{PRIVATE}/uncommitted", f"{PRIVATE}/branch/kingdom--{TASK}", f"{PRIVATE}/branch/side",
        f"{PRIVATE}/stash",
    ]  # fmt: skip
    assert git(older.clone, "rev-parse", f"{PRIVATE}/branch/side") == before


@pytest.mark.parametrize("left", ["nothing", "another history"])
def test_branches_of_one_without_its_files_are_kept(older: Older, left: str) -> None:
    tip = git(older.place, "rev-parse", "HEAD")
    shutil.rmtree(older.place)
    if left == "another history":
        older.place.mkdir()
        git(older.place, "init", "-q", "-b", "mine")
        (older.place / "mine.txt").write_text("mine")
    older.repositories.keep(TASK)
    assert git(older.clone, "rev-parse", f"{PRIVATE}/branch/kingdom--{TASK}") == tip
    if left == "another history":
        assert kept_files(str(older.clone), f"{PRIVATE}/uncommitted") == {"mine.txt": "mine"}
