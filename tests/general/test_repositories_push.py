"""A push says what the remote has now, however often it is made; nobody is overwritten unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kingdom.clients.git_faults import PushRejected, RefMissing
from kingdom.general.checkouts.repositories import Checkout
from tests.support.git_remotes import Realm, git


@pytest.fixture
def realm(scratch: Path) -> Realm:
    return Realm(scratch)


def committed(checkout: Checkout, text: str) -> str:
    Path(checkout.path, "a.txt").write_text(text)
    git(checkout.path, "commit", "-qam", text)
    return git(checkout.path, "rev-parse", "HEAD")


def test_a_push_can_be_made_again_and_again(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    sha = committed(found, "work")
    assert [repositories.push(found, "topic") for _ in range(3)] == [sha] * 3
    assert remote.refs()["refs/heads/topic"] == sha
    again = realm.repositories()  # a general that was started anew, and knows only names
    checkout = again.find("acme/shop", "task-1")
    assert checkout is not None
    assert again.push(checkout, "topic", force_with_lease=True) == sha
    assert again.remove("task-1") == []


def test_what_the_soldier_has_checked_out_is_what_is_pushed_or_what_is_named(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    first = committed(found, "first")
    git(found.path, "checkout", "-q", "-b", "another")
    second = committed(found, "second")
    assert repositories.push(found, "topic") == second
    assert repositories.push(found, "older", source=found.branch) == first
    assert remote.refs()["refs/heads/older"] == first
    with pytest.raises(RefMissing):
        repositories.push(found, "topic", source="no-such")


@pytest.mark.parametrize("lease", [False, True])
def test_what_others_pushed_meanwhile_is_not_overwritten(realm: Realm, lease: bool) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    theirs = remote.commit({"a.txt": "theirs"}, branch="topic")
    committed(found, "ours")
    with pytest.raises(PushRejected, match="does not take the push to topic"):
        repositories.push(found, "topic", force_with_lease=lease)
    assert remote.refs()["refs/heads/topic"] == theirs
    assert repositories.keep("task-1") == ["refs/kingdom/task-1/branch/kingdom--task-1"]


def test_a_lease_overwrites_what_the_last_fetch_saw(realm: Realm) -> None:
    remote = realm.remote()
    remote.commit({"a.txt": "theirs"}, branch="topic")
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    ours = committed(found, "ours")
    assert repositories.push(found, "topic", force_with_lease=True) == ours
    git(found.path, "commit", "-q", "--amend", "-m", "otherwise")
    amended = git(found.path, "rev-parse", "HEAD")
    assert repositories.push(found, "topic", force_with_lease=True) == amended
    assert remote.refs()["refs/heads/topic"] == amended


def test_a_remote_that_declines_is_quoted(realm: Realm) -> None:
    remote = realm.remote()
    hook = remote.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    committed(found, "work")
    with pytest.raises(PushRejected, match="pre-receive hook declined"):
        repositories.push(found, "topic")


NO_BRANCHES = ("", "-f", "--mirror", "a..b", "a b", "x:refs/heads/main", "HEAD", "a.lock", "/a",
               "a/", "refs\nx", "@{u}")  # fmt: skip


def test_names_that_are_no_branch_go_nowhere(realm: Realm) -> None:
    remote = realm.remote()
    repositories = realm.repositories()
    found = repositories.prepare("acme/shop", "task-1")
    before = remote.refs()
    for name in NO_BRANCHES:
        with pytest.raises(RefMissing):
            repositories.push(found, name)
    assert remote.refs() == before
    repositories.push(found, "+main")  # an odd name, and nothing else
    assert remote.refs() == before | {"refs/heads/+main": found.head}
