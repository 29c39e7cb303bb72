"""Backups of a kingdom in motion, and restores that change nothing or everything."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import stat
import tarfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move, New, Problem
from kingdom.errors import InvalidFile, KingdomError, UsageError
from kingdom.ops.archive import MANIFEST, Manifest
from kingdom.ops.backup import backup
from kingdom.ops.fsck.examine import examine
from kingdom.ops.init import init
from kingdom.ops.restore import restore
from kingdom.ops.snapshot import leftovers, snapshot
from kingdom.store.paths import BaseDir
from tests.support.calls import Killer, in_child, observed
from tests.support.kingdom import MovableClock, counts, drop, event, files, load, message, task


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


@pytest.fixture
def room(base: BaseDir) -> Iterator[Path]:
    """A place for archives and what becomes of them, as quick as the kingdom's own."""
    made = Path(f"{base.root}-room")
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def archive(base: BaseDir, bus: FileBus, room: Path) -> Path:
    """Of a kingdom with one event, some memory and a log."""
    bus.publish("events", event("1"))
    bus.next_id("task")
    Path(base.path("memory/shared")).mkdir()
    Path(base.path("memory/shared/한글.md")).write_text("배운 것")
    Path(base.path("config/local/system.yaml")).write_text("language: ko\n")
    os.chmod(base.path("config/local/system.yaml"), 0o600)
    Path(base.path("logs/system.log")).write_text("line\n")
    Path(base.path("workspace/big")).write_text("large")
    target = room / "k.tar.gz"
    backup(base, bus, str(target))
    return target


def content(root: str | Path) -> dict[str, bytes]:
    """Every file but those that a backup leaves out."""
    paths = [path for path in Path(root).rglob("*") if path.is_file()]
    names = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    return {
        n: data for n, data in names.items() if not n.startswith(("state/bus/", "logs/", "works"))
    }


def test_what_was_backed_up_comes_back(base: BaseDir, archive: Path, room: Path) -> None:
    manifest = restore(str(archive), str(room / "new"))
    restored = BaseDir(room / "new")
    assert content(restored.root) == content(base.root)
    assert set(manifest.files) == set(content(base.root))
    assert stat.S_IMODE(os.stat(restored.path("config/local/system.yaml")).st_mode) == 0o600
    assert not os.path.exists(restored.path("logs/system.log"))
    assert examine(restored) == []
    with closing(FileBus(restored, durable=False, clock=MovableClock())) as bus:
        assert [claim.id for claim in bus.claim("events", "king")] == ["evt-test-1"]
        assert bus.next_id("task") == "task-20260207-002"


def test_only_its_owner_may_read_an_archive_and_nothing_is_left_beside(
    base: BaseDir, archive: Path
) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert os.listdir(archive.parent) == [archive.name]
    assert [name for name in os.listdir(base.bus) if name.startswith(".tmp-")] == []


def test_logs_come_along_when_asked_for(base: BaseDir, bus: FileBus, room: Path) -> None:
    Path(base.path("logs/system.log")).write_text("line\n")
    backup(base, bus, str(room / "k.tar.gz"), with_logs=True)
    restore(str(room / "k.tar.gz"), str(room / "new"))
    assert (room / "new/logs/system.log").read_text() == "line\n"


def test_what_is_no_plain_file_is_named(base: BaseDir, bus: FileBus, room: Path) -> None:
    (room / "own.yaml").write_text("language: ko\n")
    os.symlink(room / "own.yaml", base.path("config/local/system.yaml"))
    os.symlink("/etc/passwd", base.path("queue/events/dead/evt-1.json"))
    os.mkfifo(base.path("state/pipe"))
    written = backup(base, bus, str(room / "k.tar.gz"))
    assert sorted(written.skipped) == ["queue/events/dead/evt-1.json", "state/pipe"]
    restore(str(room / "k.tar.gz"), str(room / "new"))
    assert (room / "new/config/local/system.yaml").read_text() == "language: ko\n"


def test_an_archive_is_never_overwritten(base: BaseDir, bus: FileBus, room: Path) -> None:
    (room / "k.tar.gz").write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        backup(base, bus, str(room / "k.tar.gz"))
    with pytest.raises(UsageError, match="There is no directory"):
        backup(base, bus, str(room / "none" / "k.tar.gz"))
    assert (room / "k.tar.gz").read_text() == "precious"


# While everything runs


def test_a_snapshot_stays_what_it_was_when_messages_move_on(base: BaseDir, bus: FileBus) -> None:
    bus.publish("tasks", task(1))
    pending = "queue/tasks/pending/task-20260207-001.json"
    before = Path(base.path(pending)).read_bytes()
    with snapshot(base, bus) as taken:
        for _ in range(2):
            (claim,) = bus.claim("tasks", "gen-pr", ids=["task-20260207-001"])
            bus.retry(claim, Problem("network", "The line went dead."))
        (claim,) = bus.claim("tasks", "gen-pr", ids=["task-20260207-001"])
        bus.commit([Move(claim, "completed")])
        assert Path(taken.path(pending)).read_bytes() == before


