"""Permissions, a full disk, a read-only queue, a process that lost its directory."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.errors import KingdomError
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child, observed
from tests.support.full_disk import WRITES
from tests.support.kingdom import MovableClock, counts, drop, event, files
from tests.support.promises import check_directories
from tests.support.scenarios import small_bus

NOBODY = 65534
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount or become nobody")


def as_nobody(base: BaseDir, work: Callable[[], None]) -> int:
    """Run it as a user to whom everything in the base directory belongs, and nothing else."""
    for path, _, names in os.walk(base.root):
        os.chown(path, NOBODY, NOBODY)
        for name in names:
            os.chown(os.path.join(path, name), NOBODY, NOBODY)

    def become_and_work() -> None:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    return in_child(become_and_work)


@needs_root
def test_a_file_this_user_may_not_read_goes_to_dead(base: BaseDir) -> None:
    small_bus(base).close()
    drop(base, "events/pending", "evt-secret.json", event("secret").to_json()).chmod(0)

    def work() -> None:
        clock = MovableClock()
        bus = small_bus(base, clock)
        bus.publish("events", event("good"))
        assert [claim.id for claim in bus.claim("events", "king", 5)] == ["evt-test-good"]
        clock.advance(3)
        bus.claim("events", "king", 5)

    assert as_nobody(base, work) == 0
    assert files(base)["events/dead"] == ["evt-secret"]
    assert '"unreadable"' in Path(
        base.path("queue/events/dead/evt-secret.json.reason.json")
    ).read_text("utf-8")


@needs_root
def test_a_read_only_queue_is_said_and_nothing_is_lost(base: BaseDir) -> None:
    small_bus(base).close()

    def work() -> None:
        bus = small_bus(base)
        pending = base.path("queue/events/pending")
        os.chmod(pending, 0o555)
        with pytest.raises(KingdomError, match="could not be changed: Permission denied"):
            bus.publish("events", event("1"))
        os.chmod(pending, 0o755)
        bus.publish("events", event("2"))

    assert as_nobody(base, work) == 0
    assert files(base)["events/pending"] == ["evt-test-1", "evt-test-2"]


@needs_root
def test_a_commit_that_could_not_be_shown_is_shown_by_the_next_process(base: BaseDir) -> None:
    small_bus(base).close()

    def work() -> None:
        bus = small_bus(base)
        os.chmod(base.path("queue/events/pending"), 0o555)
        with pytest.raises(KingdomError):
            bus.publish("events", event("1"))

    assert as_nobody(base, work) == 0
    os.chmod(base.path("queue/events/pending"), 0o755)
    bus = small_bus(base)
    bus.recover()
    bus.close()
    assert files(base)["events/pending"] == ["evt-test-1"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a tmpfs: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(path: Path) -> None:
    """Take all the room that is left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    size = 65536
    while size:
        try:
            os.write(descriptor, b"x" * size)
        except OSError:
            size //= 2
    os.close(descriptor)


@needs_root
def test_a_full_disk_refuses_and_loses_nothing(tiny_disk: Path) -> None:
    base = BaseDir(tiny_disk)
    bus = small_bus(base)
    accepted: list[str] = []

    def publish_without_end() -> None:
        while True:
            new = event(str(len(accepted)), payload={"text": "x" * 4000})
            bus.publish("events", new)
            accepted.append(new.id)

    with pytest.raises(KingdomError, match="No space left on device"):
        publish_without_end()
    assert len(accepted) > 10
    assert set(accepted) <= set(files(base)["events/pending"])
    check_directories(base)
    bus.close()


@needs_root
def test_after_a_full_disk_everything_goes_on(tiny_disk: Path) -> None:
    base = BaseDir(tiny_disk)
    bus = small_bus(base)
    bus.publish("events", *(event(str(n)) for n in range(10)))
    claims = bus.claim("events", "king", 5)
    fill(tiny_disk / "filler")
    with pytest.raises(KingdomError, match="No space left on device"):
        bus.publish("events", event("one-more"))
    with pytest.raises(KingdomError, match="No space left on device"):
        bus.claim("events", "king")
    assert os.listdir(base.path("state/bus/tmp")) == []
    bus.commit([Move(claim, "completed") for claim in claims])  # what is held can be finished
    assert counts(base) == {"events/pending": 5, "events/completed": 5}
    os.truncate(tiny_disk / "filler", 0)
    bus.commit([Move(claim, "completed") for claim in bus.claim("events", "king", 10)])
    assert counts(base) == {"events/completed": 10}
    bus.close()


def test_a_directory_deleted_under_a_running_consumer_is_made_again(
    bus: FileBus, base: BaseDir
) -> None:
    assert bus.claim("events", "king") == []
    os.rmdir(base.path("queue/events/pending"))
    assert bus.claim("events", "king") == []
    bus.publish("events", event("1"))
    assert len(bus.claim("events", "king")) == 1


@needs_root
def test_a_disk_that_is_full_already_is_said_and_kills_nobody(tiny_disk: Path) -> None:
    base = BaseDir(tiny_disk)
    small_bus(base).close()
    (mark,) = Path(base.bus, "journal").glob("*.mark")
    mark.unlink()
    fill(tiny_disk / "filler")

    def work() -> None:
        with pytest.raises(OSError, match="No space"):
            small_bus(base)

    assert in_child(work) == 0


def test_who_cannot_open_the_bus_holds_on_to_nothing(base: BaseDir) -> None:
    """A role tries for as long as the disk is full."""

    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in (*WRITES, "posix_fallocate"):
            tried.append(name)
            if len(tried) == point:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call()

    refused_so_far: list[str] = []
    before = len(os.listdir("/proc/self/fd"))
    for point in itertools.count(1):
        tried: list[str] = []
        shutil.rmtree(base.bus, ignore_errors=True)
        with observed(refuse), suppress(OSError):
            small_bus(base).close()
        assert len(os.listdir("/proc/self/fd")) == before, f"{tried[-1]} leaves something open"
        if len(tried) < point:
            break
        refused_so_far.append(tried[point - 1])
    assert {"mkdir", "pwrite", "posix_fallocate"} <= set(refused_so_far)


@pytest.mark.parametrize("next_deed", ["checkpoint", "claim"])
def test_what_was_recorded_and_not_shown_is_shown_before_anything_else(
    base: BaseDir, clock: MovableClock, next_deed: str
) -> None:
    bus = FileBus(base, clock=clock)
    bus.publish("events", event("1"))
    bus.checkpoint()
    (claim,) = bus.claim("events", "king")
    away = Path(base.path("queue", "events", "completed"))
    away.rename(away.with_name("elsewhere"))
    away.touch()  # no directory any more
    with pytest.raises(KingdomError, match="Recorded"):
        bus.commit([Move(claim, "completed")])
    away.unlink()
    away.with_name("elsewhere").rename(away)
    clock.advance(120)  # its lease is over, and others might take it
    if next_deed == "checkpoint":
        bus.checkpoint()
    else:
        assert bus.claim("events", "king") == []
    assert files(base)["events/completed"] == ["evt-test-1"]
    bus.close()
