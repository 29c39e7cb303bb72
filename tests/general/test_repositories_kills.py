"""Cut off by kill -9 anywhere, and simply run again: nothing is lost, half made, or left behind."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients import programs
from kingdom.clients.git_faults import DiskRefused
from kingdom.runtime.processes import until
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.full_disk import Refusing
from tests.support.git_remotes import Realm, git, kept_files
from tests.support.waiting import let_pass

TASK = "task-1"
SEED = 20260401


@pytest.fixture
def realm(scratch: Path) -> Realm:
    return Realm(scratch)


class KilledAtGit:
    """Ends this process while its n-th git runs: together with it, or the git goes on alone."""

    def __init__(self, point: int, moment: str) -> None:
        self.left = point
        self.moment = moment
        self.delay = random.Random(SEED + point).uniform(0.0, 0.004)

    def install(self) -> None:
        converse = programs.Run._converse

        def observed_converse(run: Any, stdin: bytes) -> None:
            self.left -= 1
            if self.left == 0 and self.moment == "with its git":
                let_pass(self.delay)
                os.killpg(run._process.pid, signal.SIGKILL)
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            converse(run, stdin)

        programs.Run._converse = observed_converse  # type: ignore[method-assign]


def kills_at_git(act: Callable[[], object], points: list[int], moment: str) -> int:
    """How many of these points were reached, each in a process of its own."""
    reached = 0
    for point in points:

        def work(point: int = point) -> None:
            KilledAtGit(point, moment).install()
            act()

        reached += in_child(work) == -signal.SIGKILL
    return reached


def kills_at_disk(act: Callable[[], object], points: list[int], after: bool) -> int:
    reached = 0
    for point in points:

        def work(point: int = point) -> None:
            with observed(Killer(point, after=after, passing_over=CHANGE_NOTHING)):
                act()

        reached += in_child(work) == -signal.SIGKILL
    return reached


def outlived_by_none(realm: Realm) -> bool:
    """A git that goes on alone is done in moments; the next general takes longer to start."""
    place = os.fsencode(realm.root) + b"/"
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if place in Path("/proc", pid, "environ").read_bytes():
                return False
        except OSError:
            continue
    return True


def check_prepared(realm: Realm) -> None:
    """As it would be if nobody had been killed."""
    assert until(lambda: outlived_by_none(realm), 10.0)
    found = realm.repositories().prepare("acme/shop", TASK)
    assert git(found.path, "status", "--porcelain") == ""
    assert found.head == git(realm.remotes / "acme/shop.git", "rev-parse", "main")
    assert Path(found.path, "lib", "lib.txt").read_text() == "lib"
    for clone in realm.clones.glob("*.git"):
        git(clone, "fsck", "--connectivity-only")
        assert len(os.listdir(clone / "kingdom-checkouts")) == 1, clone
        assert len(git(clone, "for-each-ref", "refs/kingdom-borrowed").splitlines()) == 1
        assert not list(clone.rglob("*.lock"))
    realm.repositories().prepare("acme/shop", "task-2")
    assert realm.leftovers() == []


def with_submodule(realm: Realm) -> None:
    realm.remote("acme/library", **{"lib.txt": "lib"})
    remote = realm.remote()
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", "../library.git", "lib")
    git(remote.elsewhere, *words)
    remote.commit({})


def prepare(realm: Realm) -> Callable[[], object]:
    return lambda: realm.repositories().prepare("acme/shop", TASK)


@pytest.mark.parametrize("moment", ["with its git", "alone"])
def test_a_general_killed_while_preparing_prepares_again(realm: Realm, moment: str) -> None:
    with_submodule(realm)
    points = sorted(random.Random(SEED).sample(range(1, 45), 6))
    assert kills_at_git(prepare(realm), points, moment)
    check_prepared(realm)


def test_a_general_killed_at_the_disk_while_preparing_prepares_again(realm: Realm) -> None:
    with_submodule(realm)
    points = sorted(random.Random(SEED + 1).sample(range(1, 110), 6))
    assert kills_at_disk(prepare(realm), points, after=True)
    check_prepared(realm)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["with its git", "alone"])
def test_a_general_killed_at_each_git_while_preparing(scratch: Path, moment: str) -> None:
    for point in range(1, 200):
        realm = Realm(scratch / str(point))
        with_submodule(realm)
        if not kills_at_git(prepare(realm), [point], moment):
            assert point > 20
            return
        check_prepared(realm)
    pytest.fail("it never ended")


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
def test_a_general_killed_at_each_call_to_the_disk_while_preparing(
    scratch: Path, after: bool
) -> None:
    for point in range(1, 400):
        realm = Realm(scratch / str(point))
        with_submodule(realm)
        if not kills_at_disk(prepare(realm), [point], after):
            assert point > 50
            return
        check_prepared(realm)
    pytest.fail("it never ended")


def left_behind(realm: Realm) -> str:
    """A bit of everything; answers the clone."""
    realm.remote()
    found = realm.repositories().prepare("acme/shop", TASK)
    place = Path(found.path)
    (place / "a.txt").write_text("stashed")
    git(place, "stash")
    git(place, "checkout", "-q", "-b", "side")
    (place / "a.txt").write_text("committed")
    git(place, "commit", "-qam", "side")
    (place / "a.txt").write_text("not committed")
    nested = place / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "inside").write_text("inside")
    return found.clone


def check_removed(realm: Realm, clone: str) -> None:
    assert until(lambda: outlived_by_none(realm), 10.0)
    realm.repositories().remove(TASK)
    assert not Path(realm.base.workspace, "gen-pr", TASK, "repo").exists()
    refs = git(clone, "for-each-ref", "--format=%(refname)", f"refs/kingdom/{TASK}").split("\n")
    contents = {text for ref in refs for text in kept_files(clone, ref).values()}
    assert {"stashed", "committed", "not committed", "inside"} <= contents
    assert git(clone, "for-each-ref", "refs/heads", "refs/stash", "refs/kingdom-borrowed") == ""
    assert os.listdir(Path(clone, "kingdom-checkouts")) == []
    git(clone, "fsck", "--connectivity-only")
    realm.repositories().prepare("acme/shop", "task-2")
    assert realm.leftovers() == []


def remove(realm: Realm) -> Callable[[], object]:
    return lambda: realm.repositories().remove(TASK)


def test_a_general_killed_while_removing_loses_nothing(realm: Realm) -> None:
    clone = left_behind(realm)
    points = sorted(random.Random(SEED + 2).sample(range(1, 75), 5))
    assert kills_at_git(remove(realm), points, "with its git")
    points = sorted(random.Random(SEED + 3).sample(range(1, 120), 5))
    kills_at_disk(remove(realm), points, after=True)
    check_removed(realm, clone)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["with its git", "alone"])
def test_a_general_killed_at_each_git_while_removing(scratch: Path, moment: str) -> None:
    for point in range(1, 300):
        realm = Realm(scratch / str(point))
        clone = left_behind(realm)
        reached = kills_at_git(remove(realm), [point], moment)
        check_removed(realm, clone)
        if not reached:
            assert point > 20
            return
    pytest.fail("it never ended")


@pytest.mark.long
def test_a_general_killed_at_each_call_to_the_disk_while_removing(scratch: Path) -> None:
    for point in range(1, 600):
        realm = Realm(scratch / str(point))
        clone = left_behind(realm)
        reached = kills_at_disk(remove(realm), [point], after=True)
        check_removed(realm, clone)
        if not reached:
            assert point > 20
            return
    pytest.fail("it never ended")


@pytest.mark.long
def test_a_general_killed_at_any_moment_by_the_clock(scratch: Path) -> None:
    chance = random.Random(SEED)
    for number in range(60):
        realm = Realm(scratch / str(number))
        with_submodule(realm)
        for _ in range(3):
            child = os.fork()
            if child == 0:
                try:
                    realm.repositories().prepare("acme/shop", TASK)
                finally:
                    os._exit(0)
            let_pass(chance.uniform(0.0, 0.25))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        check_prepared(realm)


def refused(act: Callable[[], object], point: int) -> bool:
    """Whether the disk refused a write, which then was a reason to try later and nothing else."""
    disk = Refusing(point)
    with observed(disk), suppress(DiskRefused):
        act()
    return disk.left <= 0


def test_a_disk_that_refuses_a_write_while_preparing_costs_time_only(realm: Realm) -> None:
    with_submodule(realm)
    for point in sorted(random.Random(SEED).sample(range(1, 80), 5)):
        refused(prepare(realm), point)
    check_prepared(realm)


@pytest.mark.long
def test_a_disk_that_refuses_any_one_write(scratch: Path) -> None:
    for point in range(1, 400):
        realm = Realm(scratch / f"p{point}")
        with_submodule(realm)
        was = refused(prepare(realm), point)
        check_prepared(realm)
        if not was:
            break
    for point in range(1, 400):
        realm = Realm(scratch / f"r{point}")
        clone = left_behind(realm)
        was = refused(remove(realm), point)
        check_removed(realm, clone)
        if not was:
            return
    pytest.fail("it never ended")