def work_on(base: BaseDir, worker: int, turns: int, told: int) -> None:
    """Each event becomes a task and a message in one commit. A turn is forty of them; it tells
    when it is well under way and when it is over."""
    bus = FileBus(base, durable=False)
    while turn := os.read(turns, 1):  # it is killed in the end
        for number in range(40):
            if number == 5:
                os.write(told, b".")
            bus.publish("events", event(f"{worker}-{turn[0]}-{number}"))
            for claim in bus.claim("events", "king"):
                dispatch(bus, claim)
            for claim in bus.claim("tasks", "gen-pr"):
                bus.commit([Move(claim, "completed")])
            for claim in bus.claim("messages", "envoy"):
                bus.bury(claim, Problem("x", "y"))
        os.write(told, b"!")


def dispatch(bus: FileBus, claim: Claim) -> None:
    id_, note = bus.next_id("task"), bus.next_id("msg")
    made = [
        New("tasks", task(1, id=id_, event_id=claim.id)),
        New("messages", message(1, id=note, task_id=id_)),
    ]
    bus.commit([Move(claim, "dispatched", fields={"task_id": id_})], made)


class Worker:
    def __init__(self, base: BaseDir, number: int) -> None:
        turns, self._turns = os.pipe()
        self._told, told = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._turns)
            try:
                work_on(base, number, turns, told)
            except BaseException:  # noqa: BLE001 - the other side learns of it from the silence
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(turns)
        os.close(told)

    def begin(self, turn: int) -> None:
        os.write(self._turns, bytes([turn]))
        assert os.read(self._told, 1) == b"."

    def finish(self) -> None:
        assert os.read(self._told, 1) == b"!"

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._turns)
        os.close(self._told)


def test_a_backup_of_a_busy_kingdom_is_consistent(base: BaseDir, room: Path) -> None:
    workers = [Worker(base, 1), Worker(base, 2)]
    try:
        for turn in range(1, 5):
            for worker in workers:
                worker.begin(turn)
            with closing(FileBus(base, durable=False)) as bus:
                backup(base, bus, str(room / f"{turn}.tar.gz"))
            for worker in workers:
                worker.finish()
            restore(str(room / f"{turn}.tar.gz"), str(room / str(turn)))
            check_consistent(BaseDir(room / str(turn)))
    finally:
        for worker in workers:
            worker.end()


def check_consistent(restored: BaseDir) -> None:
    """Each dispatched event has its task and message, and none of these is without its event."""
    assert [finding for finding in examine(restored) if not finding.note] == []
    found = files(restored)
    tasks = {name for place in found for name in found[place] if place.startswith("tasks/")}
    notes = {name for place in found for name in found[place] if place.startswith("messages/")}
    dispatched = found.get("events/dispatched", [])
    named = [load(restored, "events/dispatched", name)["task_id"] for name in dispatched]
    assert tasks == set(named)
    assert len(notes) == len(named) > 0
    with closing(FileBus(restored, durable=False)) as bus:
        assert bus.next_id("task") not in tasks
        assert bus.next_id("msg") not in notes


def test_a_backup_killed_at_every_call_leaves_nothing_that_the_next_does_not_remove(
    base: BaseDir, room: Path
) -> None:
    with closing(FileBus(base, durable=False)) as bus:
        bus.publish("events", event("1"))
    for name in ("generals", "schema"):  # a few files stand for all
        shutil.rmtree(base.path("config", name))
    point = 1
    while True:
        target = room / "k.tar.gz"
        killer = Killer(point, after=False, passing_over=HARMLESS)

        def act(target: Path = target, killer: Killer = killer) -> None:
            bus = FileBus(base, durable=False)
            with observed(killer):
                backup(base, bus, str(target))

        survived = in_child(act) == 0
        if target.exists():
            restore(str(target), str(room / f"new-{point}"))
            target.unlink()
        if survived:
            break
        point += 1
    assert point > 60
    assert leftovers(base) == []
    assert [name for name in os.listdir(room) if name.startswith(".tmp-")] == []
    assert counts(base) == {"events/pending": 1}


HARMLESS = {
    "access",
    "lstat",
    "listdir",
    "pread",
    "read",
    "fstat",
    "close",
    "flock",
    "write",
    "pwrite",
    "ftruncate",
    "fsync",
}


# Damage


def damage(archive: Path, how: Callable[[bytes], bytes]) -> Path:
    archive.write_bytes(how(archive.read_bytes()))
    return archive


def refuse(archive: Path, into: Path, match: str) -> None:
    before = sorted(os.listdir(into.parent))
    with pytest.raises(KingdomError, match=match):
        restore(str(archive), str(into))
    assert sorted(os.listdir(into.parent)) == before


