"""Whatever a soldier leaves uncommitted or unpushed is kept, and the worktree is not touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from kingdom.general.checkouts.repositories import Checkout, Repositories
from kingdom.runtime.processes import until
from tests.support.git_remotes import BareRemote, Realm, git, kept_files

TASK = "task-1"
PRIVATE = f"refs/kingdom/{TASK}"


class Soldier:
    """One at work in a worktree."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.remote: BareRemote = realm.remote()
        self.repositories: Repositories = realm.repositories()
        self.checkout: Checkout = self.repositories.prepare("acme/shop", TASK)
        self.place = Path(self.checkout.path)

    def git(self, *words: str, check: bool = True) -> str:
        return git(self.place, *words, check=check)

    def write(self, name: str, content: str) -> None:
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")

    def commit(self, name: str, content: str) -> str:
        self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-qm", f"{name}")
        return self.git("rev-parse", "HEAD")

    def keep(self) -> list[str]:
        return self.repositories.keep(TASK)

    def files(self, ref: str) -> dict[str, str]:
        return kept_files(self.checkout.clone, f"{PRIVATE}/{ref}")

    def kept(self, ref: str) -> str:
        return git(self.checkout.clone, "rev-parse", f"{PRIVATE}/{ref}")


@pytest.fixture
def soldier(scratch: Path) -> Soldier:
    return Soldier(Realm(scratch))


def test_nothing_is_kept_of_a_soldier_who_left_nothing(soldier: Soldier) -> None:
    assert soldier.keep() == []
    (soldier.place / "a.txt").touch()
    assert soldier.keep() == []
    soldier.write(".gitignore", "*.log\n")
    soldier.git("add", "-A")
    soldier.git("commit", "-qm", "ignore")
    soldier.repositories.push(soldier.checkout, "topic")
    soldier.write("some.log", "ignored")
    assert soldier.keep() == []


def test_changed_new_and_deleted_files_are_kept_and_nothing_is_touched(soldier: Soldier) -> None:
    soldier.write("a.txt", "changed")
    soldier.write("new/file.txt", "new")
    (soldier.place / "dir/b.txt").unlink()
    soldier.git("add", "a.txt")
    soldier.write("a.txt", "changed again")
    before = soldier.git("status", "--porcelain=v2", "--branch"), soldier.git("rev-parse", "HEAD")
    assert soldier.keep() == [f"{PRIVATE}/uncommitted"]
    after = soldier.git("status", "--porcelain=v2", "--branch"), soldier.git("rev-parse", "HEAD")
    assert before == after
    assert soldier.files("uncommitted") == {"a.txt": "changed again", "new/file.txt": "new"}
    assert soldier.files("uncommitted^2")["a.txt"] == "changed"  # as it was staged
    assert soldier.kept("uncommitted^1") == soldier.checkout.head
    author = git(soldier.checkout.clone, "log", "-1", "--format=%an", f"{PRIVATE}/uncommitted")
    assert author == "kingdom"


def test_keeping_twice_makes_nothing_twice_and_loses_nothing(soldier: Soldier) -> None:
    soldier.write("a.txt", "first")
    soldier.git("add", "-A")
    soldier.write("a.txt", "second")
    assert soldier.keep() == soldier.keep() == [f"{PRIVATE}/uncommitted"]
    soldier.write("a.txt", "third!")  # as long as the one before, within the same second
    assert soldier.keep() == [f"{PRIVATE}/uncommitted-2"]
    assert soldier.files("uncommitted")["a.txt"] == "second"
    assert soldier.files("uncommitted-2")["a.txt"] == "third!"


def test_a_change_right_after_the_index_was_written_is_seen_later_too(soldier: Soldier) -> None:
    index = soldier.place / ".git" / "index"
    changed = soldier.place / "a.txt"
    while True:  # both within one second, which is as exactly as git looks
        soldier.commit("a.txt", str(time.time()))
        soldier.write("a.txt", str(time.time()))
        if int(index.stat().st_mtime) == int(changed.stat().st_mtime):
            break
    kept = soldier.keep()
    assert until(lambda: int(time.time()) > int(index.stat().st_mtime), 2.0)
    assert soldier.keep() == kept
    assert soldier.files("uncommitted")["a.txt"] == changed.read_text()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_was_told_not_to_look_at_are_looked_at(soldier: Soldier, flag: str) -> None:
    soldier.git("update-index", flag, "a.txt")
    soldier.write("a.txt", "hidden change")
    assert soldier.git("status", "--porcelain") == ""
    soldier.keep()
    assert soldier.files("uncommitted")["a.txt"] == "hidden change"


