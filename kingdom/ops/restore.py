"""Makes a base directory from an archive: beside its place first, then renamed into it.

A damaged archive, a full disk or an interruption leaves the place as it was. Nothing in the archive
can be written anywhere else: names are checked, and only plain files are taken.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator

from kingdom.errors import InvalidFile, UsageError
from kingdom.ops.archive import ARCHIVE_FORMAT, MANIFEST, ROOT, Manifest, checksum, damaged
from kingdom.ops.backup import clear_abandoned
from kingdom.ops.init import init
from kingdom.ops.snapshot import own_temporary
from kingdom.store import disk
from kingdom.store.formats import FORMAT
from kingdom.store.paths import PLACES, BaseDir
from kingdom.store.trees import remove_tree

MARK = "-kingdom-restore"
LARGEST = 1024**3


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
        manifest = _unpack(archive, beside)
        init(BaseDir(beside))
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
    """Every file below `root`, and the manifest, once all of them are what it says."""
    sums: dict[str, str] = {}
    manifest = None
    for member, data in _members(archive):
        if member.name == MANIFEST:
            manifest = Manifest.from_json(data)
            continue
        name = _checked_name(member.name)
        if name in sums:
            raise damaged(f"{name} is in it twice")
        sums[name] = checksum(data)
        _write(os.path.join(root, name), data, member.mode & 0o777)
    return _checked(manifest, sums)


def _members(archive: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                yield member, _data(opened, member)
    except FileNotFoundError:
        raise UsageError(f"There is no archive {archive}.", remedy="Check the path.") from None
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise damaged(str(error) or type(error).__name__) from None
    except OSError as error:
        if error.errno is None:  # gzip's own way of saying that it is none
            raise damaged(str(error)) from None
        raise


def _data(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = opened.extractfile(member) if member.isreg() else None
    if file is None:
        raise damaged(f"{member.name} is not a plain file")
    if member.size > LARGEST:
        raise damaged(f"{member.name} is too large")
    data = file.read()
    if len(data) != member.size:
        raise damaged(f"{member.name} is cut short")
    return data


def _checked_name(name: str) -> str:
    parts = name.removeprefix(ROOT).split("/")
    tame = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    if not name.startswith(ROOT) or not tame or parts[0] not in PLACES or len(parts) < 2:
        raise damaged(f"{name!r} is not a file of a kingdom")
    return "/".join(parts)


def _write(path: str, data: bytes, mode: int) -> None:
    disk.make_directory(os.path.dirname(path))
    descriptor = disk.create_and_open(path, mode | 0o600)
    try:
        disk.write_all(descriptor, data)
    finally:
        disk.close_file(descriptor)


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
