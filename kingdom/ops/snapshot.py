"""A still picture of a running kingdom, for as long as a backup packs it.

Reads `config/ queue/ state/ memory/`, writes one directory in `state/bus/` and removes it again; an
interrupted one is removed by the next, or by `kingdom fsck --fix`.

Nobody commits or claims while `queue/` and `state/` are copied, some forty microseconds a file.
Hard links would take a third of that, but the bus writes new content into files it has replaced.
What cannot be read is named, and everything else is copied.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.sequence import STREAMS_OF_KIND
from kingdom.bus.lease import Holder
from kingdom.ops.archive import LARGEST
from kingdom.ops.init import directories
from kingdom.store import disk
from kingdom.store.leftovers import writer_is_gone
from kingdom.store.locks import Lock
from kingdom.store.paths import PLACES, TEMPORARY_PREFIX, BaseDir
from kingdom.store.trees import Found, Unreadable, copy_file, remove_tree, tree
from kingdom.topology import STREAMS

KEPT_STILL = ("queue", "state")
EDITED_BY_PEOPLE = ("config", "memory")
LOGS = "logs"
# Of these a backup has the directory and nothing in it (of logs/, unless asked for). It has no
# name either that begins with `.tmp-`. docs/file-bus.md says the same, and a test compares them.
LEFT_OUT = (LOGS, "workspace", "state/bus")
_TRIES = 3  # at a file that changes while it is read
_CHANGED = errno.EAGAIN
_PATH_MAX = 4096  # bytes; the kernel takes no longer path

_MOVE_IT = "Move it out of the kingdom, then run the backup again."
_SEE_FSCK = "See what to do about it with: kingdom fsck"
_REMEDIES = {
    errno.EACCES: _SEE_FSCK,
    errno.EPERM: _SEE_FSCK,
    errno.EINVAL: _SEE_FSCK,
    errno.EFBIG: _MOVE_IT,
    errno.ELOOP: _MOVE_IT,
    errno.ENAMETOOLONG: _MOVE_IT,
    _CHANGED: "Run the backup again when nobody writes to it.",
}


class Saved(NamedTuple):
    """What an archive says of a file or a directory besides its content."""

    is_directory: bool
    mode: int
    mtime: int


class Missing(NamedTuple):
    """What could not be saved, or not for sure as it was."""

    name: str
    sentence: str
    remedy: str


@dataclass
class Snapshot:
    root: str
    saved: dict[str, Saved] = field(default_factory=dict)  # a directory before what is in it
    missing: list[Missing] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # links, pipes and the like: they hold nothing

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def add_missing(self, name: str, error: OSError) -> None:
        code = error.errno or 0
        what = error.strerror or str(error)
        if code in (errno.EACCES, errno.EPERM):
            what = "this user may not read it"
        sentence = f"{name} is not in the archive: {what[:1].lower()}{what[1:]}."
        if code == _CHANGED:
            sentence = f"{name} changed while it was read, so the archive may have half of it."
        remedy = _REMEDIES.get(code, "Look at the disk: dmesg says what is wrong with it.")
        self.missing.append(Missing(name, sentence, remedy))


@contextmanager
def snapshot(base: BaseDir, bus: FileBus, *, with_logs: bool = False) -> Iterator[Snapshot]:
    for leftover in leftovers(base):
        remove_tree(leftover)
    made = Snapshot(os.path.join(base.bus, f"{own_temporary()}-backup"))
    disk.make_private_directory(made.root)
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


def saved_paths(base: BaseDir, place: str) -> Iterator[Found]:
    """All that a backup takes from there."""
    roots = (base.path(stream.root) for stream in STREAMS.values())
    own = {*directories(base), *roots}
    # People link to their settings and logs; in queue/ and state/ only directories that the bus
    # itself goes through are followed.
    anything = place not in KEPT_STILL

    def follows(path: str) -> bool:
        return path in own or (anything and not _leads_above(path, base.root))

    def leaves_out(path: str) -> bool:
        directory, name = os.path.split(path)
        return directory == base.bus or name.startswith(TEMPORARY_PREFIX)

    return tree(base.path(place), follows, leaves_out)


def _leads_above(link: str, root: str) -> bool:
    """Whether the kingdom itself lies below what this link leads to."""
    target = os.path.realpath(link)
    return os.path.commonpath([target, os.path.realpath(root)]) == target


def _take(base: BaseDir, bus: FileBus, made: Snapshot, with_logs: bool) -> None:
    for place in ("", *PLACES):
        if os.path.isdir(base.path(place)):
            _note(made, place, os.stat(base.path(place)))
    for place in EDITED_BY_PEOPLE:
        _copy_all(base, place, made)
    for place in KEPT_STILL:
        _make_directories(base, place, made)  # beforehand: nobody should wait for it
    caretaker, unreadable = Caretaker(base), list[str]()
    with bus.quiet(unreadable), caretaker.locked():
        for place in KEPT_STILL:
            _copy_all(base, place, made)
        for kind in STREAMS_OF_KIND:
            _copy_sequence(base, kind, caretaker.places.locks, made)
    if with_logs:
        _copy_all(base, LOGS, made)
    for name in (_name(base, path) for path in unreadable):
        sentence = f"{name} cannot be used, so what its process committed last may be missing."
        made.missing.append(Missing(name, sentence, _SEE_FSCK))


def _make_directories(base: BaseDir, place: str, made: Snapshot) -> None:
    for path, facts, _ in saved_paths(base, place):
        if facts is not None and stat.S_ISDIR(facts.st_mode):
            with suppress(OSError):  # it is told when it is copied
                disk.make_directory(made.path(_name(base, path)))


def _name(base: BaseDir, path: str) -> str:
    return path[len(base.root) + 1 :]


def _note(made: Snapshot, name: str, facts: os.stat_result) -> None:
    mode = stat.S_IMODE(facts.st_mode)
    made.saved[name] = Saved(stat.S_ISDIR(facts.st_mode), mode, int(facts.st_mtime))


def _copy_all(base: BaseDir, place: str, made: Snapshot) -> None:
    sequences = {base.sequence_file(kind) for kind in STREAMS_OF_KIND}
    for path, facts, error in saved_paths(base, place):
        name = _name(base, path)
        if len(os.fsencode(made.path(name))) >= _PATH_MAX:
            facts, error = None, OSError(errno.ENAMETOOLONG, "its path is too long")
        if error is not None:
            made.add_missing(name, error)
        if facts is None or path in sequences:
            continue
        if stat.S_ISDIR(facts.st_mode):
            _note(made, name, facts)
            disk.make_directory(made.path(name))
        elif stat.S_ISREG(facts.st_mode):
            _copy(path, name, made, place)
        else:
            made.skipped.append(name)


def _copy(path: str, name: str, made: Snapshot, place: str) -> None:
    follow, target = place not in KEPT_STILL, made.path(name)
    for tries_left in reversed(range(_TRIES)):
        try:
            facts, is_same = copy_file(path, target, follow=follow, largest=LARGEST)
        except FileNotFoundError:
            return  # it went meanwhile
        except Unreadable as unreadable:
            made.add_missing(name, unreadable.error)
            return
        if is_same or place == LOGS:  # these only grow
            break
        if tries_left:
            disk.remove(target)
        else:
            made.add_missing(name, OSError(_CHANGED, ""))
    _note(made, name, facts)


def _copy_sequence(base: BaseDir, kind: str, locks: str, made: Snapshot) -> None:
    """It is written in place, so not while it is copied; and it is copied after the queues, so that
    it is never behind an id that is in them."""
    path = base.sequence_file(kind)
    with Lock(f"{locks}/{kind}-seq"):
        _copy(path, _name(base, path), made, "state")