def test_names_of_all_kinds_are_kept(soldier: Soldier) -> None:
    names = [
        "한글.txt",
        "with space",
        'quo"te',
        "new\nline",
        "-dash",
        "tab\there",
        "end ",
        ":(top)x",
    ]
    for name in names:
        soldier.write(name, f"content of {name}.")
    raw = os.fsencode(soldier.place) + b"/\xff\xfe"
    Path(os.fsdecode(raw)).write_text("not even utf-8")
    soldier.keep()
    kept = soldier.files("uncommitted")
    assert {name: kept[name] for name in names} == {name: f"content of {name}." for name in names}
    assert kept[os.fsdecode(b"\xff\xfe")] == "not even utf-8"


def test_links_modes_and_what_changed_its_kind_are_kept(soldier: Soldier) -> None:
    (soldier.place / "link").symlink_to("/etc/passwd")
    soldier.write("run.sh", "#!/bin/sh\n")
    (soldier.place / "run.sh").chmod(0o755)
    (soldier.place / "a.txt").unlink()
    soldier.write("a.txt/inside", "a directory now")
    shutil.rmtree(soldier.place / "dir")
    outside = soldier.realm.root / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("not the repository's")
    (soldier.place / "dir").symlink_to(outside)
    assert soldier.repositories.remove(TASK) == [f"{PRIVATE}/uncommitted"]
    listed = git(soldier.checkout.clone, "ls-tree", "-r", f"{PRIVATE}/uncommitted").split("\n")
    modes = {line.split("\t")[1]: line.split(" ")[0] for line in listed}
    assert modes == {
        "a.txt/inside": "100644", "dir": "120000", "link": "120000", "run.sh": "100755",
    }  # fmt: skip
    assert soldier.files("uncommitted")["link"] == "/etc/passwd"


def test_a_file_that_git_cannot_read_as_told_is_kept_as_it_is(soldier: Soldier) -> None:
    soldier.write(".gitattributes", "*.txt working-tree-encoding=UTF-16\n")
    soldier.write("odd.txt", "odd")
    soldier.keep()
    assert soldier.files("uncommitted")["odd.txt"] == "odd"


def test_commits_are_kept_until_they_are_pushed(soldier: Soldier) -> None:
    tip = soldier.commit("a.txt", "committed")
    assert soldier.keep() == [f"{PRIVATE}/branch/kingdom--{TASK}"]
    assert soldier.kept(f"branch/kingdom--{TASK}") == tip
    later = soldier.commit("a.txt", "more")
    assert soldier.keep() == [f"{PRIVATE}/branch/kingdom--{TASK}"]
    assert soldier.kept(f"branch/kingdom--{TASK}") == later
    soldier.git("commit", "-q", "--amend", "-m", "otherwise")
    assert soldier.keep() == [f"{PRIVATE}/branch/kingdom--{TASK}-2"]
    soldier.repositories.push(soldier.checkout, "topic")
    assert soldier.keep() == []


def test_branches_tags_and_a_detached_head_are_kept(soldier: Soldier) -> None:
    soldier.git("checkout", "-q", "-b", "side/branch")
    side = soldier.commit("side.txt", "side")
    soldier.git("checkout", "-q", "--detach")
    tagged = soldier.commit("tagged.txt", "tagged")
    soldier.git("tag", "-a", "-m", "v", "v1")
    head = soldier.commit("head.txt", "head")
    soldier.git("checkout", "-q", "--orphan", "orphan")
    orphan = soldier.commit("orphan.txt", "orphan")
    soldier.git("checkout", "-q", head)
    assert sorted(soldier.keep()) == [
        f"{PRIVATE}/branch/orphan",
        f"{PRIVATE}/branch/side--branch",
        f"{PRIVATE}/head",
        f"{PRIVATE}/other/tags--v1",
    ]
    assert soldier.kept("branch/side--branch") == side
    assert soldier.kept("branch/orphan") == orphan
    assert soldier.kept("head") == head
    assert soldier.kept("other/tags--v1^{commit}") == tagged


