"""Whatever lies in a queue: fsck ends, says what it did, and loses nothing."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.ops.fsck.examine import CHECKS, examine
from kingdom.ops.fsck.finding import Finding
from kingdom.ops.fsck.repair import ROUNDS, Repaired, repair
from kingdom.ops.fsck.survey import Survey
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.calls import observed
from tests.support.full_disk import damaged
from tests.support.kingdom import drop

# `{}` is the kind, so that each name is there once. Nobody reads the first ones; they stay.
PASSED_OVER = ("._{}.json", ".{}.json.swp", "{}.json~", "#{}.json#", ".DS_Store-{}", ".gitkeep-{}")
SET_ASIDE = ("{}.json", "{}.txt", "no id {}.json", "{}.json.part", "\udcff{}.json", "x{:x<240}")
QUEUES = ("events/pending", "events/completed", "tasks/in_progress", "messages/dead")


def make_file(path: str) -> None:
    Path(path).write_bytes(b"written to " + os.fsencode(path))


def make_directory(path: str) -> None:
    os.mkdir(path)
    make_file(f"{path}/inside")


def make_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind("short")
    os.rename("short", path)


KINDS: dict[str, Callable[[str], None]] = {
    "file": make_file,
    "directory": make_directory,
    "pipe": os.mkfifo,
    "socket": make_socket,
    "link": lambda path: os.symlink("/etc/passwd", path),
    "dangling": lambda path: os.symlink("/nowhere", path),
}


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def fixed(base: BaseDir) -> list[Repaired]:
    return list(repair(base, lambda: FileBus(base, durable=False)))


def put(base: BaseDir, names: tuple[str, ...]) -> set[str]:
    """Each of these, of each kind, in each queue; they are not new."""
    made = set()
    here = os.getcwd()
    for queue in QUEUES:
        os.chdir(base.path("queue", queue))  # a socket is not bound to a long path
        for kind, make in KINDS.items():
            for name in (pattern.format(kind) for pattern in names):
                make(name)
                os.utime(name, (1, 1), follow_symlinks=False)
                made.add(base.path("queue", queue, name))
    os.chdir(here)
    return made


def contents(base: BaseDir) -> list[bytes]:
    paths = (one for one in Path(base.queue).rglob("*") if one.is_file() and not one.is_symlink())
    found = (path.read_bytes() for path in paths)
    return sorted(one for one in found if one.startswith(b"written to"))


def test_everything_that_is_no_message_has_one_outcome(base: BaseDir) -> None:
    stay, go = put(base, PASSED_OVER), put(base, SET_ASIDE)
    before = contents(base)
    done = fixed(base)
    tried = [(one.finding.check, one.finding.path) for one in done]
    assert len(tried) == len(set(tried)), "none is repaired twice"
    assert not [one.sentence for one in done if one.sentence.startswith("Not repaired")]
    left = examine(base)
    assert {base.path(one.path) for one in left} == stay
    assert all(one.note and one.fix is None for one in left)
    assert {path for path in stay if os.path.lexists(path)} == stay
    there = {path for path in go if os.path.lexists(path)}
    assert {os.path.basename(os.path.dirname(path)) for path in there} <= {"dead"}
    explained = {one for one in Path(base.queue).rglob("*.reason.json") if one.is_file()}
    assert len(explained) == len(go)
    assert contents(base) == before, "nothing is lost"
    assert fixed(base) == [], "and nothing is chased"


def test_a_reason_in_another_queue_explains_nothing_afterwards(base: BaseDir) -> None:
    path = drop(base, "events/completed", "evt-1.json.reason.json", "written to explain evt-1")
    os.utime(path, (1, 1))
    assert len(fixed(base)) == 1
    dead = base.path("queue/events/dead")
    assert sorted(os.listdir(dead)) == [
        "evt-1.json.reason~2.json",
        "evt-1.json.reason~2.json.reason.json",
    ]
    assert contents(base) == [b"written to explain evt-1"]


def test_names_of_temporaries_that_are_directories_stay(base: BaseDir) -> None:
    path = base.path("queue/events/pending/.tmp-mine")
    make_directory(path)
    os.utime(path, (1, 1))
    assert fixed(base) == []
    (note,) = examine(base)
    assert (note.path, note.note) == ("queue/events/pending/.tmp-mine", True)


def test_hidden_files_between_the_directories_are_in_nobodys_way(base: BaseDir) -> None:
    for name in ("queue/.gitignore", "queue/events/.DS_Store", "queue/tasks/notes~"):
        make_file(base.path(name))
    assert fixed(base) == []
    assert [one.note for one in examine(base)] == [True] * 3


def test_links_in_a_circle_are_followed_once(base: BaseDir) -> None:
    for name in ("one", "two", "three"):
        os.symlink("..", base.path("config/local", name))
        os.symlink(base.root, base.path("memory", name))
    assert examine(base) == []


def test_a_file_from_the_future_is_set_aside_as_well(base: BaseDir) -> None:
    path = drop(base, "events/completed", "evt-1.json", "{")
    os.utime(path, (2**33, 2**33))
    assert [one.sentence.partition(" ")[0] for one in fixed(base)] == ["Moved"]


def test_a_strange_file_among_the_journals_stops_nobody(base: BaseDir) -> None:
    make_file(os.path.join(base.bus, "journal", "._0.journal"))
    with closing(FileBus(base, durable=False)) as bus, bus.quiet():
        pass
    assert fixed(base) == []


def test_a_file_that_the_disk_does_not_give_costs_that_file(base: BaseDir) -> None:
    path = drop(base, "events/completed", "evt-1.json", "{}")
    os.utime(path, (1, 1))

    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "open" and str(arguments[0]).endswith("completed/evt-1.json"):
            raise damaged()
        return call()

    with observed(refuse):
        (finding,) = examine(base)
        (done,) = fixed(base)
    assert os.strerror(errno.EIO) in finding.sentence
    assert done.sentence == f"Moved to {base.path('queue/events/dead/evt-1.json')}."


def test_findings_that_come_faster_than_they_are_repaired_do_not_keep_it(
    base: BaseDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0

    def ever_new(survey: Survey) -> Iterator[Finding]:
        yield Finding("reasons", f"x-{made}", "It is new.", "none", make_another)

    def make_another(workshop: object) -> str:
        nonlocal made
        made += 1
        return "Done."

    monkeypatch.setitem(CHECKS, "reasons", ever_new)
    assert len(fixed(base)) == ROUNDS
