"""Work of people below member: what of it lies on disk, and what of it an agent reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kingdom.failures import FAILURES
from kingdom.general.checkouts.committed import CheckoutTooLarge, _stays_inside
from kingdom.general.checkouts.repositories import Checkout
from kingdom.general.checkouts.steering import is_steering
from tests.support.git_remotes import BareRemote, Realm, git, kept_files

BASE = {
    "CLAUDE.md": "base", ".claude/settings.json": "base", "GEMINI.md": "base", "a.txt": "one\n",
    "sub/AGENTS.md": "base", "docs/guide.md": "base", "same/CLAUDE.md": "same",
}  # fmt: skip
PROPOSED: dict[str, str | bytes | None] = {
    "CLAUDE.md": "forked", "GEMINI.md": None, "lib/claude.MD": "forked", ".mcp.json": "forked",
    "docs/guide.md": "forked", "sub/.Cursor/rules/x.md": "forked", "sub/AGENTS.md": None,
    ".claude/settings.json": None, ".github/Copilot-Instructions.md": "forked", "a.txt": "two\n",
}  # fmt: skip


@pytest.fixture
def realm(scratch: Path) -> Realm:
    return Realm(scratch)


def outside(realm: Realm, task: str = "task-1", **settings: Any) -> Checkout:
    repositories = realm.repositories(**settings)
    return repositories.prepare("acme/shop", task, pull_request=7, trusted=False)


def files(place: str) -> dict[str, str]:
    found = {}
    for at, _, names in os.walk(place):
        for path in (Path(at, name) for name in names if "/.git/" not in f"{at}/"):
            is_link = path.is_symlink()
            found[str(path.relative_to(place))] = "a link" if is_link else path.read_text()
    return found


def proposal(remote: BareRemote) -> None:
    (remote.elsewhere / "AGENTS.md").symlink_to("docs/guide.md")
    remote.commit({})
    git(remote.elsewhere, "checkout", "-q", "--detach", "origin/main")
    remote.write(PROPOSED)
    (remote.elsewhere / ".claude").rmdir()
    (remote.elsewhere / ".claude").write_text("forked")
    git(remote.elsewhere, "add", "-A")
    git(remote.elsewhere, "commit", "-qm", "x")
    git(remote.elsewhere, "push", "-q", "origin", "HEAD:refs/pull/7/head")


def test_what_steers_an_agent_comes_from_the_base_branch(realm: Realm) -> None:
    remote = realm.remote(**BASE)
    proposal(remote)
    found = outside(realm)
    lying = files(found.path)
    assert {path: text for path, text in lying.items() if is_steering(path.encode())} == {
        "CLAUDE.md": "base", ".claude/settings.json": "base", "GEMINI.md": "base",
        "sub/AGENTS.md": "base", "same/CLAUDE.md": "same", "AGENTS.md": "base",
    }  # fmt: skip
    assert lying["a.txt"] == "two\n"
    assert git(found.path, "status", "--porcelain") == ""
    reviewed = git(found.path, "diff", "--name-only", f"{found.base}...HEAD").split("\n")
    assert set(PROPOSED) | {".claude"} == set(reviewed)
    repositories = realm.repositories()
    assert repositories.keep("task-1") == []
    # A soldier's commit has what was proposed, and what the soldier did.
    Path(found.path, "a.txt").write_text("three\n")
    git(found.path, "commit", "-qam", "work")
    sha = repositories.push(found, "topic")
    changed = git(remote.path, "diff", "--name-only", found.head, sha)
    assert changed == "a.txt"
    again = repositories.prepare("acme/shop", "task-1", pull_request=7, trusted=False)
    assert git(again.path, "status", "--porcelain") == ""
    assert repositories.keep("task-1") == []
    Path(found.path, "CLAUDE.md").write_text("a soldier's")
    Path(found.path, ".git/index").unlink()  # nothing that the soldier could change decides it
    (kept,) = repositories.remove("task-1")
    assert git(found.clone, "diff", "--name-only", f"{kept}^1", kept) == "CLAUDE.md"
    assert kept_files(found.clone, kept)["CLAUDE.md"] == "a soldier's"


def test_a_link_that_steers_is_what_it_led_to_in_the_base(realm: Realm) -> None:
    remote = realm.remote(**BASE)
    (remote.elsewhere / "AGENTS.md").symlink_to("docs/guide.md")
    remote.commit({})
    remote.pull_request(7, {"AGENTS.md": None, "docs/guide.md": "forked"})
    found = outside(realm)
    assert Path(found.path, "AGENTS.md").read_text() == "base"
    assert not Path(found.path, "AGENTS.md").is_symlink()
    assert git(found.path, "status", "--porcelain") == ""
    member = realm.repositories().prepare("acme/shop", "task-2", pull_request=7)
    assert not Path(member.path, "AGENTS.md").exists()


@pytest.mark.parametrize(
    ("target", "plain"), [("/etc/passwd", True), ("dir/b.txt", False)], ids=["out", "within"]
)
def test_links_that_lead_out_are_files(realm: Realm, target: str, plain: bool) -> None:
    remote = realm.remote()
    (remote.elsewhere / "link").symlink_to(target)
    remote.pull_request(7, {})
    found = outside(realm)
    link = Path(found.path, "link")
    assert link.is_symlink() is not plain
    assert not plain or link.read_text() == target
    assert git(found.path, "status", "--porcelain") == ""
    assert realm.repositories().keep("task-1") == []
    member = realm.repositories().prepare("acme/shop", "task-2", pull_request=7)
    assert Path(member.path, "link").is_symlink()


@pytest.mark.parametrize(
    ("path", "target", "stays"),
    [
        ("a", "b", True), ("a/b", "../c", True), ("a/b", "./../c/./d", True), ("a", "", True),
        ("a", "/b", False), ("a", "../b", False), ("a/b", "../../c", False),
        ("a", "x/y/../../z", False), ("a/b", "..", True), ("a", "..", False), ("a", "b//c", True),
    ],
)  # fmt: skip
def test_where_a_link_leads(path: str, target: str, stays: bool) -> None:
    assert _stays_inside(path.encode(), target.encode()) is stays


def test_a_small_pull_request_does_not_become_a_large_checkout(realm: Realm) -> None:
    remote = realm.remote()
    place = remote.elsewhere
    blob = git(place, "hash-object", "-w", "--stdin", stdin=b"\0" * 1024 * 1024)
    many = "".join(f"100644 blob {blob}\t{number}\n" for number in range(50))
    empty = git(place, "hash-object", "-w", "--stdin")
    bomb = git(place, "mktree", stdin=f"100644 blob {empty}\tx\n".encode())
    for _ in range(12):  # a billion of files
        entries = "".join(f"040000 tree {bomb}\t{letter}\n" for letter in "abcdef")
        bomb = git(place, "mktree", stdin=entries.encode())
    trees = {"mb": git(place, "mktree", stdin=many.encode()), "files": bomb}
    for setting, tree in trees.items():
        sha = git(place, "commit-tree", tree, "-m", "x")
        git(place, "push", "-qf", "origin", f"{sha}:refs/pull/7/head")
        limits = {"max_outside_checkout_mb": 40, "max_outside_checkout_files": 1000}
        with pytest.raises(CheckoutTooLarge, match=f"git.max_outside_checkout_{setting}") as caught:
            outside(realm, "task-1", **limits)
        assert caught.value.code in FAILURES
        assert list(Path(realm.base.workspace, "gen-pr", "task-1").iterdir()) == []
        assert realm.leftovers() == []
    with pytest.raises(CheckoutTooLarge, match=r"git\.max_checkout_files"):
        realm.repositories().prepare("acme/shop", "task-2", pull_request=7)
    assert realm.repositories(max_checkout_mb=1).prepare("acme/shop", "task-3").head