def test_a_head_on_a_branch_without_commits_is_kept(soldier: Soldier) -> None:
    soldier.git("checkout", "-q", "--orphan", "fresh")
    soldier.write("fresh.txt", "fresh")
    assert soldier.keep() == [f"{PRIVATE}/uncommitted"]
    assert soldier.files("uncommitted")["fresh.txt"] == "fresh"


def test_all_stashes_are_kept_and_then_taken_off_the_list(soldier: Soldier) -> None:
    for number in range(3):
        soldier.write("a.txt", f"stash {number}")
        soldier.write(f"untracked-{number}", "also")
        soldier.git("stash", "push", "-q", "--include-untracked")
    other = soldier.repositories.prepare("acme/shop", "task-2")
    Path(other.path, "a.txt").write_text("of another task")
    git(other.path, "stash")
    kept = soldier.repositories.remove(TASK)
    refs = [f"{PRIVATE}/stash", f"{PRIVATE}/stash-2", f"{PRIVATE}/stash-3"]
    assert kept == refs
    contents = {soldier.files(f"{name.rpartition('/')[2]}")["a.txt"] for name in refs}
    assert contents == {"stash 0", "stash 1", "stash 2"}
    assert soldier.files("stash^3") == {"untracked-2": "also"}
    assert git(other.path, "stash", "list").count("\n") == 0  # one
    git(other.path, "stash", "pop")
    assert Path(other.path, "a.txt").read_text() == "of another task"


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick"])
def test_what_is_half_done_is_kept_with_its_other_side(soldier: Soldier, way: str) -> None:
    soldier.git("checkout", "-q", "-b", "theirs")
    theirs = soldier.commit("a.txt", "theirs\n")
    soldier.git("checkout", "-q", f"kingdom/{TASK}")
    soldier.commit("a.txt", "ours\n")
    soldier.git(way, "theirs", check=False)
    assert "<<<<<<<" in (soldier.place / "a.txt").read_text()
    before = soldier.git("status", "--porcelain")
    kept = soldier.keep()
    assert soldier.git("status", "--porcelain") == before
    assert f"{PRIVATE}/uncommitted" in kept
    assert "<<<<<<<" in soldier.files("uncommitted")["a.txt"]
    reachable = git(soldier.checkout.clone, "rev-list", "--glob=refs/kingdom").split()
    assert theirs in reachable
    if way == "rebase":
        soldier.git("rebase", "--abort")  # still works


def test_the_stash_of_a_rebase_under_way_is_kept(soldier: Soldier) -> None:
    soldier.git("checkout", "-q", "-b", "theirs")
    soldier.commit("a.txt", "theirs\n")
    soldier.git("checkout", "-q", f"kingdom/{TASK}")
    soldier.commit("a.txt", "ours\n")
    soldier.write("dir/b.txt", "not committed")
    soldier.git("rebase", "--autostash", "theirs", check=False)
    kept = soldier.keep()
    contents = [kept_files(soldier.checkout.clone, name).get("dir/b.txt") for name in kept]
    assert "not committed" in contents


@pytest.mark.parametrize("kind", ["with commits", "without commits", "submodule", "clone"])
def test_a_repository_inside_the_worktree_is_kept_whole(soldier: Soldier, kind: str) -> None:
    nested = soldier.place / "sub" / "nested"
    if kind == "submodule":
        words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
        soldier.git(*words, str(soldier.remote.path), "sub/nested")
    elif kind == "clone":
        nested.parent.mkdir()
        git(nested.parent, "clone", "-q", "--depth", "1", f"file://{soldier.remote.path}", "nested")
    else:
        nested.mkdir(parents=True)
        git(nested, "init", "-q")
    if kind != "without commits":
        (nested / "inside.txt").write_text("committed inside")
        git(nested, "add", "-A")
        git(nested, "commit", "-qm", "inside")
    (nested / "loose.txt").write_text("loose")
    kept = soldier.repositories.remove(TASK)
    assert f"{PRIVATE}/nested" in kept
    assert not soldier.place.exists()
    assert soldier.files("nested")["files/loose.txt"] == "loose"
    # All of its history can be had back from what was its .git.
    again = soldier.realm.root / "again"
    again.mkdir()
    tree = git(soldier.checkout.clone, "rev-parse", f"{PRIVATE}/nested:git")
    archive = again / "git.tar"
    git(soldier.checkout.clone, "archive", "-o", str(archive), tree)
    (again / "x.git").mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(again / "x.git")], check=True)
    if kind != "without commits":
        (again / "x.git" / "refs").mkdir(exist_ok=True)
        config = str(again / "x.git" / "config")
        git(again, "config", "--file", config, "--unset", "core.worktree", check=False)
        assert git(again / "x.git", "show", "HEAD:inside.txt") == "committed inside"


