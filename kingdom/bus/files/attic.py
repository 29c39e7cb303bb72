"""How a claim changes a file: without a sync, so what it replaces is kept in the attic.

After a power loss the name of a claim's file may be there and its content not. Until a commit or a
checkpoint has made a newer version safe, the one before lies here, and the next start brings it
back. A claim that fails half-way, or that its caller does not get, is undone from here as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from kingdom.bus.files.changes import Change, Version, is_current, lies_at
from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import Entry
from kingdom.bus.files.places import Places
from kingdom.bus.files.slot import Slot
from kingdom.store import disk
from kingdom.store.locks import Lock


class Attic:
    def __init__(
        self, places: Places, intake: Intake, slot: Slot, locks: Mapping[str, Lock], *, sync: bool
    ) -> None:
        self._places = places
        self._intake = intake
        self._slot = slot
        self._locks = locks
        self._sync = sync
        self.kept: dict[tuple[str, str], str] = {}  # where the version before lies, by message

    def take(self, change: Change, *, mine: bool = False) -> Version | None:
        """Put a new version in place of the one seen; None if that one is gone.

        What is not `mine` yet must be just what was seen, and nowhere else besides. If the disk
        refuses half-way, all is as it was.
        """
        entry, old = change
        assert old is not None
        target = self._places.path(entry.stream, entry.state, entry.id)
        kept = self._slot.attic_name(entry.stream, old.state, entry.id, old.revision)
        temporary = self._places.temporary()
        disk.create(temporary, entry.content)
        new = None
        try:
            # The stamp is taken before the file is shown: a moment later another may lie there.
            new = Version(entry.state, target, disk.stamp_at(temporary), entry.revision)
            with self._locks[entry.stream]:
                is_free = (
                    is_current(self._intake, entry, old) if mine else self._is_alone(entry, old)
                )
                if not is_free:
                    disk.remove(temporary)
                    return None
                if target == old.path:
                    # Under the attic's name first: one swap both shows the new and keeps the old.
                    _move_over(temporary, kept)
                    disk.exchange(kept, target)
                else:
                    disk.move(temporary, target)
                    _move_over(old.path, kept)
            if self.kept.setdefault((entry.stream, entry.id), kept) != kept:
                disk.remove(kept)  # an earlier version lies there already, and that one is safe
        except OSError:
            with suppress(OSError):  # should it refuse this too, the lease will end by itself
                disk.remove(temporary)
                if new is not None:
                    self.give_back(entry.stream, entry.id, old, new)
            raise
        return new

    def _is_alone(self, entry: Entry, version: Version) -> bool:
        """Whether this version is still there, and no other copy of the message anywhere."""
        facts = disk.facts_of(version.path)
        if facts is None or disk.stamp_of(facts) != version.stamp:
            return False
        return self._places.lying_only_in(entry.stream, version.path, entry.id)

    def give_back(self, stream: str, id_: str, old: Version, new: Version) -> None:
        """Undo a take, whole or half done: the very file that was replaced lies there again.

        Unless somebody made everything safe meanwhile, and so emptied the attic. While one is about
        to do that (the commit lock tells) nothing is undone: the next take would put another file
        under the name that one has on its list.
        """
        kept = self._slot.attic_name(stream, old.state, id_, old.revision)
        if not self._slot.commit.try_acquire():
            return
        try:
            with self._locks[stream]:
                if new.path == old.path:
                    self._swap_back(kept, old, new)
                elif lies_at(new.path, new):
                    if not lies_at(old.path, old):
                        disk.move(kept, old.path)
                    disk.remove(new.path)
        finally:
            self._slot.commit.release()
        if self.kept.get((stream, id_)) == kept:
            del self.kept[stream, id_]

    def _swap_back(self, kept: str, old: Version, new: Version) -> None:
        if lies_at(new.path, new) and lies_at(kept, old):
            disk.exchange(kept, new.path)
            if self._sync:
                # The next take puts its new content under the attic's name before it swaps.
                disk.sync_directory(os.path.dirname(new.path))
        if lies_at(kept, new):
            disk.remove(kept)


def _move_over(path: str, kept: str) -> None:
    """Into the attic, where a leftover of that name is of no use to anyone."""
    try:
        disk.move(path, kept)
    except FileExistsError:
        disk.remove(kept)
        disk.move(path, kept)
