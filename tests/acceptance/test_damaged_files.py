"""Files that a user may not use, or that are none: everything else works on, and each is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from kingdom.store.paths import BaseDir
from kingdom.store.trees import remove_tree
from tests.support.damage import (
    OF_DIRECTORIES,
    OF_FILES,
    Trial,
    copied,
    made,
    representatives,
)

ROOT = os.geteuid() == 0
# One of each kind of file, none of which heals another.
TOGETHER = {
    "logs/events.log": "directory",
    "logs/tasks.log": "fifo",
    "logs/warden.log": "fifo",
    "state/format": "noise",
    "state/sessions.json": "unreadable",
    "state/sessions.lock": "unreadable",
    "state/king/msg-seq": "unreadable",
    "state/king/task-seq": "directory",
    "state/king/lock": "fifo",
    "state/king/buried.json": "link",
    "state/envoy/thread-mappings.json": "half",
    "state/gen-pr/sweep.json": "unreadable",
    "state/gen-pr/lock": "unreadable",
    "state/chamberlain/ledger.json": "noise",
    "state/bus/journal/0.mark": "unreadable",
    "state/bus/lock/events": "unreadable",
}
OF_ROOT = {
    "logs/events.log": "foreign",
    "logs/warden.log": "foreign",
    "state/format": "foreign",
    "state/sessions.json": "foreign",
    "state/sessions.lock": "foreign",
    "state/king/msg-seq": "foreign",
    "state/king/buried.json": "foreign",
    "state/gen-pr/sweep.json": "foreign",
    "state/envoy/lock": "foreign",
    "state/bus/journal/0.journal": "foreign",
    "state/bus/journal/1.mark": "foreign",
    "state/bus/lock/tasks": "foreign",
}
PASSED_OVER = ("README", "config/schema/", "kept.tar.gz", "example.json")


@pytest.fixture(scope="module")
def lived() -> Iterator[BaseDir]:
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    place = mkdtemp(prefix="kingdom-lived-", dir=parent)
    yield made(Path(place, "realm"))
    remove_tree(place)


@pytest.mark.parametrize("running", [False, True], ids=["stopped", "running"])
def test_many_at_once_stop_nothing_and_each_is_named(
    lived: BaseDir, scratch: Path, running: bool
) -> None:
    assert Trial(copied(lived.root, f"{scratch}/realm"), TOGETHER, running=running).run() == []


@pytest.mark.skipif(not ROOT, reason="only root can give a file to another user")
@pytest.mark.parametrize("running", [False, True], ids=["stopped", "running"])
def test_what_became_another_users_stops_nothing(
    lived: BaseDir, scratch: Path, running: bool
) -> None:
    assert Trial(copied(lived.root, f"{scratch}/realm"), OF_ROOT, running=running).run() == []


@pytest.mark.long
@pytest.mark.parametrize("running", [False, True], ids=["stopped", "running"])
@pytest.mark.parametrize("damage", sorted(OF_FILES | OF_DIRECTORIES))
def test_every_kind_of_path_one_at_a_time(
    lived: BaseDir, scratch: Path, damage: str, running: bool
) -> None:
    if damage == "foreign" and not ROOT:
        pytest.skip("only root can give a file to another user")
    faults = {}
    for path in representatives(lived).values():
        known = OF_DIRECTORIES if path.endswith("/") else OF_FILES
        if damage not in known or any(one in path for one in PASSED_OVER):
            continue
        base = copied(lived.root, f"{scratch}/realm")
        if found := Trial(base, {path: damage}, running=running).run():
            faults[path] = found
    assert faults == {}