def test_a_worktree_that_the_soldier_added_is_kept_too(soldier: Soldier) -> None:
    soldier.git("worktree", "add", "-q", "-b", "second", "inner")
    soldier.git("worktree", "add", "-q", "-b", "third", "../beside")
    (soldier.place / "inner" / "a.txt").write_text("in the inner one")
    (soldier.place.parent / "beside" / "a.txt").write_text("in the one beside")
    kept = soldier.repositories.remove(TASK)
    contents = {kept_files(soldier.checkout.clone, name)["a.txt"] for name in kept}
    assert contents == {"in the inner one", "in the one beside"}
    assert (soldier.place.parent / "beside").exists()


def test_a_soldier_who_began_a_new_repository_over_the_old_loses_nothing(soldier: Soldier) -> None:
    shutil.rmtree(soldier.place / ".git")
    soldier.git("init", "-q", "-b", "mine")
    soldier.commit("a.txt", "in a history of its own")
    assert soldier.keep() == [f"{PRIVATE}/branch/mine"]
    assert soldier.files("branch/mine")["a.txt"] == "in a history of its own"


def test_a_split_or_unreadable_index_does_not_stop_keeping(soldier: Soldier) -> None:
    soldier.git("update-index", "--split-index")
    soldier.write("a.txt", "split")
    soldier.git("add", "-A")
    soldier.keep()
    assert soldier.files("uncommitted")["a.txt"] == "split"
    index = soldier.place / ".git" / "index"
    index.write_bytes(b"nonsense")
    soldier.write("a.txt", "without")
    soldier.keep()
    assert soldier.files("uncommitted-2")["a.txt"] == "without"


def test_removing_keeps_first_and_deletes_only_what_is_safe(soldier: Soldier) -> None:
    soldier.commit("a.txt", "committed")
    soldier.git("checkout", "-q", "-b", "side")
    soldier.commit("side.txt", "side")
    soldier.write("loose.txt", "loose")
    other = soldier.repositories.prepare("acme/shop", "task-2")
    kept = soldier.repositories.remove(TASK)
    assert kept == [
        f"{PRIVATE}/uncommitted",
        f"{PRIVATE}/branch/kingdom--{TASK}",
        f"{PRIVATE}/branch/side",
    ]
    assert not soldier.place.exists()
    branches = git(other.path, "for-each-ref", "--format=%(refname)", "refs/heads")
    assert branches == "refs/heads/kingdom/task-2"
    assert soldier.repositories.remove(TASK) == []
    assert git(other.path, "status", "--porcelain") == ""
    git(soldier.checkout.clone, "gc", "-q", "--prune=now")
    assert soldier.files("uncommitted")["loose.txt"] == "loose"


def test_the_work_of_a_task_that_still_runs_is_not_taken_for_another_s(soldier: Soldier) -> None:
    other = soldier.repositories.prepare("acme/shop", "task-2")
    git(other.path, "checkout", "-q", "-b", "other-side")
    Path(other.path, "a.txt").write_text("other")
    git(other.path, "commit", "-qam", "other")
    assert soldier.repositories.remove(TASK) == []
    assert git(other.path, "symbolic-ref", "HEAD") == "refs/heads/other-side"
    assert git(other.path, "log", "-1", "--format=%s") == "other"


def test_what_cannot_be_kept_is_moved_aside_and_named(soldier: Soldier) -> None:
    for path in Path(soldier.checkout.clone, "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")
    soldier.write("mine.txt", "mine")
    kept = soldier.repositories.remove(TASK)
    aside = soldier.place.with_name("repo.kept-1")
    assert str(aside) in kept
    assert (aside / "mine.txt").read_text() == "mine"


def test_a_worktree_that_the_clone_was_made_to_forget_is_named_and_not_deleted(
    soldier: Soldier,
) -> None:
    shutil.rmtree(Path(soldier.checkout.clone, "kingdom-checkouts"))
    soldier.write("mine.txt", "mine")
    assert soldier.keep() == [str(soldier.place)]
    aside = soldier.place.with_name("repo.kept-1")
    assert soldier.repositories.remove(TASK) == [str(aside)]
    assert (aside / "mine.txt").read_text() == "mine"


