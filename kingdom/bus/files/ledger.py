"""How a commit changes files: one record in the journal, synced, and then the files without a sync.

The ledger owns this process's slot (journal, attic, locks) and the streams' locks. How a claim
changes files is the attic's concern, and the other processes on this bus are the neighbours'.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, suppress

from kingdom.bus.files.attic import Attic
from kingdom.bus.files.changes import Change, Version, is_current
from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import CAPACITY, Entry, Journal
from kingdom.bus.files.places import Places
from kingdom.bus.files.repair import Repair
from kingdom.bus.files.slot import Kept, Slot, first_free
from kingdom.bus.lease import Holder
from kingdom.errors import LeaseLost, TryLater
from kingdom.store import disk
from kingdom.store.locks import Lock, Locks
from kingdom.topology import STREAMS

_ATTIC_LIMIT = 4096
_FEW = 32


class Ledger:
    def __init__(
        self, places: Places, intake: Intake, *, sync: bool, capacity: int = CAPACITY
    ) -> None:
        self._places = places
        self._intake = intake
        self._sync = sync
        self._locks = {name: Lock(f"{places.locks}/{name}") for name in STREAMS}
        self.repair = Repair(places, intake, self.locked)
        self.note_stamps = False  # whether the caller wants to know the files it makes
        self.stamps: dict[tuple[str, str], disk.Stamp] = {}
        self._unfinished = False
        with ExitStack() as undo:  # who is refused may try for hours, and must not pile them up
            for lock in self._locks.values():
                undo.callback(lock.close)
            self.slot = first_free(places)
            undo.callback(self.slot.close)
            self.attic = Attic(places, intake, self.slot, self._locks, sync=sync)
            self._kept = self.attic.kept
            with self.slot.commit:
                self.journal = self.slot.open_journal(sync=sync, capacity=capacity)
                undo.callback(self.journal.close)
                self._adopt()
            undo.pop_all()
        # What the journal is all about, as long as that is a few new messages.
        self._births: list[str] | None = [] if self.journal.is_empty() else None

    def locked(self, streams: set[str]) -> AbstractContextManager[object]:
        if len(streams) == 1:
            return self._locks[next(iter(streams))]
        return Locks([self._locks[name] for name in streams])

    def _adopt(self) -> None:
        """The slot may be a dead process's, and its last commit half done."""
        if self.journal.is_of_this_boot:
            self.repair.replay(self.journal)
        else:
            self.repair.replay(self.journal)
            self.repair.restore(self.slot)
            self.make_safe([(self.slot, self.journal)])
        self.journal.own(Holder.of_this_process("").process)

    def commit(self, changes: list[Change]) -> list[bool]:
        """All or none, durable on return; for each new message, whether it was new."""
        if not changes:
            return []
        journal = self.journal
        entries = [change.entry for change in changes]
        with self.slot.commit:
            self.finish()
            for entry, version in changes:
                if version is not None:
                    self._check_current(entry, version)
            if not journal.has_room(entries) or len(self._kept) > _ATTIC_LIMIT:
                self.make_safe([(self.slot, journal)])
            temporaries: list[str] = []
            try:
                for entry in entries:
                    temporaries.append(self._write_ahead(entry))
                journal.append(entries)
            except BaseException:  # an interrupt too: a living writer's are removed by nobody else
                _remove_all(filter(None, temporaries))
                raise
            return self._apply(changes, temporaries)

    def add(self, entry: Entry) -> bool:
        """The commit of one new message: the same steps, without what only others need. It is what
        happens most, and between two syncs each call costs several times its usual time."""
        journal = self.journal
        with self.slot.commit:
            self.finish()
            if not journal.has_room((entry,)):
                self.make_safe([(self.slot, journal)])
            temporary = self._places.temporary()
            disk.create(temporary, entry.content)
            try:
                journal.append([entry])
            except BaseException:  # as in `commit`
                disk.remove(temporary)
                raise
            target = self._places.path(entry.stream, entry.state, entry.id)
            self._unfinished = True
            try:
                with self._locks[entry.stream]:
                    fresh = self._show_new(entry, temporary, target)
                journal.mark_applied()
            except OSError as error:
                raise _not_shown(error) from error
            if self._births is not None:
                self._note_births(self._births, [Change(entry)])
            self._unfinished = False
            return fresh

    def finish(self) -> None:
        """A commit of ours that was interrupted or refused by the disk is shown before the next."""
        self.journal.refresh()
        if self._unfinished:
            self.repair.replay(self.journal)
            self._unfinished = False

    def finish_own(self) -> None:
        """The same for those who claim: what they want may have moved on in a commit not shown.

        Before they take hold of another's lock, for with that they must not wait for their own.
        """
        if self._unfinished:
            with self.slot.commit:
                self.finish()

    def _check_current(self, entry: Entry, version: Version) -> None:
        """Our commit lock is held, so from here on nobody takes it from us."""
        if not is_current(self._intake, entry, version):
            raise LeaseLost(
                f"{entry.stream} {entry.id} is no longer held by this worker.",
                remedy="Whoever holds it now will finish it.",
            )

    def _write_ahead(self, entry: Entry) -> str:
        """New content under a temporary name: if the disk is full, nothing was committed yet.

        No name for a message whose claim left something in our attic: once the commit is recorded
        that file is of no use any more, and becomes the new one.
        """
        if self._kept and (entry.stream, entry.id) in self._kept:
            return ""
        temporary = self._places.temporary()
        disk.create(temporary, entry.content)
        # The stamp is taken before the file is shown: a moment later a claim may lie there.
        if self.note_stamps:
            self.stamps[entry.stream, entry.id] = disk.stamp_at(temporary)
        return temporary

    def _apply(self, changes: list[Change], temporaries: list[str]) -> list[bool]:
        self._unfinished = True
        try:
            with self.locked({entry.stream for entry, _ in changes}):
                fresh = list(map(self._show, changes, temporaries))
            self.journal.mark_applied()
        except OSError as error:
            raise _not_shown(error) from error
        if self._births is not None:
            self._note_births(self._births, changes)
        self._unfinished = False
        return fresh

    def _note_births(self, births: list[str], changes: list[Change]) -> None:
        if len(births) + len(changes) > _FEW or any(one.replaces for one in changes):
            self._births = None
            return
        for entry, _ in changes:
            births.append(self._places.path(entry.stream, entry.state, entry.id))

    def _show(self, change: Change, temporary: str) -> bool:
        entry, version = change.entry, change.replaces
        target = self._places.path(entry.stream, entry.state, entry.id)
        if version is None:
            return self._show_new(entry, temporary, target)
        if not temporary:
            temporary = self._from_attic(change)
        if target == version.path:
            disk.exchange(temporary, target)
            disk.remove(temporary)
        else:
            self._move_in(entry.stream, temporary, target)
            disk.remove(version.path)
        return True

    def _from_attic(self, change: Change) -> str:
        """The journal has the message whole, so what its claims replaced is needed no more."""
        temporary = self._kept.pop((change.entry.stream, change.entry.id))
        try:
            disk.overwrite(temporary, change.entry.content)
        except FileNotFoundError:  # someone who made everything safe has emptied our attic
            disk.create(temporary, change.entry.content)
        return temporary

    def _show_new(self, entry: Entry, temporary: str, target: str) -> bool:
        known = self._places.is_past(entry.stream, entry.id)
        if not known:
            try:
                disk.link_in(temporary, target)
            except FileExistsError:
                known = self._intake.revision(entry.stream, entry.state, target, entry.id) != -1
                if not known:  # what lies there is no message, and must not cost one
                    self._move_in(entry.stream, temporary, target)
        if known:
            disk.remove(temporary)
        return not known

    def _move_in(self, stream: str, temporary: str, target: str) -> None:
        """Someone may have copied a file of this name there by hand; theirs is the duplicate."""
        try:
            disk.move(temporary, target)
        except FileExistsError:
            self._intake.make_room(stream, target)
            disk.move(temporary, target)

    # Checkpoints

    def checkpoint(self) -> None:
        """Make everything so far safe, and begin the journal anew. For idle moments."""
        if self._unfinished or not self.journal.is_empty() or self._kept:
            with self.slot.commit:
                self.finish()
                if not self._make_births_safe():
                    self.make_safe([(self.slot, self.journal)])

    def _make_births_safe(self) -> bool:
        """A command that only published a little syncs just that: `syncfs` would wait for all that
        everybody wrote. False if there is more to it."""
        if self._births is None or self._kept or not self._sync:
            return False
        if not all(disk.sync_file(path) for path in self._births):
            return False  # someone has moved one on already
        for directory in {os.path.dirname(path) for path in self._births}:
            disk.sync_directory(directory)
        self.journal.void()
        self._births = []
        return True

    def make_safe(self, slots: list[tuple[Slot, Journal]]) -> None:
        """The caller holds the commit or life lock of each; what they recorded is applied."""
        kept: list[Kept] = [one for slot, _ in slots for one in slot.kept()]
        if self._sync:
            disk.sync_filesystem(self._places.base.bus)
        for _, journal in slots:
            if not journal.is_empty():
                journal.void()
        # Under the lock, for a living owner may be swapping something out of its attic just now.
        with self.locked({one.stream for one in kept}):
            _remove_all(one.path for one in kept)
        if self._sync and kept:
            # Lest an old version outlive the message itself, once that is pruned.
            for slot, _ in slots:
                disk.sync_directory(slot.attic)
        if any(slot is self.slot for slot, _ in slots):
            self._kept.clear()
            self._births = []

    def close(self) -> None:
        # Without a checkpoint a later boot would look at all of it again, and undo what people did.
        with suppress(OSError):  # what was committed is in the journal, and shown by the next start
            self.checkpoint()
        self.journal.close()
        self.slot.close()
        for lock in self._locks.values():
            lock.close()


def _not_shown(error: OSError) -> TryLater:
    return TryLater(
        f"Recorded, but the queue could not be changed: {error.strerror or error}.",
        remedy="Nothing is lost; it appears as soon as the directory can be written.",
        code="not_shown",
    )


def _remove_all(paths: Iterable[str]) -> None:
    for path in paths:
        disk.remove(path)
