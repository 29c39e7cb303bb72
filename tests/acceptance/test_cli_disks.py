"""A kingdom on two file systems, on two mounts of one, or on one that is read-only: whoever asks is
told, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.runtime.processes import Seat
from kingdom.store.disk import exchange
from kingdom.store.paths import BaseDir
from kingdom.store.room import disk_problem, on_other_disks
from tests.support.cli import kingdom, one_sentence, undisturbed
from tests.support.kingdom import counts
from tests.support.own_mounts import in_own_mounts, mount
from tests.support.puppets import ended_afterwards

APART = "is on another file system than the rest of queue/ and state/"
READ_ONLY = "is on a read-only file system."


@pytest.fixture
def realm(scratch: Path) -> Iterator[BaseDir]:
    base = BaseDir(scratch / "realm")
    init(base)
    Path(base.path("config/local/system.yaml")).write_text("runtime: {engine: rehearsal}\n")
    undisturbed(base.root)
    with ended_afterwards(base):
        yield base


@pytest.fixture
def other_disk(scratch: Path, tmp_path: Path) -> Path:
    if os.stat(tmp_path).st_dev == os.stat(scratch).st_dev:
        pytest.skip("needs two file systems: /dev/shm and that of TMPDIR are one")
    return tmp_path


def move_away(base: BaseDir, name: str, disk: Path) -> None:
    """To the other disk, with a link in its place; whoever runs there never finds it missing."""
    target, link = disk / name.replace("/", "-"), f"{base.root}-link"
    shutil.copytree(base.path(name), target, symlinks=True)
    os.symlink(target, link)
    exchange(link, base.path(name))
    shutil.rmtree(link)


def told(base: BaseDir) -> list[str]:
    """What each command that looks says about the disk."""
    status = json.loads(kingdom("status", "--json", base=base).out)
    checks = json.loads(kingdom("doctor", "--json", base=base).out)["checks"]
    findings = json.loads(kingdom("fsck", "--json", base=base).out)["findings"]
    doctor = [one for one in checks if one["what"] == "disk" and one["state"] == "problem"]
    fsck = [one for one in findings if one["check"] == "file_system"]
    assert status["files"] == [], "the disk is to blame, and nothing else"
    assert {one["what"] for one in checks if one["state"] == "problem"} == {"disk"}
    assert not {one["check"] for one in findings} & {"rights", "files"}
    return [
        status["disk_problem"],
        *(f"{one['sentence']} {one['remedy']}" for one in doctor),
        *(f"{base.path(one['path'])} {one['sentence']} {one['repair']}" for one in fsck),
    ]


@pytest.mark.parametrize(
    ("moved", "found"),
    [
        (["queue"], ["queue"]),
        (["state"], ["state"]),
        (["queue/events"], ["queue/events"]),
        (["queue/tasks/dead", "queue/messages/sent"], ["queue/tasks/dead", "queue/messages/sent"]),
        (["state/results"], ["state/results"]),
        (["state/bus/attic"], ["state/bus/attic"]),
        (["queue", "state"], []),  # together
        (["logs", "memory", "workspace", "config", "queue/inbox"], []),  # nothing moves there
    ],
)
def test_what_lies_apart_is_named_at_its_top(
    realm: BaseDir, other_disk: Path, moved: list[str], found: list[str]
) -> None:
    for name in moved:
        move_away(realm, name, other_disk)
    assert on_other_disks(realm) == [realm.path(name) for name in found]
    problem = disk_problem(realm)
    assert (problem is not None) == bool(found)


def test_nothing_starts_on_two_disks_and_the_remedy_helps(realm: BaseDir, other_disk: Path) -> None:
    assert kingdom("start", "--roles", "envoy", base=realm).code == 0
    kingdom("send", "nobody.wants", "--id", "evt-0", base=realm)
    move_away(realm, "queue", other_disk)
    refused = one_sentence(kingdom("restart", base=realm), 1)
    assert refused.startswith(f"{realm.queue} {APART}")
    assert kingdom("stop", base=realm).out != "", "what could not start again was not stopped"
    assert one_sentence(kingdom("start", base=realm), 1) == refused
    assert one_sentence(kingdom("start", "--foreground", base=realm), 1) == refused
    sent = one_sentence(kingdom("send", "nobody.wants", "--id", "evt-1", base=realm), 1)
    assert sent.startswith("Recorded, but the queue could not be changed")
    said = told(realm)
    assert len(said) == 3
    assert APART in kingdom("why", "evt-0", base=realm).out
    assert all(APART in one and one.endswith(refused.partition(": ")[2]) for one in said)
    fixing = kingdom("fsck", "--fix", base=realm)
    assert fixing.code == 1
    assert any("--fix did not help: Not repaired" in line for line in fixing.lines)
    command = refused.partition("kingdom stop && ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    assert kingdom("start", "--roles", "king", base=realm).code == 0
    assert sum(counts(realm).values()) == 2, "what was recorded meanwhile has appeared"
    assert kingdom("fsck", base=realm).code == 0


def test_two_mounts_of_one_disk_are_two_disks(realm: BaseDir, scratch: Path) -> None:
    def work() -> None:
        shutil.copytree(realm.path("queue/events"), scratch / "events")
        mount("--bind", str(scratch / "events"), realm.path("queue/events"))
        refused = one_sentence(kingdom("start", base=realm), 1)
        assert refused.startswith(f"{realm.path('queue/events')} {APART}")
        steps = refused.partition("kingdom stop && ")[2]
        subprocess.run(["sh", "-c", steps], check=True)
        assert disk_problem(realm) is None
        assert os.path.isdir(realm.path("queue/events/pending"))

    in_own_mounts(work)


@pytest.mark.parametrize("name", ["", "queue/messages"])
def test_a_read_only_disk_is_told_as_such(realm: BaseDir, name: str) -> None:
    def work() -> None:
        place = realm.path(name) if name else realm.root
        seat = Seat(realm, "king").take()  # which runs
        mount("--bind", place, place)
        mount("-o", "remount,bind,ro", place)
        refused = one_sentence(kingdom("start", base=realm), 1)
        assert (READ_ONLY if not name else APART) in refused
        assert "king" in kingdom("status", base=realm).out
        seat.close()
        said = told(realm)
        assert any(READ_ONLY in one and f"remount,rw {place}" in one for one in said)

    in_own_mounts(work)