def test_worktrees_with_read_only_directories_can_be_removed(soldier: Soldier) -> None:
    soldier.write("cache/module/file", "x")
    (soldier.place / "cache/module").chmod(0o500)
    soldier.repositories.remove(TASK)
    assert not soldier.place.exists()


def test_ids_of_all_kinds_become_refs(scratch: Path) -> None:
    realm = Realm(scratch)
    realm.remote()
    repositories = realm.repositories()
    found = []
    for id_ in ("a:b", "a_b", "a.lock", "x.", "a.lock_"):
        checkout = repositories.prepare("acme/shop", id_)
        Path(checkout.path, "a.txt").write_text(id_)
        found += repositories.keep(id_)
    assert len({name.split("/")[2] for name in found}) == 5


@pytest.mark.long
def test_a_huge_file_is_kept(soldier: Soldier) -> None:
    with open(soldier.place / "huge", "wb") as file:
        for number in range(600):
            file.write(bytes([number % 251]) * 1024 * 1024)
    soldier.keep()
    size = git(soldier.checkout.clone, "cat-file", "-s", f"{PRIVATE}/uncommitted:huge")
    assert size == str(600 * 1024 * 1024)


@pytest.mark.long
def test_many_files_are_kept(soldier: Soldier) -> None:
    for number in range(20_000):
        (soldier.place / f"file-{number}").write_text(str(number))
    soldier.keep()
    listed = git(soldier.checkout.clone, "ls-tree", "--name-only", f"{PRIVATE}/uncommitted")
    assert listed.count("file-") == 20_000


def test_what_nothing_leads_to_goes_after_two_weeks_and_nothing_else_does(
    soldier: Soldier,
) -> None:
    clone = Path(soldier.checkout.clone)
    soldier.commit("done.txt", "committed, and not pushed")
    soldier.write("left.txt", "kept privately")
    soldier.keep()
    names = [f"junk/{number}" for number in range(600)]
    for name in names:
        soldier.write(name, name)
    git(clone, "hash-object", "-w", *(str(soldier.place / name) for name in names))
    shutil.rmtree(soldier.place / "junk")
    _grow_old(clone)
    fresh = git(clone, "hash-object", "-w", str(soldier.place / "a.txt"))
    (one,) = soldier.repositories._clones.all()
    loose = _loose(clone)
    one.compact()  # there is not much of it
    assert _loose(clone) == loose
    one.compact(loose=1)
    assert _loose(clone) < 20
    assert git(clone, "cat-file", "-t", fresh) == "blob"
    assert git(clone, "fsck", "--no-dangling") == ""
    assert soldier.git("fsck", "--no-dangling") == ""
    assert soldier.files("uncommitted")["left.txt"] == "kept privately"


def _grow_old(clone: Path) -> None:
    old = time.time() - 20 * 86_400
    for path in clone.joinpath("objects").rglob("*"):
        os.utime(path, (old, old))


def _loose(clone: Path) -> int:
    return len(list(clone.joinpath("objects").glob("??/*")))


def test_what_the_remote_dropped_stays_as_long_as_a_task_borrows_it(scratch: Path) -> None:
    realm = Realm(scratch)
    remote = realm.remote()
    sha = remote.commit({"topic.txt": "topic"}, branch="topic")
    git(remote.elsewhere, "reset", "-q", "--hard", "HEAD~1")
    repositories = realm.repositories(fresh_seconds=0.0)
    found = repositories.prepare("acme/shop", TASK)
    git(remote.path, "update-ref", "-d", "refs/heads/topic")
    repositories.prepare("acme/shop", "task-2")
    clone = Path(found.clone)
    assert "origin/topic" not in git(clone, "for-each-ref", "--format=%(refname:short)")

    def tidy_up() -> None:
        _grow_old(clone)
        git(clone, "gc", "-q", "--prune=14.days.ago")  # as it is done once there is much

    tidy_up()
    assert git(found.path, "show", "origin/topic:topic.txt") == "topic"
    assert git(found.path, "fsck", "--no-dangling") == ""
    repositories.prepare("acme/shop", TASK)  # by now it does not know that branch any more
    tidy_up()
    assert git(found.path, "show", f"{sha}:topic.txt") == "topic"
    repositories.remove(TASK)
    tidy_up()
    with pytest.raises(AssertionError):
        git(clone, "cat-file", "-e", sha)
