"""Writes an archive of a kingdom while everything in it runs.

Everyone else stands still only while files are copied (see `snapshot`). The archive is written
under a temporary name and renamed when it is whole and safe on disk. What could not be read is
named, and is no reason to be without one.
"""

from __future__ import annotations

import io
import os
import tarfile
from dataclasses import dataclass
from typing import IO, cast

from kingdom import __version__
from kingdom.bus.files.bus import FileBus
from kingdom.clock import SystemClock, isoformat
from kingdom.errors import UsageError
from kingdom.ops.archive import MANIFEST, ROOT, Manifest, Summed
from kingdom.ops.snapshot import Missing, Saved, Snapshot, own_temporary, snapshot
from kingdom.store import disk
from kingdom.store.formats import format_of
from kingdom.store.leftovers import writer_is_gone
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir

MODE = 0o600  # what people wrote to each other is nobody else's business
MARK = "-kingdom-archive"


@dataclass(frozen=True)
class Written:
    path: str
    files: int
    size: int
    missing: list[Missing]
    skipped: list[str]


def default_name(base: BaseDir) -> str:
    name = os.path.basename(base.root) or "kingdom"
    return f"{name}-{SystemClock().now():%Y%m%dT%H%M%SZ}.tar.gz"


def backup(base: BaseDir, bus: FileBus, target: str, *, with_logs: bool = False) -> Written:
    _refuse_taken(target)
    directory = os.path.dirname(target)
    clear_abandoned(directory, MARK)
    manifest = Manifest(__version__, format_of(base), isoformat(SystemClock().now()))
    temporary = os.path.join(directory, own_temporary() + MARK)
    try:
        with snapshot(base, bus, with_logs=with_logs) as taken:
            _write(temporary, taken, manifest)
        _put_in_place(temporary, target)
    finally:
        disk.remove(temporary)
    size = os.path.getsize(target)
    return Written(target, len(manifest.files), size, taken.missing, taken.skipped)


def clear_abandoned(directory: str, mark: str) -> list[str]:
    """Remove what an interrupted one left beside; answers directories, which the caller removes."""
    trees = []
    for name in disk.names(directory):
        if name.startswith(TEMPORARY_PREFIX) and mark in name and writer_is_gone(name):
            path = os.path.join(directory, name)
            if os.path.isdir(path):
                trees.append(path)
            else:
                disk.remove(path)
    return trees


def _refuse_taken(target: str) -> None:
    if disk.exists(target):
        raise UsageError(f"{target} exists already.", remedy="Choose another name for the archive.")
    if not os.path.isdir(os.path.dirname(target)):
        raise UsageError(
            f"There is no directory {os.path.dirname(target)}.",
            remedy="Make it, or choose another.",
        )


def _put_in_place(temporary: str, target: str) -> None:
    try:
        disk.move(temporary, target)
    except FileExistsError:
        _refuse_taken(target)
        raise
    disk.sync_directory(os.path.dirname(target))


def _write(path: str, taken: Snapshot, manifest: Manifest) -> None:
    descriptor = disk.create_and_open(path, MODE)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
            for name, saved in taken.saved.items():
                if saved.is_directory:
                    archive.addfile(_member(name, saved, tarfile.DIRTYPE))
                else:
                    manifest.files[name] = _add(archive, taken.path(name), _member(name, saved))
            data = manifest.to_json()
            own = tarfile.TarInfo(MANIFEST)
            own.size, own.mode = len(data), MODE
            archive.addfile(own, io.BytesIO(data))
        file.flush()
        disk.sync_data(descriptor)


def _member(name: str, saved: Saved, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo((ROOT + name).rstrip("/"))
    member.type, member.mode, member.mtime = kind, saved.mode, saved.mtime
    return member


def _add(archive: tarfile.TarFile, source: str, member: tarfile.TarInfo) -> str:
    """Answers its checksum."""
    with open(source, "rb") as file:
        member.size = os.fstat(file.fileno()).st_size
        summed = Summed(file)
        archive.addfile(member, cast("IO[bytes]", summed))
    return summed.checksum
