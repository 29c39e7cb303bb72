"""A still picture of a running kingdom, for as long as a backup packs it.

Reads `config/ queue/ state/ memory/`, writes one directory in `state/bus/` and removes it again; an
interrupted one is removed by the next, or by `kingdom fsck --fix`.

Nobody commits or claims while `queue/` and `state/` are copied, some forty microseconds a file.
Hard links would take a third of that, but the bus writes new content into files it has replaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.sequence import STREAMS_OF_KIND
from kingdom.bus.lease import Holder
from kingdom.store import disk
from kingdom.store.leftovers import writer_is_gone
from kingdom.store.locks import Lock
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir
from kingdom.store.trees import files_below, remove_tree

KEPT_STILL = ("queue", "state")
EDITED_BY_PEOPLE = ("config", "memory")


@dataclass
class Snapshot:
    root: str
    skipped: list[str] = field(default_factory=list)  # what is neither a file nor a directory

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)


@contextmanager
def snapshot(base: BaseDir, bus: FileBus, *, with_logs: bool = False) -> Iterator[Snapshot]:
    for leftover in leftovers(base):
        remove_tree(leftover)
    made = Snapshot(os.path.join(base.bus, f"{own_temporary()}-backup"))
    disk.make_directory(made.root)
    try:
        _take(base, bus, made, with_logs)
        yield made
    finally:
        remove_tree(made.root)


def own_temporary() -> str:
    """The beginning of a name that tells whether its writer lives."""
    writer = Holder.of_this_process("")
    return f"{TEMPORARY_PREFIX}{writer.pid}-{writer.started}"


def leftovers(base: BaseDir) -> list[str]:
    """What interrupted backups left."""
    names = [name for name in disk.names(base.bus) if name.startswith(TEMPORARY_PREFIX)]
    return [os.path.join(base.bus, name) for name in names if writer_is_gone(name)]


def _take(base: BaseDir, bus: FileBus, made: Snapshot, with_logs: bool) -> None:
    for place in EDITED_BY_PEOPLE:
        _copy_all(base, place, made)
    for place in KEPT_STILL:
        _make_directories(base, place, made)  # beforehand: nobody should wait for it
    caretaker = Caretaker(base)
    with bus.quiet(), caretaker.locked():
        for place in KEPT_STILL:
            _copy_all(base, place, made)
        for kind in STREAMS_OF_KIND:
            _copy_sequence(base, kind, caretaker.places.locks, made)
    if with_logs:
        _copy_all(base, "logs", made)


def _paths(base: BaseDir, place: str) -> Iterator[str]:
    sequences = {base.sequence_file(kind) for kind in STREAMS_OF_KIND}
    for path in files_below(base.path(place)):
        inside = path.startswith(base.bus + os.sep) or path in sequences
        if not inside and not os.path.basename(path).startswith(TEMPORARY_PREFIX):
            yield path


def _make_directories(base: BaseDir, place: str, made: Snapshot) -> None:
    for directory, names, _ in os.walk(base.path(place)):
        names[:] = [name for name in names if os.path.join(directory, name) != base.bus]
        disk.make_directory(made.path(os.path.relpath(directory, base.root)))


def _copy_all(base: BaseDir, place: str, made: Snapshot) -> None:
    for path in _paths(base, place):
        name = os.path.relpath(path, base.root)
        with suppress(FileNotFoundError):  # it went meanwhile
            disk.make_directory(os.path.dirname(made.path(name)))
            # People link to their settings; in a queue a link is nothing to follow.
            linked = os.path.islink(path) and place not in EDITED_BY_PEOPLE
            if linked or not _copy(path, made.path(name)):
                made.skipped.append(name)


def _copy(path: str, target: str) -> bool:
    """Answers whether it was something to copy."""
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        return False
    with open(path, "rb") as file:
        data = file.read()
    descriptor = disk.create_and_open(target, stat.S_IMODE(facts.st_mode) | stat.S_IRUSR)
    try:
        disk.write_all(descriptor, data)
    finally:
        disk.close_file(descriptor)
    return True


def _copy_sequence(base: BaseDir, kind: str, locks: str, made: Snapshot) -> None:
    """It is written in place, so not while it is copied; and it is copied after the queues, so that
    it is never behind an id that is in them."""
    path = base.sequence_file(kind)
    with Lock(f"{locks}/{kind}-seq"), suppress(FileNotFoundError):
        _copy(path, made.path(os.path.relpath(path, base.root)))
