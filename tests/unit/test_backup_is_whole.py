"""What is restored is what was saved: all that could be read, and nothing besides."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Problem
from kingdom.ops import snapshot as snapshots
from kingdom.ops.archive import LARGEST
from kingdom.ops.backup import Written, backup
from kingdom.ops.init import init
from kingdom.ops.restore import restore
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir
from kingdom.store.trees import DEEPEST
from tests.support.calls import observed
from tests.support.full_disk import damaged
from tests.support.kingdom import drop, event

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "file-bus.md"


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


@pytest.fixture
def room(base: BaseDir) -> Iterator[Path]:
    made = Path(f"{base.root}-room")
    made.mkdir()
    yield made
    shutil.rmtree(made)


def saved(base: BaseDir, room: Path, **options: bool) -> tuple[Written, BaseDir]:
    """A backup, and what becomes of it elsewhere."""
    with closing(FileBus(base, durable=False)) as bus:
        written = backup(base, bus, str(room / "k.tar.gz"), **options)
    restore(written.path, str(room / "new"))
    return written, BaseDir(room / "new")


def everything(base: BaseDir) -> dict[str, tuple[object, ...]]:
    """Mode and time of all that is there, and each file's content; but for what is left out."""
    found: dict[str, tuple[object, ...]] = {}
    for directory, _, names in os.walk(base.root):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            name = os.path.relpath(path, base.root)
            inside = any(name.startswith(f"{left}/") for left in snapshots.LEFT_OUT)
            if inside or os.path.basename(name).startswith(TEMPORARY_PREFIX):
                continue
            facts = os.stat(path)
            # The backup itself works in state/bus.
            moment = 0 if name in snapshots.LEFT_OUT else int(facts.st_mtime)
            told = (facts.st_mode & stat.S_IRWXU, moment)  # others get no rights by a restore
            is_file = stat.S_ISREG(facts.st_mode)
            found[name] = (*told, Path(path).read_bytes()) if is_file else told
    return found


NAMES = ("a", "한글.md", "b c", "새.json", "\udcff", "line\nbreak", "-x", ".hidden", "x" * 200)


def deviate(base: BaseDir, chance: random.Random) -> None:
    """Removed and added files and directories, with any mode and time, everywhere."""
    for shipped in os.listdir(base.path("config/generals")):
        if chance.random() < 0.5:
            shutil.rmtree(base.path("config/generals", shipped))
    os.unlink(base.path("queue/README.md"))
    places = [
        base.path(place)
        for place in ("config/local", "memory", "state/king", "state/results", "queue/events/dead")
    ]
    made: list[str] = []
    for number in range(60):
        path = os.path.join(chance.choice(places), f"{number}-{chance.choice(NAMES)}")
        if chance.random() < 0.3:
            os.mkdir(path)
            places.append(path)
        else:
            size = chance.choice((0, 1, 5000))
            Path(path).write_bytes(chance.choice((chance.randbytes(size), bytes(size))))
        made.append(path)
    readable = 0 if os.geteuid() == 0 else 0o500
    for path in reversed(made):
        os.chmod(path, chance.randrange(0o1000) | readable)
        os.utime(path, (1, chance.randrange(1, 2_000_000_000)))
    Path(base.path("memory/large")).write_bytes(b"text and " * 300_000)
    os.chmod(base.path("logs"), 0o700)
    os.chmod(base.path("queue/tasks"), 0o2770)
    os.chmod(base.root, 0o750)


@pytest.mark.parametrize("seed", range(2))
def test_a_restored_kingdom_is_the_one_that_was_saved(base: BaseDir, room: Path, seed: int) -> None:
    with closing(FileBus(base, durable=False)) as bus:
        bus.publish("events", event("1"), event("2"))
        bus.next_id("task")
        bus.bury(bus.claim("events", "king")[0], Problem("x", "y"))
    drop(base, "events/dead", "evt-bad.json", "{")
    Path(base.path("state/king", f"{TEMPORARY_PREFIX}1-x")).write_text("half")
    deviate(base, random.Random(seed))
    before = everything(base)
    written, restored = saved(base, room)
    assert (written.missing, written.skipped) == ([], [])
    assert everything(restored) == before


def test_what_is_left_out_is_documented() -> None:
    page = DOCUMENTATION.read_text().partition("## Backup")[2].partition("\n## ")[0]
    named = re.findall(r"`([^`]+)`", page)
    assert {f"{one}/" for one in snapshots.LEFT_OUT} | {TEMPORARY_PREFIX} <= set(named)


def test_linked_directories_are_saved_as_directories(base: BaseDir, room: Path) -> None:
    package = room / "gen-mine"
    shutil.copytree(base.path("config/generals/gen-pr"), package)
    os.mkdir(base.path("config/local/generals"))
    os.symlink(package, base.path("config/local/generals/gen-mine"))
    os.symlink(base.root, base.path("config/local/all"))
    os.symlink("nowhere", base.path("config/local/gone"))
    shutil.move(base.path("queue/events"), room / "events")
    os.symlink(room / "events", base.path("queue/events"))
    drop(base, "events/completed", "evt-1.json", "{}")
    os.symlink(room, base.path("state/mine"))
    written, restored = saved(base, room)
    assert written.missing == []
    assert sorted(written.skipped) == ["config/local/all", "config/local/gone", "state/mine"]
    own = restored.path("config/local/generals/gen-mine/manifest.yaml")
    assert Path(own).read_text() == (package / "manifest.yaml").read_text()
    assert os.path.isfile(restored.path("queue/events/completed/evt-1.json"))


