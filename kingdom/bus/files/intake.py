"""From a file somebody put into a stream to a record, or to `dead/` with the reason beside it.

A file that cannot be read as what its place says is given two seconds in which it does not change,
for someone may still be copying it. A reason file is written before the move, so that nothing ever
lies in `dead/` unexplained.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from dataclasses import dataclass

from kingdom.bus.files.places import SUFFIX, Places
from kingdom.clock import Clock, isoformat
from kingdom.errors import InvalidFile
from kingdom.models.base import Record
from kingdom.models.ids import is_id
from kingdom.models.reading import parse
from kingdom.ownership import ROOT, foreign_owner
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX
from kingdom.topology import DEAD, STREAMS

PATIENCE = 2.0
PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # our own shortage, not the file's fault
LARGEST = 16 * 1024 * 1024

_UNREADABLE = {
    errno.ELOOP: ("symlink", "it is a symbolic link", "Move the file itself there"),
    errno.EINVAL: ("not_a_file", "it is not a regular file", "Put a JSON file there"),
    errno.EISDIR: ("not_a_file", "it is a directory", "Put a JSON file there"),
    errno.ENXIO: ("not_a_file", "it is not a regular file", "Put a JSON file there"),
    errno.EACCES: ("unreadable", "this user may not read it", "Give it back with: chmod u+r"),
    errno.EPERM: ("unreadable", "this user may not read it", "Give it back with: chmod u+r"),
    errno.EFBIG: (
        "too_large",
        f"it is larger than {LARGEST // 1024 // 1024} MiB",
        "Put large data elsewhere and name its path in the payload",
    ),
}

# The directory is the truth: a status it does not know is mended as the file is read.
_STATUSES = {
    (name, state.directory): state.statuses
    for name, stream in STREAMS.items()
    for state in stream.states
}

Signature = tuple[int, int, int, int]


@dataclass(frozen=True)
class Suspect:
    """A file that could not be read, as it was when last looked at."""

    signature: Signature
    since: float
    fault: InvalidFile


def signature_of(facts: os.stat_result) -> Signature:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


class Intake:
    def __init__(self, places: Places, clock: Clock) -> None:
        self._places = places
        self._clock = clock
        self._trusted = {os.geteuid(), ROOT}  # the kernel is asked once

    def read(self, stream: str, state: str, name: str) -> tuple[Record, disk.Stamp]:
        """The record in this file and its stamp. InvalidFile says why not; FileNotFoundError if
        it went meanwhile."""
        path = f"{self._places.directory(stream, state)}/{name}"
        id_ = name.removesuffix(SUFFIX)
        if not is_id(id_):
            raise InvalidFile(
                f"{path!r}: the name is not an id.",
                remedy="Letters, digits and . _ : - only, at most 200, no `..`, then .json.",
                code="bad_id",
            )
        record, stamp = self.read_path(stream, state, path)
        if record.id != id_:
            raise InvalidFile(
                f"{path}: the id inside is {record.id}, the name says {id_}.",
                remedy="Rename the file or correct the id, then move it back.",
                code="id_mismatch",
            )
        return record, stamp

    def read_path(self, stream: str, state: str, path: str) -> tuple[Record, disk.Stamp]:
        """The same for a file whose name need not be its id."""
        data, stamp = self._content(path)
        status = _STATUSES.get((stream, state))
        return parse(STREAMS[stream].kind, data, path=path, status=status), stamp

    def _content(self, path: str) -> tuple[bytes, disk.Stamp]:
        try:
            data, facts = disk.read(path, LARGEST)
        except OSError as error:
            if error.errno not in _UNREADABLE:
                raise
            code, what, remedy = _UNREADABLE[error.errno]
            raise InvalidFile(f"{path}: {what}.", remedy=f"{remedy}.", code=code) from None
        if facts.st_uid not in self._trusted:
            self._refuse_foreign(facts, path)
        return data, disk.stamp_of(facts)

    def _refuse_foreign(self, facts: os.stat_result, path: str) -> None:
        owner = foreign_owner(facts, self._places.base.queue)
        if owner is not None:
            raise not_taken_from(owner, path)

    def condemn(self, stream: str, path: str, fault: InvalidFile) -> str:
        """Move it to `dead/` as it is, with the reason beside it; answers where it lies now.

        The caller holds the stream's lock.
        """
        name = os.path.basename(path)
        target = self._free_name(self._places.directory(stream, DEAD), name)
        self.explain(target, fault, os.path.dirname(path))
        try:
            disk.move_anything(path, target)
        except OSError:
            with suppress(OSError):  # or it would explain a file that comes later
                disk.remove(reason_path(target))
            raise
        return target

    def explain(self, target: str, fault: InvalidFile, found_in: str) -> None:
        """Write the reason beside where the file lies or will lie."""
        reason = {
            "file": os.path.basename(target),
            "code": fault.code,
            "reason": fault.sentence,
            "remedy": fault.remedy,
            "found_in": found_in,
            "judged_at": isoformat(self._clock.now()),
        }
        beside = reason_path(target)
        disk.remove(beside)
        temporary = self._places.temporary()
        text = json.dumps(reason, ensure_ascii=False, indent=2) + "\n"
        disk.create(temporary, text.encode("utf-8", "backslashreplace"))
        disk.move(temporary, beside)

    @staticmethod
    def _free_name(directory: str, name: str) -> str:
        stem = os.fsdecode(os.fsencode(name.removesuffix(SUFFIX))[:200])
        target, number = os.path.join(directory, f"{stem}{SUFFIX}"), 1
        # A reason that somebody moved must not pass for that of a file which comes later.
        while disk.exists(target) or target.endswith(SUFFIX + REASON_SUFFIX):
            number += 1
            target = os.path.join(directory, f"{stem}~{number}{SUFFIX}")
        return target

    def make_room(self, stream: str, path: str) -> None:
        """A message belongs where this file lies; theirs is the duplicate, or was set aside."""
        beside = reason_path(path)
        if os.path.dirname(path) == self._places.directory(stream, DEAD) and disk.exists(beside):
            target = self._free_name(os.path.dirname(path), os.path.basename(path))
            disk.move(beside, reason_path(target))
            disk.move_anything(path, target)
        else:
            self.condemn(stream, path, duplicate(path, self._places.base.queue))

    def read_or_none(self, stream: str, state: str, path: str) -> Record | None:
        try:
            return self.read_path(stream, state, path)[0]
        except (FileNotFoundError, InvalidFile):
            return None

    def revision(self, stream: str, state: str, path: str, id_: str) -> int | None:
        """Of the copy at this path: None if there is none, -1 if it is no copy of this id."""
        try:
            record, _ = self.read_path(stream, state, path)
        except FileNotFoundError:
            return None
        except InvalidFile:
            return -1
        return record.delivery.revision if record.id == id_ else -1


def reason_path(path: str) -> str:
    return path + REASON_SUFFIX


def not_taken_from(owner: str, path: str) -> InvalidFile:
    return InvalidFile(
        f"{path}: it belongs to {owner}, who may not hand in work here.",
        remedy="To accept it, copy it as the kingdom's user; for a group of people, set `group` in "
        "config/local/system.yaml.",
        code="foreign_owner",
    )


def refused_by_disk(path: str, error: OSError) -> InvalidFile:
    return InvalidFile(
        f"{path}: the disk refuses to read it: {error.strerror}.",
        remedy="Check the disk, then move the file back.",
        code="unreadable",
    )


def is_blank(path: str) -> bool:
    """Nothing in it but zeros: what a power loss leaves of a file whose name was faster."""
    try:
        data, _ = disk.read(path, LARGEST)
    except OSError:
        return False
    return not data.strip(b"\0")


def duplicate(path: str, elsewhere: str) -> InvalidFile:
    return InvalidFile(
        f"{path}: its id is already known in {os.path.dirname(elsewhere)}.",
        remedy="Give it an id of its own, or move the other one instead of copying it.",
        code="duplicate_id",
    )