@pytest.mark.parametrize("part", [0, 1, 10, 0.3, 0.9, 0.99])
def test_a_cut_archive_changes_nothing(archive: Path, room: Path, part: float) -> None:
    damage(archive, lambda data: data[: int(part if part >= 1 else len(data) * part)])
    refuse(archive, room / "new", "The archive is damaged or not one of kingdom's")


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_a_flipped_byte_changes_nothing(archive: Path, room: Path, place: float) -> None:
    def flip(data: bytes) -> bytes:
        at = int(len(data) * place)
        return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]

    damage(archive, flip)
    refuse(archive, room / "new", "The archive is damaged or not one of kingdom's")


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def packed(target: Path, members: list[tuple[str, bytes]], **manifest: object) -> Path:
    """An archive that someone made by hand, its checksums right."""
    named = {name.removeprefix("kingdom/"): checksum(data) for name, data in members}
    about = {"version": "9", "format": 1, "created_at": "", "files": named} | manifest
    with tarfile.open(target, "w:gz") as tar:
        for name, data in [*members, (MANIFEST, json.dumps(about).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


@pytest.mark.parametrize(
    "name",
    [
        "/etc/evil", "../evil", "kingdom/../evil", "kingdom/queue/../../evil", "kingdom/evil",
        "kingdom/queue//evil", "kingdom//etc/evil", "kingdom/./queue/evil", "kingdom/bin/evil",
        "evil", "kingdom/", "kingdom",
    ],
)  # fmt: skip
def test_nothing_is_written_outside(room: Path, name: str) -> None:
    bad = packed(room / "bad.tar.gz", [(name, b"evil")])
    refuse(bad, room / "new", "is not a file of a kingdom")
    assert not list(room.rglob("evil"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_devices_are_refused(room: Path, kind: bytes) -> None:
    with tarfile.open(room / "bad.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("kingdom/queue/link")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    refuse(room / "bad.tar.gz", room / "new", "link is neither a file nor a directory")


def test_an_archive_of_the_first_format_has_no_directories(room: Path) -> None:
    members = [("kingdom/config/system.yaml", b""), ("kingdom/memory/shared/a.md", b"x")]
    old = packed(room / "old.tar.gz", members, archive_format=1)
    restore(str(old), str(room / "new"))
    found = [path for path in (room / "new").rglob("*") if path.is_file()]
    names = sorted(str(path.relative_to(room / "new")) for path in found)
    assert names == ["config/system.yaml", "memory/shared/a.md"], "and nothing that was shipped"
    assert not [one for one in examine(BaseDir(room / "new")) if one.check == "directories"]


def test_an_archive_that_contradicts_itself_is_refused(room: Path) -> None:
    twice = packed(room / "a.tar.gz", [("kingdom/queue/x", b"1"), ("kingdom/queue/x", b"1")])
    refuse(twice, room / "new", "queue/x is in it twice")
    wrong = {"queue/x": checksum(b"2")}
    other = packed(room / "b.tar.gz", [("kingdom/queue/x", b"1")], files=wrong)
    refuse(other, room / "new", "queue/x is not what was backed up")
    missing = packed(room / "c.tar.gz", [], files=wrong)
    refuse(missing, room / "new", "queue/x is not what was backed up")
    for more in ({"format": 2}, {"archive_format": 3, "surprise": []}):
        newer = packed(room / f"d{len(more)}.tar.gz", [], **more)
        refuse(newer, room / "new", "written by kingdom 9, which is newer")
    with gzip.open(room / "e.tar.gz", "wb") as file:
        file.write(b"hello")
    refuse(room / "e.tar.gz", room / "new", "damaged or not one of kingdom's")
    refuse(room / "none.tar.gz", room / "new", "There is no archive")
    with pytest.raises(InvalidFile):
        Manifest.from_json(b'{"version": 1, "surprise": 2}')


def test_only_a_place_that_is_empty_is_restored_into(archive: Path, room: Path) -> None:
    full = room / "full"
    full.mkdir()
    (full / "mine").write_text("1")
    refuse(archive, full, f"mv {full} {full}.old")
    assert (full / "mine").read_text() == "1"
    refuse(archive, archive, "is not a directory")
    (room / "empty").mkdir()
    restore(str(archive), str(room / "empty"))
    restore(str(archive), str(room / "deep" / "down"))
    assert counts(BaseDir(room / "empty")) == {"events/pending": 1}
    assert counts(BaseDir(room / "deep" / "down")) == {"events/pending": 1}


def test_a_killed_restore_leaves_nothing_that_the_next_does_not_remove(
    archive: Path, room: Path
) -> None:
    target = room / "place" / "new"

    def act() -> None:
        with observed(Killer(40, after=True)):
            restore(str(archive), str(target))

    assert in_child(act) == -signal.SIGKILL
    assert not target.exists()
    assert len(os.listdir(room / "place")) == 1
    restore(str(archive), str(target))
    assert os.listdir(room / "place") == ["new"]


def test_a_damaged_message_is_backed_up_as_it_is(base: BaseDir, bus: FileBus, room: Path) -> None:
    drop(base, "events/completed", "evt-1.json", b"\xff not JSON")
    backup(base, bus, str(room / "k.tar.gz"))
    restore(str(room / "k.tar.gz"), str(room / "new"))
    path = room / "new/queue/events/completed/evt-1.json"
    assert path.read_bytes() == b"\xff not JSON"