def test_pipes_sockets_and_all_that_is_too_much_is_named(base: BaseDir, room: Path) -> None:
    os.mkfifo(base.path("queue/events/dead/evt-1.json"))
    os.mkfifo(base.sequence_file("task"))
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(base.path("state/socket"))
    huge, zeros = Path(base.path("state/huge")), Path(base.path("state/zeros"))
    for path, size in ((huge, LARGEST + 1), (zeros, 3_000_000)):
        path.touch()
        os.truncate(path, size)
    deep = base.path("memory", *("d" * (DEEPEST + 20)))
    os.makedirs(deep)
    Path(base.path("memory/d/kept")).write_text("kept")
    os.mkdir(base.path("memory/loop"))
    os.symlink(".", base.path("memory/loop/again"))
    written, restored = saved(base, room)
    assert sorted(written.skipped) == ["queue/events/dead/evt-1.json", "state/socket"]
    problems = {one.name: one.sentence.partition(": ")[2] for one in written.missing}
    assert sorted(problems.values()) == [
        "it is larger than 1 GiB.",
        "it is not a regular file.",
        "it leads back to a directory above it.",
        f"it lies more than {DEEPEST} directories deep.",
    ]
    assert problems["state/huge"] == "it is larger than 1 GiB."
    assert os.path.getsize(restored.path("state/zeros")) == 3_000_000
    assert os.stat(restored.path("state/zeros")).st_blocks == 0
    assert os.path.isfile(restored.path("memory/d/kept"))
    assert not os.path.exists(restored.path("state/huge"))


# While somebody writes


class Disturbing:
    """An observer of calls: before each call of this name on this path, something is done."""

    def __init__(self, name: str, path: str, act: Callable[[], object], times: int = 1) -> None:
        self._name, self._path, self._act, self._left = name, path, act, times
        self._descriptor: object = None

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        is_meant = arguments[:1] in ((self._path,), (self._descriptor,))
        if name == self._name and is_meant and self._left:
            self._left -= 1
            self._act()
        answer = call()
        if name == "open" and arguments[0] == self._path:
            self._descriptor = answer
        return answer


def test_a_file_that_changes_while_it_is_read_is_read_again(base: BaseDir, room: Path) -> None:
    path = Path(base.path("memory/notes.md"))
    path.write_text("a" * 3_000_000)

    def change() -> None:
        with path.open("r+") as file:
            file.write("b" * 3_000_000)

    with observed(Disturbing("pread", str(path), change)):
        written, restored = saved(base, room)
    assert written.missing == []
    assert Path(restored.path("memory/notes.md")).read_text() == "b" * 3_000_000


def test_a_file_that_never_stands_still_is_named(base: BaseDir, room: Path) -> None:
    path = Path(base.path("state/busy"))
    path.write_text("x")

    def grow() -> None:
        with path.open("a") as file:
            file.write("x")

    with observed(Disturbing("pread", str(path), grow, times=100)):
        written, restored = saved(base, room)
    (missing,) = written.missing
    assert missing.sentence == (
        "state/busy changed while it was read, so the archive may have half of it."
    )
    assert set(Path(restored.path("state/busy")).read_text()) == {"x"}


def test_a_log_that_grows_is_saved_as_far_as_it_was(base: BaseDir, room: Path) -> None:
    path = Path(base.path("logs/events.log"))
    path.write_text("line\n")

    def grow() -> None:
        with path.open("a") as file:
            file.write("more\n")

    with observed(Disturbing("pread", str(path), grow, times=100)):
        written, restored = saved(base, room, with_logs=True)
    assert written.missing == []
    assert Path(restored.path("logs/events.log")).read_text() == "line\n"


@pytest.mark.parametrize(
    ("call", "name"), [("open", "memory/notes/a.md"), ("listdir", "memory/notes")]
)
def test_what_goes_meanwhile_is_missed_by_nobody(
    base: BaseDir, room: Path, call: str, name: str
) -> None:
    notes = Path(base.path("memory/notes"))
    notes.mkdir()
    (notes / "a.md").write_text("a")
    with observed(Disturbing(call, base.path(name), lambda: shutil.rmtree(notes))):
        written, restored = saved(base, room)
    assert written.missing == []
    assert os.path.isfile(restored.path("memory/README.md"))


def test_a_file_that_the_disk_does_not_give_costs_that_file(base: BaseDir, room: Path) -> None:
    path = drop(base, "events/dead", "evt-1.json", "{}")

    def refuse() -> None:
        raise damaged()

    with observed(Disturbing("pread", str(path), refuse)):
        written, restored = saved(base, room)
    (missing,) = written.missing
    assert missing.sentence.endswith("evt-1.json is not in the archive: input/output error.")
    assert not os.path.exists(restored.path("queue/events/dead/evt-1.json"))
    assert os.path.isfile(restored.path("config/system.yaml"))
