"""Whether the disk under a kingdom can do what the bus asks of it: room, one file system for all
queues, and the right to write. Asked of the system each time: where that is not so, nobody could
have written it down."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from kingdom.store.libc import mount_of
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, STREAMS

LEAST = 256 * 1024  # bytes; with less, hardly a message can be written
MAKE_ROOM = "Make room there; roles that wait for it go on by themselves."

Mount = tuple[int, int]  # a file system, and where it is mounted: a rename leaves neither


class DiskProblem(NamedTuple):
    subject: str
    said: str
    remedy: str

    @property
    def sentence(self) -> str:
        return f"{self.subject} {self.said}"


def disk_problem(base: BaseDir) -> DiskProblem | None:
    """What keeps a kingdom from its work there, if anything."""
    return next(iter(unfit(base)), None) or shortage(base)


def shortage(base: BaseDir) -> DiskProblem | None:
    for place in (base.root, base.state):
        try:
            facts = os.statvfs(place)
        except OSError:
            continue
        if facts.f_bavail * facts.f_frsize < LEAST:
            return DiskProblem(f"The disk that holds {place}", "is full.", MAKE_ROOM)
        if facts.f_files and not facts.f_favail:
            return DiskProblem(f"The disk that holds {place}", "takes no more files.", MAKE_ROOM)
    return None


def unfit(base: BaseDir) -> list[DiskProblem]:
    """What does not pass by itself."""
    apart, read_only = map(_apart, on_other_disks(base)), map(read_only_problem, _read_only(base))
    return [*apart, *read_only]


def on_other_disks(base: BaseDir) -> list[str]:
    """Directories of the bus that lie on another file system, or another mount of it, than the
    rest: no message can be moved between the two."""
    mounts = {path: mount for path in _linked(base) if (mount := _mount(path))}
    home = _mount(base.root)
    if home not in mounts.values():  # all of it may lie elsewhere, together
        home = next(iter(mounts.values()), None)
    apart = (_top(base, path, mount) for path, mount in mounts.items() if mount != home)
    return list(dict.fromkeys(apart))


def _linked(base: BaseDir) -> list[str]:
    """All directories between which the bus moves files."""
    found = [os.path.join(base.bus, name) for name in ("tmp", "attic")]
    for stream in STREAMS.values():
        found += [*map(base.path, stream.directories), base.path(stream.root, DEAD)]
    return list(dict.fromkeys(found))


def _mount(path: str) -> Mount | None:
    try:
        return os.stat(path).st_dev, mount_of(path)
    except OSError:
        return None


def _top(base: BaseDir, path: str, mount: Mount) -> str:
    """Where one leaves the kingdom's own disk on the way to this directory."""
    while (parent := os.path.dirname(path)) != base.root and _mount(parent) == mount:
        path = parent
    return path


def _apart(path: str) -> DiskProblem:
    there, new, old = (shlex.quote(one) for one in (path, f"{path}.new", f"{path}.old"))
    if os.path.islink(path):
        copied, removed = shlex.quote(os.path.realpath(path)), f"rm {there}"
    else:
        copied, removed = there, f"umount {there} && mv {there} {old}"
    steps = f"cp -a {copied} {new} && {removed} && mv {new} {there}"
    return DiskProblem(
        path,
        "is on another file system than the rest of queue/ and state/, so no message can be moved "
        "there or back.",
        f"Bring it to theirs: kingdom stop && {steps}",
    )


def _read_only(base: BaseDir) -> list[str]:
    """Directories that every role writes to, and cannot; one for each read-only file system."""
    found: dict[Mount | None, str] = {}
    for path in (base.queue, base.state, *_linked(base)):
        if is_read_only(path):
            found.setdefault(_mount(path), path)
    return list(found.values())


def is_read_only(path: str) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def read_only_problem(path: str) -> DiskProblem:
    mount = os.path.realpath(path)
    while mount != "/" and _mount(os.path.dirname(mount)) == _mount(path):
        mount = os.path.dirname(mount)
    return DiskProblem(
        path,
        "is on a read-only file system.",
        f"See why with dmesg, then: mount -o remount,rw {shlex.quote(mount)}",
    )
