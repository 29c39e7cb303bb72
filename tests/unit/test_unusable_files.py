"""What the store does about files that somebody removed, replaced, or took the rights of."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.sequence import Sequence
from kingdom.clock import SystemClock
from kingdom.errors import ConfigurationError
from kingdom.ops.init import init
from kingdom.store import disk
from kingdom.store.formats import check_format, format_of, write_format
from kingdom.store.locks import Lock, held_by, is_locked
from kingdom.store.paths import BaseDir, find_base_dir
from kingdom.store.state import read_json, unread, write_json
from kingdom.store.unusable import mend, unusable
from tests.support.calls import in_child
from tests.support.kingdom import message
from tests.support.ordinary_user import step_down


def as_ordinary_user(act: Callable[[], None]) -> None:
    def child() -> None:
        step_down()
        act()

    assert in_child(child) == 0


# Locks


def test_a_lock_whose_file_was_removed_is_taken_at_the_new_one(scratch: Path) -> None:
    path = str(scratch / "lock")
    one = Lock(path)
    os.unlink(path)
    other = Lock(path)
    with one:
        assert one.is_in_place()
        assert not other.try_acquire()
    assert other.try_acquire()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/none/x", path)])
def test_a_lock_on_whatever_lies_there(scratch: Path, make: Callable[[str], None]) -> None:
    path = str(scratch / "lock")
    make(path)
    one, other = Lock(path), Lock(path)
    assert one.try_acquire()
    assert not other.try_acquire()
    assert is_locked(path)


def test_several_that_find_a_lock_unusable_at_once_share_the_new_one(scratch: Path) -> None:
    holders: list[int] = []

    def hold(path: str) -> None:
        together.wait()
        with Lock(path):
            holders.append(len(holders))
            assert len(holders) == 1
            time.sleep(0.001)  # so that a second holder would be seen
            holders.pop()

    for number in range(40):
        path, together = str(scratch / f"{number}.lock"), threading.Barrier(4)
        with socket.socket(socket.AF_UNIX) as unusable_one:
            unusable_one.bind(path)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(hold, [path] * 4))


def test_the_system_knows_who_has_a_lock_that_nobody_may_open(scratch: Path) -> None:
    path = str(scratch / "lock")
    lock = Lock(path)
    assert held_by(path) is None
    with lock:
        assert held_by(path) == os.getpid()


def test_a_journal_is_not_taken_from_a_living_process_whose_lock_was_removed(
    base: BaseDir,
) -> None:
    ready, go_on = os.pipe(), os.pipe()

    def live() -> None:
        bus = FileBus(base, durable=False)
        os.write(ready[1], b".")
        os.read(go_on[0], 1)
        bus.close()

    child = os.fork()
    if child == 0:
        try:
            live()
        finally:
            os._exit(0)
    try:
        os.read(ready[0], 1)
        os.unlink(base.path("state/bus/journal/0.life"))
        bus = FileBus(base, durable=False)
        assert bus._ledger.slot.number == 1
        bus.close()
    finally:
        os.write(go_on[1], b".")
        os.waitpid(child, 0)


# State


def test_rights_that_a_file_of_ours_lost_are_given_back(base: BaseDir) -> None:
    path = base.path("some.json")

    def act() -> None:
        write_json(path, {"a": 1})
        os.chmod(path, 0)
        assert read_json(path) == {"a": 1}
        os.chmod(path, 0)
        disk.append_line(path, b"x\n")

    as_ordinary_user(act)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_what_is_anothers_is_done_without_and_not_lost(base: BaseDir) -> None:
    path = base.path("some.json")
    write_json(path, {"a": 1})
    os.chmod(path, 0o600)
    os.chown(path, 65534, 65534)

    def act() -> None:
        assert read_json(path, {}) == {}
        assert unread[path] == "Permission denied"
        with pytest.raises(PermissionError):
            read_json(path, {}, needed=True)
        write_json(path, {"b": 2})
        assert read_json(path) == {"b": 2}

    as_ordinary_user(act)
    assert read_json(path + disk.ASIDE) == {"a": 1}


def test_what_is_in_the_way_of_a_file_gets_another_name(scratch: Path) -> None:
    path = str(scratch / "some.json")
    for number in ("", ".2"):
        os.mkdir(path)
        write_json(path, {})
        assert os.path.isdir(f"{path}{disk.ASIDE}{number}")
        os.unlink(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_numbers_go_on_where_the_sequence_became_anothers(base: BaseDir) -> None:
    bus = FileBus(base, durable=False)
    bus.publish("messages", message(7))
    sequence = Sequence(bus._places, "msg", sync=False)
    now, zone = SystemClock().now(), SystemClock().now().tzinfo
    assert zone is not None
    (first,) = sequence.take(now, zone)
    for mode, expected in ((0o644, "002"), (0o600, "001")):
        os.chown(base.sequence_file("msg"), 65534, 65534)
        os.chmod(base.sequence_file("msg"), mode)

        def act(expected: str = expected) -> None:
            (name,) = Sequence(bus._places, "msg", sync=False).take(now, zone)
            assert name == f"{first[:-3]}{expected}"

        as_ordinary_user(act)
    bus.close()


# The version, and whether it is a kingdom at all


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"one"])
def test_a_version_that_tells_nothing_is_ours_and_gives_way(base: BaseDir, content: bytes) -> None:
    init(base)
    Path(base.format_file).write_bytes(content)
    check_format(base)
    assert write_format(base)
    assert Path(base.format_file).read_text() == "1\n"


def test_a_kingdom_that_has_run_is_of_this_version_without_the_file(base: BaseDir) -> None:
    init(base)
    Path(base.path("queue/events/pending/evt-1.json")).write_text("{}")
    os.unlink(base.format_file)
    assert format_of(base) == 0
    os.mkdir(base.metrics)
    assert format_of(base) == 1


def test_a_kingdom_without_settings_is_found(base: BaseDir) -> None:
    with pytest.raises(ConfigurationError):
        find_base_dir(base.root, {}, "/")
    init(base)
    os.unlink(base.path("config/system.yaml"))
    assert find_base_dir(base.root, {}, "/").root == base.root
    assert [(one.path, one.remedy) for one in unusable(base)] == [
        ("config/system.yaml", f"kingdom init {base.root}")
    ]


# What is named


def test_nothing_is_named_in_a_new_kingdom(base: BaseDir) -> None:
    init(base)
    FileBus(base, durable=False).close()
    assert unusable(base) == unusable(base, everything=True) == []


def test_what_is_mended_is_named_no_more(base: BaseDir) -> None:
    init(base)
    write_json(base.sessions_file, [])
    os.mkdir(base.path("logs/events.log"))
    Path(base.resources_file).write_text('{"health": "gre')

    def act() -> None:
        os.chmod(base.sessions_file, 0)
        found = unusable(base)
        assert [(one.path, one.remedy) for one in found] == [
            ("state/resources.json", f"mv {base.resources_file} {base.resources_file}.aside"),
            ("state/sessions.json", f"chmod u+rw {base.sessions_file}"),
            ("logs/events.log", f"mv {base.events_log} {base.events_log}.aside"),
        ]
        for one in found:
            mend(base, one)
        assert [one.path for one in unusable(base)] == [
            "state/resources.json.aside",
            "logs/events.log.aside",
        ]

    as_ordinary_user(act)
