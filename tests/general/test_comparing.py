"""What work is compared with: there, and right, in every worktree, without a remote."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.general.brief.prompts import render
from kingdom.general.checkouts.repositories import Checkout
from kingdom.general.origin import origin_of
from kingdom.models.task import Task
from kingdom.ops.generals import EXAMPLE
from kingdom.runtime.config import General, load_config
from kingdom.store.paths import BaseDir
from tests.support.git_remotes import ENVIRONMENT, BareRemote, Realm, git, git_server
from tests.support.kingdom import task

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"`(git [^`]+)`")
REPO = "acme/shop"


@pytest.fixture
def realm(scratch: Path) -> Realm:
    made = Realm(scratch)
    made.settings["url"] = f"file://{made.remotes}/{{repo}}.git"  # where depth and filters count
    return made


def changed(checkout: Checkout, base: str) -> list[str]:
    """The files that the work changes, as its soldier sees them."""
    said = git(checkout.path, "diff", f"{base}...HEAD")
    return re.findall(r"^\+\+\+ b/(.*)$", said, re.MULTILINE)


def default(checkout: Checkout) -> str:
    return git(checkout.path, "rev-parse", "--abbrev-ref", "origin/HEAD")


def take_away(remote: BareRemote) -> None:
    """As any remote is to a soldier, which has no login."""
    remote.path.rename(remote.path.with_suffix(".away"))


def history(remote: BareRemote, length: int) -> None:
    """So many commits that change nothing."""
    step = "commit refs/heads/main\ncommitter x <x@example.org> 0 +0000\ndata 4\nstep\n"
    text = step + "from refs/heads/main^0\n" + (length - 1) * step
    git(remote.elsewhere, "fast-import", "--quiet", stdin=text.encode())
    git(remote.elsewhere, "push", "-q", "origin", "main")


# The commands of the shipped prompts


def _cases() -> Iterator[tuple[str, str]]:
    for name, package in load_config(BaseDir(ROOT), {}).generals.items():
        if COMMAND.search(package.prompt):
            yield from ((name, type_) for type_ in package.manifest.subscribes)


def _of_type(package: General, type_: str) -> Task:
    """What its example would become, were it of this type."""
    example = json.loads(Path(package.directory, EXAMPLE).read_text("utf-8"))
    payload = {"number": 7, **example.get("payload", {}), "base_branch": "release"}
    return task(type=type_, payload=payload, target_general=package.name)


@pytest.mark.parametrize(("name", "type_"), list(_cases()))
def test_the_git_commands_of_a_shipped_prompt_work_where_its_soldiers_do(
    realm: Realm, name: str, type_: str
) -> None:
    package = load_config(BaseDir(ROOT), {}).generals[name]
    one, remote = _of_type(package, type_), realm.remote()
    remote.branch_off("release", {"released.txt": "r\n"})
    remote.pull_request(one.payload["number"], {"proposed.txt": "p\n"}, base="release")
    found = realm.repositories().prepare(REPO, one.id, **origin_of(one, lambda _: None).wish())
    take_away(remote)
    prompt = render(package.prompt, one, REPO, found.path, base=found.base)
    for command in COMMAND.findall(prompt):
        done = subprocess.run(
            command, shell=True, cwd=found.path, env=ENVIRONMENT, capture_output=True, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        if "diff" in command:
            said = done.stdout.decode()
            assert re.findall(r"^\+\+\+ b/(.*)$", said, re.MULTILINE) == ["proposed.txt"]


def test_there_is_a_shipped_prompt_with_such_a_command() -> None:
    assert ("gen-pr", "github.pr.review_requested") in set(_cases())


# The default branch


def test_a_pull_request_is_compared_with_the_branch_that_it_is_to_go_into(realm: Realm) -> None:
    remote = realm.remote()
    release = remote.branch_off("release", {"released.txt": "r\n"})
    remote.pull_request(7, {"proposed.txt": "p\n"}, base="release")
    repositories = realm.repositories()
    found = repositories.prepare(REPO, "task-1", pull_request=7, base_branch="release")
    assert found.base == release
    assert changed(found, found.base) == ["proposed.txt"]
    assert default(found) == "origin/main"
    main = remote.refs()["refs/heads/main"]
    for number, gone in enumerate(("was/deleted", "no..name", "", "HEAD")):
        other = repositories.prepare(REPO, f"task-2{number}", pull_request=7, base_branch=gone)
        assert other.base == main
    again = repositories.prepare(REPO, "task-1", pull_request=7, base_branch="release")
    assert again.base == release
    take_away(remote)
    assert repositories.prepare(REPO, "task-1", base_branch="release").base == release


def test_another_default_branch_is_noticed_and_costs_no_request_more(scratch: Path) -> None:
    realm = Realm(scratch, fresh_seconds=0.0)
    remote = realm.remote()
    remote.branch_off("develop", {"d.txt": "d\n"})
    with git_server(realm.remotes) as server:
        realm.settings["url"] = server.url
        repositories = realm.repositories()

        def requests(id_: str, **wish: object) -> tuple[str, int]:
            before = len(server.seen)
            found = repositories.prepare(REPO, id_, **wish)  # type: ignore[arg-type]
            return default(found), len(server.seen) - before

        assert requests("task-1") == ("origin/main", 3)  # who is there, what it has, and that
        assert requests("task-2") == ("origin/main", 2)
        git(remote.path, "symbolic-ref", "HEAD", "refs/heads/develop")
        assert requests("task-3") == ("origin/develop", 2)
        remote.pull_request(7, {"p.txt": "p\n"})
        git(remote.path, "symbolic-ref", "HEAD", "refs/heads/main")
        assert requests("task-4", pull_request=7) == ("origin/main", 3)
        assert repositories.prepare(REPO, "task-5").head == remote.refs()["refs/heads/main"]


def test_of_branches_at_the_same_commit_the_remote_says_which_is_the_default(realm: Realm) -> None:
    remote = realm.remote()
    for name in ("a", "z"):
        git(remote.path, "branch", name, "main")
    git(remote.path, "symbolic-ref", "HEAD", "refs/heads/z")
    repositories = realm.repositories(fresh_seconds=0.0)
    found = repositories.prepare(REPO, "task-1", base_branch="main")
    assert default(found) == "origin/z"
    git(remote.path, "symbolic-ref", "HEAD", "refs/heads/a")
    git(remote.path, "update-ref", "-d", "refs/heads/z")
    assert default(repositories.prepare(REPO, "task-2")) == "origin/a"


def test_a_head_that_names_no_branch_stands_in_the_way_of_nothing_else(realm: Realm) -> None:
    remote = realm.remote()
    sha = remote.pull_request(7, {"p.txt": "p\n"})
    git(remote.path, "symbolic-ref", "HEAD", "refs/heads/nowhere")
    repositories = realm.repositories()
    found = repositories.prepare(REPO, "task-1", pull_request=7, base_branch="main")
    assert (found.head, changed(found, found.base)) == (sha, ["p.txt"])
    assert repositories.prepare(REPO, "task-2", pull_request=7).base == ""


@pytest.mark.parametrize("fresh_seconds", [0.0, 3600.0])
def test_what_a_soldier_makes_of_the_default_branch_counts_for_nobody_else(
    realm: Realm, fresh_seconds: float
) -> None:
    remote = realm.remote()
    repositories = realm.repositories(fresh_seconds=fresh_seconds)
    first = repositories.prepare(REPO, "task-1")
    git(first.path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/kingdom/task-1")
    git(first.path, "update-ref", "refs/kingdom-head/in/the/way", "HEAD")
    git(first.path, "commit", "-q", "--allow-empty", "-m", "mine")
    second = repositories.prepare(REPO, "task-2")
    assert (second.head, default(second)) == (remote.refs()["refs/heads/main"], "origin/main")


# Less than everything


def test_a_shallow_clone_reaches_back_to_where_a_pull_request_began(realm: Realm) -> None:
    remote = realm.remote()
    history(remote, 300)
    remote.pull_request(7, {"p.txt": "p\n"})
    history(remote, 150)
    repositories = realm.repositories(depth=1, fresh_seconds=0.0)
    found = repositories.prepare(REPO, "task-1", pull_request=7, base_branch="main")
    repositories.prepare(REPO, "task-2")  # another one's fetch cuts nothing off
    history(remote, 3)
    repositories.prepare(REPO, "task-3")
    git(remote.path, "update-ref", "-d", "refs/pull/7/head")
    take_away(remote)
    assert changed(found, found.base) == ["p.txt"]
    assert git(found.path, "fsck", "--connectivity-only", "--no-dangling") == ""
    assert int(git(found.path, "rev-list", "--count", found.base)) < 400  # of 451


def test_no_more_history_comes_than_it_takes(realm: Realm) -> None:
    remote = realm.remote()
    history(remote, 200)
    remote.pull_request(7, {"p.txt": "p\n"})
    history(remote, 5)
    found = realm.repositories().prepare(REPO, "task-1", pull_request=7, depth=1)
    assert changed(found, found.base) == ["p.txt"]
    assert int(git(found.path, "rev-list", "--count", "origin/main")) < 100


def test_histories_that_have_nothing_in_common_are_no_reason_to_fail(realm: Realm) -> None:
    remote = realm.remote()
    history(remote, 3)
    git(remote.elsewhere, "checkout", "-q", "--orphan", "alone")
    sha = remote.commit({"p.txt": "p\n"}, branch="alone")
    git(remote.path, "update-ref", "refs/pull/7/head", sha)
    found = realm.repositories().prepare(REPO, "task-1", pull_request=7, depth=1)
    assert (found.head, found.base) == (sha, remote.refs()["refs/heads/main"])


def test_a_partial_clone_has_the_files_of_both_sides(realm: Realm) -> None:
    remote = realm.remote()
    remote.pull_request(7, {"a.txt": "proposed\n", "p.txt": "p\n"})
    remote.commit({"dir/b.txt": "two, later\n", "new.txt": "n\n"})
    repositories = realm.repositories(partial=True, fresh_seconds=0.0)
    found = repositories.prepare(REPO, "task-1", pull_request=7)
    other = repositories.prepare(REPO, "task-2", pull_request=7)
    remote.commit({"dir/b.txt": "two, later still\n"})
    other = repositories.prepare(REPO, "task-2", pull_request=7)
    take_away(remote)
    assert changed(found, found.base) == ["a.txt", "p.txt"]
    for one, said in ((found, "-two, later\n"), (other, "-two, later still\n")):
        assert said in git(one.path, "diff", one.base, "HEAD")


def test_a_clone_may_be_both_shallow_and_partial(realm: Realm) -> None:
    remote = realm.remote()
    remote.pull_request(7, {"a.txt": "proposed\n"})
    history(remote, 20)
    remote.commit({"a.txt": "three\n"})
    found = realm.repositories(partial=True, depth=1).prepare(REPO, "task-1", pull_request=7)
    take_away(remote)
    assert "-one" in git(found.path, "diff", f"{found.base}...HEAD")
    assert "-three" in git(found.path, "diff", found.base, "HEAD")
