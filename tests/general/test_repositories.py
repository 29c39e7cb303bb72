"""A worktree for each task: new, again, from pull requests, with all that repositories have."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kingdom.clients.git import Git
from kingdom.clients.git_faults import (
    DiskRefused,
    GitFailed,
    GitUnreachable,
    RefMissing,
    RepositoryMissing,
)
from kingdom.general.checkouts.filling import LfsMissing
from kingdom.general.checkouts.repositories import Checkout
from kingdom.general.grounds import checkout_of, spelled
from kingdom.runtime.processes import until
from tests.support.git_remotes import BareRemote, Realm, git, git_server, kept_files


@pytest.fixture
def realm(scratch: Path) -> Realm:
    return Realm(scratch)


def text(checkout: Checkout, name: str) -> str:
    return Path(checkout.path, name).read_text("utf-8")


def is_clean(checkout: Checkout) -> bool:
    return git(checkout.path, "status", "--porcelain") == ""


def test_a_task_gets_a_worktree_of_its_own_on_a_branch_of_its_own(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    one = repositories.prepare("acme/shop", "task-20260101-001")
    other = repositories.prepare("acme/shop", "task-20260101-002")
    assert one.path == f"{realm.base.workspace}/gen-pr/task-20260101-001/repo"
    assert (one.branch, other.branch) == (
        "kingdom/task-20260101-001",
        "kingdom/task-20260101-002",
    )
    assert one.head == remote.refs()["refs/heads/main"]
    assert text(one, "dir/b.txt") == "two\n"
    assert is_clean(one)
    assert is_clean(other)
    Path(one.path, "a.txt").write_text("changed")
    git(one.path, "commit", "-qam", "work")  # without anybody telling git who the soldier is
    assert is_clean(other)
    assert text(other, "a.txt") == "one\n"
    assert one.clone == other.clone
    assert realm.leftovers() == []


def test_a_spec_carries_what_a_checkout_borrows_also_one_of_the_version_before(
    realm: Realm,
) -> None:
    realm.remote()
    found = realm.repositories().prepare("acme/shop", "task-1")
    written = json.loads(json.dumps(spelled(found)))
    assert checkout_of(written) == found
    del written["borrows"]
    older = checkout_of(written)
    assert older == replace(found, borrows=())


def test_what_was_pushed_meanwhile_is_there_for_the_next_task(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories(fresh_seconds=0.0)
    repositories.prepare("acme/shop", "task-1")
    sha = remote.commit({"a.txt": "newer\n"})
    found = repositories.prepare("acme/shop", "task-2")
    assert (found.head, text(found, "a.txt")) == (sha, "newer\n")


def test_a_branch_that_made_room_for_branches_below_it_does_not_stop_a_fetch(realm: Realm) -> None:
    remote = realm.remote()
    remote.commit({}, branch="topic")
    repositories = realm.repositories(fresh_seconds=0.0)
    repositories.prepare("acme/shop", "task-1", base_branch="topic")
    git(remote.path, "update-ref", "-d", "refs/heads/topic")
    sha = remote.commit({"a.txt": "below\n"}, branch="topic/below")
    found = repositories.prepare("acme/shop", "task-2", base_branch="topic/below")
    assert found.head == sha
    with pytest.raises(RefMissing, match="no branch topic"):
        repositories.prepare("acme/shop", "task-3", base_branch="topic")


def test_a_default_branch_of_another_name_is_found_also_after_it_was_renamed(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories(fresh_seconds=0.0)
    repositories.prepare("acme/shop", "task-1")
    sha = remote.commit({"a.txt": "trunk\n"}, branch="trunk")
    git(remote.path, "symbolic-ref", "HEAD", "refs/heads/trunk")
    git(remote.path, "update-ref", "-d", "refs/heads/main")
    assert repositories.prepare("acme/shop", "task-2").head == sha


def test_one_fetch_serves_tasks_that_come_together(realm: Realm) -> None:
    realm.remote()

    class Counting(Git):
        fetches = 0

        def run(self, *words: str, **more: object) -> object:  # type: ignore[override]
            Counting.fetches += words[0] == "fetch"
            return super().run(*words, **more)  # type: ignore[arg-type]

    repositories = realm.repositories(Counting(realm.environment), fresh_seconds=60.0)
    for number in range(4):
        repositories.prepare("acme/shop", f"task-{number}")
    assert Counting.fetches == 1  # the clone's own


def test_a_pull_request_stands_at_its_head_and_follows_a_force_push(realm: Realm) -> None:
    remote = realm.remote()
    first = remote.pull_request(7, {"a.txt": "proposal\n"})
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1", pull_request=7, head_sha=first)
    assert (found.head, text(found, "a.txt")) == (first, "proposal\n")
    second = remote.pull_request(7, {"a.txt": "rewritten\n"})
    found = repositories.prepare("acme/shop", "task-2", pull_request=7, head_sha=first)
    assert (found.head, text(found, "a.txt")) == (second, "rewritten\n")
    assert git(found.path, "merge-base", "HEAD", "origin/main") == remote.refs()["refs/heads/main"]


def test_a_pull_request_that_is_gone_is_said_so_or_taken_from_its_commit(realm: Realm) -> None:
    remote = realm.remote()
    sha = remote.pull_request(7, {"a.txt": "proposal\n"})
    git(remote.path, "update-ref", "-d", "refs/pull/7/head")
    git(remote.path, "config", "uploadpack.allowAnySHA1InWant", "true")
    repositories = realm.repositories()
    with pytest.raises(RefMissing, match=r"refs/pull/7/head"):
        repositories.prepare("acme/shop", "task-1", pull_request=7)
    assert repositories.prepare("acme/shop", "task-1", pull_request=7, head_sha=sha).head == sha


def test_an_existing_worktree_is_used_as_it_was_left_also_without_a_network(realm: Realm) -> None:
    remote = realm.remote()
    found = realm.repositories().prepare("acme/shop", "task-1")
    Path(found.path, "a.txt").write_text("half done")
    Path(found.path, "new.txt").write_text("new")
    git(found.path, "checkout", "-q", "-b", "elsewhere")
    remote.path.rename(remote.path.with_name("gone"))
    again = realm.repositories().prepare("acme/shop", "task-1", head_sha=None)
    assert (again.path, again.branch) == (found.path, "elsewhere")
    assert (text(again, "a.txt"), text(again, "new.txt")) == ("half done", "new")


@pytest.mark.parametrize(
    "damage",
    ["git gone", "git a file", "git a link", "objects a link", "packed refs a directory",
     "index cut", "HEAD nonsense", "a file", "a link"],
)  # fmt: skip
def test_a_broken_worktree_is_moved_aside_with_all_that_is_in_it(realm: Realm, damage: str) -> None:
    realm.remote()
    found = realm.repositories().prepare("acme/shop", "task-1")
    place, own = Path(found.path), Path(found.path, ".git")
    elsewhere = realm.root / "elsewhere"
    (place / "mine.txt").write_text("mine")
    match damage:
        case "git gone":
            shutil.rmtree(own)
        case "git a file":
            shutil.rmtree(own)
            own.write_text("gitdir: /etc\n")
        case "git a link" | "objects a link":
            moved = own if damage == "git a link" else own / "objects"
            moved.rename(elsewhere)
            moved.symlink_to(elsewhere)
        case "packed refs a directory":
            (own / "packed-refs").unlink()
            (own / "packed-refs").mkdir()
        case "index cut":
            os.truncate(own / "index", 20)
        case "HEAD nonsense":
            (own / "HEAD").write_text("what?\n")
        case "a file":
            shutil.rmtree(place)
            place.write_text("mine")
        case "a link":
            place.rename(elsewhere)
            place.symlink_to(elsewhere)
    before = _listing(elsewhere)
    again = realm.repositories().prepare("acme/shop", "task-1")
    assert again.path == found.path
    assert is_clean(again)
    assert _listing(elsewhere) == before
    aside = place.with_name("repo.broken-1")
    assert (aside if damage == "a file" else aside / "mine.txt").read_text() == "mine"
    assert [facts.path for facts in realm.repositories().survey().aside] == [str(aside)]


def _listing(place: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in place.rglob("*"))


def test_locks_of_a_git_that_was_killed_do_not_stop_the_next_one(realm: Realm) -> None:
    realm.remote()
    found = realm.repositories().prepare("acme/shop", "task-1")
    long_ago = 1_000_000_000
    stale = ["packed-refs.lock", "config.lock", "refs/remotes/origin/main.lock"]
    for name in stale:
        path = Path(found.clone, name)
        path.touch()
        os.utime(path, (long_ago, long_ago))
    Path(found.path, ".git/index.lock").touch()
    realm.repositories().prepare("acme/shop", "task-2")
    again = realm.repositories().prepare("acme/shop", "task-1")
    git(again.path, "add", "-A")
    assert [name for name in stale if Path(found.clone, name).exists()] == []


def test_the_branch_of_a_worktree_that_was_moved_aside_is_not_used_again(realm: Realm) -> None:
    realm.remote()
    repositories = realm.repositories()
    first = repositories.prepare("acme/shop", "task-1")
    Path(first.path, ".git/index").unlink()
    again = repositories.prepare("acme/shop", "task-1")
    assert (first.branch, again.branch) == ("kingdom/task-1", "kingdom/task-1-2")
    assert git(f"{first.path}.broken-1", "rev-parse", "HEAD") == first.head  # it still borrows


def test_what_was_kept_of_a_worktree_that_someone_deleted_stays(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    Path(found.path, "a.txt").write_text("work")
    git(found.path, "commit", "-qam", "work")
    tip = git(found.path, "rev-parse", "HEAD")
    repositories.keep("task-1")
    shutil.rmtree(found.path)
    again = realm.repositories().prepare("acme/shop", "task-1")
    assert again.head == remote.refs()["refs/heads/main"]
    assert again.branch == "kingdom/task-1"
    kept = git(again.clone, "for-each-ref", "--format=%(objectname)", "refs/kingdom/task-1")
    assert tip in kept.split()


@pytest.mark.parametrize("damage", ["object", "pack", "HEAD", "config", "refs gone"])
def test_a_clone_that_cannot_be_read_is_made_anew(realm: Realm, damage: str) -> None:
    remote = realm.remote()
    found = realm.repositories().prepare("acme/shop", "task-1")
    clone = Path(found.clone)
    match damage:
        case "object":
            for path in _objects(clone):
                path.chmod(0o600)
                path.write_bytes(b"")
        case "pack":
            git(clone, "repack", "-adq")
            for path in (clone / "objects" / "pack").glob("*.pack"):
                path.chmod(0o600)
                os.truncate(path, 40)
        case "HEAD":
            (clone / "HEAD").write_bytes(b"\0\0\0")
        case "config":
            (clone / "config").write_text("[core\nwhat")
        case "refs gone":
            shutil.rmtree(clone / "refs")
    again = realm.repositories().prepare("acme/shop", "task-2")
    assert again.head == remote.refs()["refs/heads/main"]
    assert is_clean(again)
    if damage not in ("config", "pack"):  # which are mended by writing and fetching again
        assert again.clone != found.clone  # the first stays: a worktree hangs on it
        assert Path(found.path, "a.txt").exists()


def _objects(clone: Path) -> list[Path]:
    return [path for path in (clone / "objects").rglob("*") if path.is_file()]


def test_a_broken_clone_without_anything_private_is_gone_once_nobody_uses_it(realm: Realm) -> None:
    realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    repositories.remove("task-1")
    (Path(found.clone) / "HEAD").write_bytes(b"\0")
    repositories.prepare("acme/shop", "task-2")
    assert [one.is_broken for one in repositories.survey().clones] == [False]


def test_a_half_made_clone_is_never_used(realm: Realm) -> None:
    remote = realm.remote()
    hidden = remote.path.with_name("hidden.git")
    remote.path.rename(hidden)
    with pytest.raises(RepositoryMissing):
        realm.repositories().prepare("acme/shop", "task-1")
    assert not [path for path in realm.clones.iterdir() if path.suffix == ".git"]
    hidden.rename(remote.path)
    assert is_clean(realm.repositories().prepare("acme/shop", "task-1"))


def test_an_empty_repository_is_said_to_be_empty(realm: Realm) -> None:
    BareRemote(realm.remotes / "acme/empty.git")
    with pytest.raises(RefMissing, match="it is empty"):
        realm.repositories().prepare("acme/empty", "task-1")


def test_many_tasks_at_once_share_a_clone_and_nothing_else(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories(fresh_seconds=0.0)
    found: list[Checkout] = []
    failed: list[BaseException] = []

    def one(number: int) -> None:
        try:
            made = repositories.prepare("acme/shop", f"task-{number}")
            Path(made.path, "a.txt").write_text(f"work of {number}")
            repositories.keep(f"task-{number}")
            found.append(made)
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert {checkout.clone for checkout in found} == {found[0].clone}
    assert {checkout.head for checkout in found} == {remote.refs()["refs/heads/main"]}
    for number in range(6):
        kept = kept_files(found[0].clone, f"refs/kingdom/task-{number}/uncommitted")
        assert kept["a.txt"] == f"work of {number}"


def test_submodules_are_there_with_submodules_of_their_own(realm: Realm) -> None:
    inner = realm.remote("acme/inner", **{"deep.txt": "deep"})
    library = realm.remote("acme/library", **{"lib.txt": "lib"})
    _add_submodule(library, "../inner.git", "vendor/inner")
    remote = realm.remote()
    _add_submodule(remote, str(library.path), "vendor/my library")
    found = realm.repositories().prepare("acme/shop", "task-1")
    assert text(found, "vendor/my library/lib.txt") == "lib"
    assert text(found, "vendor/my library/vendor/inner/deep.txt") == "deep"
    assert is_clean(found)
    assert "+" not in git(found.path, "submodule", "status", "--recursive")
    # Its pinned commit stays when the submodule goes on; what a soldier does in it is kept.
    inner.commit({"deep.txt": "deeper"})
    place = Path(found.path, "vendor/my library")
    (place / "lib.txt").write_text("changed")
    git(place, "commit", "-qam", "in the library")
    (place / "new.txt").write_text("new")
    kept = realm.repositories().remove("task-1")
    assert [name for name in kept if "uncommitted" in name and "acme-library" in name]
    (clone,) = realm.clones.glob("acme-library-*.git")
    saved = kept_files(str(clone), "refs/kingdom/task-1/uncommitted")
    assert (saved["lib.txt"], saved["new.txt"]) == ("changed", "new")
    assert not Path(found.path).exists()
    assert git(clone, "worktree", "list").count("\n") == 0


def _add_submodule(remote: BareRemote, url: str, path: str) -> None:
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--", url, path)
    git(remote.elsewhere, *words)
    remote.commit({})


def test_submodules_can_be_left_out(realm: Realm) -> None:
    library = realm.remote("acme/library")
    remote = realm.remote()
    _add_submodule(remote, str(library.path), "vendor/library")
    found = realm.repositories().prepare("acme/shop", "task-1", submodules=False)
    assert os.listdir(Path(found.path, "vendor/library")) == []


def test_a_shallow_clone_has_no_more_history_than_asked_for(realm: Realm) -> None:
    remote = realm.remote()
    for number in range(5):
        remote.commit({"a.txt": f"{number}\n"})
    realm.settings["url"] = f"file://{realm.remotes}/{{repo}}.git"
    repositories = realm.repositories(fresh_seconds=0.0)
    found = repositories.prepare("acme/shop", "task-1", depth=2)
    assert git(found.path, "rev-list", "--count", "HEAD") == "2"
    sha = remote.commit({"a.txt": "more\n"})
    found = repositories.prepare("acme/shop", "task-2", depth=2)
    assert found.head == sha
    Path(found.path, "a.txt").write_text("mine")
    git(found.path, "commit", "-qam", "mine")
    pushed = repositories.push(found, "mine")
    assert remote.refs()["refs/heads/mine"] == pushed


def test_a_partial_clone_fetches_what_it_needs(realm: Realm) -> None:
    remote = realm.remote()
    remote.commit({"a.txt": "newer\n", "dir/c.txt": "c"})
    realm.settings["url"] = f"file://{realm.remotes}/{{repo}}.git"
    found = realm.repositories().prepare("acme/shop", "task-1", partial=True)
    assert text(found, "a.txt") == "newer\n"
    missing = git(found.clone, "rev-list", "--objects", "--all", "--missing=print")
    assert "?" in missing  # the older a.txt was never fetched
    assert realm.repositories().keep("task-1") == []


def test_large_files_without_git_lfs_are_a_clear_sentence(realm: Realm) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    realm.remote(**{".gitattributes": "*.bin filter=lfs -text\n", "big.bin": pointer})
    bare = realm.root / "bin"
    bare.mkdir()
    for name in ("git", "sh"):
        (bare / name).symlink_to(shutil.which(name) or "")
    realm.environment["PATH"] = str(bare)
    with pytest.raises(LfsMissing, match="git-lfs, which is not installed") as caught:
        realm.repositories().prepare("acme/shop", "task-1")
    assert "apt-get install git-lfs" in caught.value.remedy
    found = realm.repositories(lfs=False).prepare("acme/shop", "task-1")
    assert text(found, "big.bin") == pointer


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_large_files_come_and_go_with_git_lfs(realm: Realm) -> None:
    attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
    content = "large content"
    hashed = hashlib.sha256(content.encode()).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashed}\nsize 13\n"
    elsewhere = "[lfs]\n\turl = http://127.0.0.1:1/\n\tpushurl = http://127.0.0.1:1/\n"
    first = {".gitattributes": attributes, "big.bin": pointer, ".lfsconfig": elsewhere}
    remote = realm.remote(**first)
    remote.pull_request(7, {"a.txt": "x"})
    with git_server(realm.remotes, "token-for-large-files") as server:
        server.large[hashed] = content.encode()
        realm.settings["url"] = server.url
        realm.environment["GH_TOKEN"] = server.token
        repositories = realm.repositories()
        found = repositories.prepare("acme/shop", "task-1")
        assert text(found, "big.bin") == content
        assert is_clean(found)
        assert repositories.keep("task-1") == []
        assert f"{found.clone}/lfs" in found.borrows
        Path(found.path, "big.bin").unlink()
        git(found.path, "checkout", "big.bin")  # from what it borrows
        assert text(found, "big.bin") == content
        Path(found.path, "other.bin").write_text("another large one")
        git(found.path, "add", "-A")
        git(found.path, "commit", "-qm", "large")
        repositories.push(found, "large")
        outside = repositories.prepare("acme/shop", "task-2", pull_request=7, trusted=False)
        assert text(outside, "big.bin") == pointer
        assert is_clean(outside)
        assert repositories.keep("task-2") == []
    assert b"another large one" in server.large.values()
    assert "git-lfs" in git(remote.path, "cat-file", "blob", "large:other.bin")


def test_large_files_come_from_the_repository_s_own_host(realm: Realm) -> None:
    remote = realm.remote(**{"a.txt": "x", ".lfsconfig": "[lfs]\n\turl = https://elsewhere/\n"})
    remote.pull_request(7, {"b.txt": "x"})
    with git_server(realm.remotes) as server:
        realm.settings["url"] = server.url
        repositories = realm.repositories()
        Path(repositories.prepare("acme/shop", "task-1").clone, "lfs").mkdir()
        member = repositories.prepare("acme/shop", "task-2")
        outside = repositories.prepare("acme/shop", "task-3", pull_request=7, trusted=False)
    own = f"{server.url.replace('{repo}', 'acme/shop')}/info/lfs"
    for key in ("lfs.url", "lfs.pushurl"):
        assert git(member.path, "config", key) == own
    assert "lfs" not in Path(outside.path, ".git/config").read_text()


def test_a_deadline_ends_git_and_all_that_it_started(realm: Realm) -> None:
    realm.remote()
    slow = realm.root / "bin"
    slow.mkdir()
    program = slow / "git-upload-pack"
    program.write_text("#!/bin/sh\nsleep 1000 & wait\n")
    program.chmod(0o755)
    (slow / "git").write_text(f'#!/bin/sh\ncase "$1" in fetch) "{program}";; esac\n'
                              f'exec {shutil.which("git")} "$@"\n')  # fmt: skip
    (slow / "git").chmod(0o755)
    realm.environment["PATH"] = f"{slow}:{realm.environment['PATH']}"
    with pytest.raises(GitUnreachable, match=r"took longer than 0\.5 seconds"):
        realm.repositories(timeout_seconds=0.5).prepare("acme/shop", "task-1")
    assert until(lambda: not any(str(program) in line for line in _command_lines()), 5.0)


def _command_lines() -> list[str]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            found.append(Path("/proc", pid, "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_a_disk_that_refuses_is_a_reason_to_try_later(realm: Realm) -> None:
    realm.remote()
    place = Path(realm.base.workspace, "gen-pr")
    place.mkdir(parents=True)
    (place / ".clones").write_text("in the way")
    with pytest.raises(DiskRefused):
        realm.repositories().prepare("acme/shop", "task-1")
    (place / ".clones").unlink()
    realm.repositories().prepare("acme/shop", "task-1")


def test_a_git_that_cannot_be_started_is_said_so(realm: Realm) -> None:
    realm.remote()
    bad = realm.root / "bin"
    bad.mkdir()
    (bad / "git").write_text("#!/nonexistent/interpreter\n")
    (bad / "git").chmod(0o755)
    realm.environment["PATH"] = str(bad)
    with pytest.raises(GitFailed, match="could not be started"):
        realm.repositories().prepare("acme/shop", "task-1")


def test_clones_that_nobody_uses_are_named_and_can_go(realm: Realm) -> None:
    realm.remote()
    realm.remote("acme/other")
    repositories = realm.repositories()
    repositories.prepare("acme/shop", "task-1")
    other = repositories.prepare("acme/other", "task-2")
    Path(other.path, "a.txt").write_text("kept")
    repositories.remove("task-2")
    repositories.remove("task-1")
    shop, rest = sorted(repositories.survey().clones, key=lambda one: not one.is_unused)
    assert (shop.is_unused, rest.is_unused) == (True, False)
    assert rest.size > 0
    assert rest.last_used > 0
    assert [ref.name for ref in rest.kept] == ["refs/kingdom/task-2/uncommitted"]
    assert rest.kept[0].made > 0
    assert repositories.discard(shop.path)
    assert not repositories.discard(rest.path)
    repositories.forget_kept(rest.kept[0], rest.path)
    assert repositories.discard(rest.path)
    assert repositories.survey().clones == ()
