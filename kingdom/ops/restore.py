"""Makes a base directory from an archive: beside its place first, then renamed into it.

It has what the archive has and nothing else, but for the empty directories of every kingdom. A
damaged archive, a full disk or an interruption leaves the place as it was. Nothing in the archive
can be written anywhere else: names are checked, and only files and directories are taken.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO

from kingdom.errors import InvalidFile, UsageError
from kingdom.ops.archive import (
    ARCHIVE_FORMAT,
    LARGEST,
    MANIFEST,
    MODE_BITS,
    ROOT,
    Manifest,
    Summed,
    damaged,
)
from kingdom.ops.backup import clear_abandoned
from kingdom.ops.init import directories
from kingdom.ops.snapshot import own_temporary
from kingdom.store import disk
from kingdom.store.formats import FORMAT
from kingdom.store.paths import PLACES, BaseDir
from kingdom.store.trees import remove_tree, write_new

MARK = "-kingdom-restore"
_CHUNK = 1024 * 1024


def restore(archive: str, target: str) -> Manifest:
    """Answers what the archive said about itself."""
    _refuse_taken(target)
    parent = os.path.dirname(target)
    disk.make_directory(parent)
    for leftover in clear_abandoned(parent, MARK):
        remove_tree(leftover)
    beside = os.path.join(parent, own_temporary() + MARK)
    disk.make_directory(beside)
    try:
        with _damage_told():
            manifest = _unpack(archive, beside)
        disk.sync_filesystem(beside)
        _put_in_place(beside, target)
    finally:
        remove_tree(beside)
    return manifest


def _refuse_taken(target: str) -> None:
    if not disk.exists(target):
        return
    if not os.path.isdir(target) or os.path.islink(target):
        raise UsageError(f"{target} is not a directory.", remedy="Choose another place.")
    if os.listdir(target):
        raise UsageError(
            f"{target} is not empty, and restoring never overwrites.",
            remedy=f"Stop the kingdom there and move it aside: mv {target} {target}.old",
        )


def _put_in_place(beside: str, target: str) -> None:
    try:
        if os.path.isdir(target):
            disk.remove_directory(target)
        disk.move_anything(beside, target)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be replaced: {error.strerror}.",
            remedy=f"If it is a mount point, restore into a directory inside it: {target}/kingdom",
        ) from None
    disk.sync_directory(os.path.dirname(target))


def _unpack(archive: str, root: str) -> Manifest:
    """Everything below `root`, and the manifest, once all files are what it says."""
    sums: dict[str, str] = {}
    found: dict[str, tarfile.TarInfo] = {}  # directories, by name
    manifest = None
    for member, content in _members(archive):
        if member.name == MANIFEST and content is not None:
            manifest = Manifest.from_json(content.read())
            continue
        name = _checked_name(member)
        if name in sums or name in found:
            raise damaged(f"{name} is in it twice")
        if content is None:
            found[name] = member
            disk.make_directory(os.path.join(root, name))
        else:
            sums[name] = _write(os.path.join(root, name), content, member)
    checked = _checked(manifest, sums)
    for directory in directories(BaseDir(root)):
        disk.make_directory(directory)
    for name in sorted(found, reverse=True):  # last, and from below: one that is closed takes none
        _set_mode_and_time(os.path.join(root, name), found[name])
    return checked


def _members(archive: str) -> Iterator[tuple[tarfile.TarInfo, Summed | None]]:
    """Each with what is in it; nothing for a directory."""
    try:
        opened = tarfile.open(archive, "r:gz")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise UsageError(f"There is no archive {archive}.", remedy="Check the path.") from None
    with opened:
        for member in opened:
            content = None if member.isdir() else Summed(_opened(opened, member))
            yield member, content
            if content is not None and content.size != member.size:
                raise damaged(f"{member.name} is cut short")


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise damaged(str(error) or type(error).__name__) from None
    except OSError as error:
        if error.errno is None:  # gzip's own way of saying that it is none
            raise damaged(str(error)) from None
        raise


def _opened(opened: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = opened.extractfile(member) if member.isreg() else None
    if file is None:
        raise damaged(f"{member.name} is neither a file nor a directory")
    if member.size > LARGEST:
        raise damaged(f"{member.name} is too large")
    return file


def _checked_name(member: tarfile.TarInfo) -> str:
    """Inside the kingdom; of the kingdom's own directory, nothing."""
    if member.isdir() and member.name + "/" == ROOT:
        return ""
    parts = member.name.removeprefix(ROOT).split("/")
    tame = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    if not member.name.startswith(ROOT) or not tame or parts[0] not in PLACES:
        raise damaged(f"{member.name!r} is not a file of a kingdom")
    if len(parts) < 2 and not member.isdir():
        raise damaged(f"{member.name!r} is not a file of a kingdom")
    return "/".join(parts)


def _write(path: str, content: Summed, member: tarfile.TarInfo) -> str:
    """Answers its checksum."""
    disk.make_directory(os.path.dirname(path))
    write_new(path, iter(partial(content.read, _CHUNK), b""))
    _set_mode_and_time(path, member)
    return content.checksum


def _set_mode_and_time(path: str, member: tarfile.TarInfo) -> None:
    with suppress(OverflowError):  # a time that no calendar has
        disk.set_time(path, int(member.mtime))
    disk.set_mode(path, member.mode & MODE_BITS)


def _checked(manifest: Manifest | None, sums: dict[str, str]) -> Manifest:
    if manifest is None:
        raise damaged("it has no manifest, so it may be cut short")
    if manifest.archive_format > ARCHIVE_FORMAT or manifest.format > FORMAT:
        raise InvalidFile(
            f"The archive was written by kingdom {manifest.version}, which is newer.",
            remedy="Upgrade kingdom on this machine, then try again.",
            code="newer_format",
        )
    wrong = {n for n in manifest.files.keys() | sums if manifest.files.get(n) != sums.get(n)}
    if wrong:
        raise damaged(f"{min(wrong)} is not what was backed up")
    return manifest
