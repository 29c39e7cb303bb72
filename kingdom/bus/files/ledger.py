"""How files of the bus change: by a commit, which is synced, or by a claim, which is not.

The ledger owns this process's slot (journal, attic, locks) and the streams' locks. A `Change` says
what a message becomes and which version of which file it replaces.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import CAPACITY, Entry, Journal
from kingdom.bus.files.places import Places
from kingdom.bus.files.repair import Repair
from kingdom.bus.files.slot import Kept, Slot, first_free, others
from kingdom.bus.lease import Holder
from kingdom.bus.port import Recovered
from kingdom.errors import LeaseLost, TryLater
from kingdom.store import disk
from kingdom.topology import STREAMS

_ATTIC_LIMIT = 4096
_FEW = 32


class Version(NamedTuple):
    """One file as it was seen: where, and which."""

    state: str
    path: str
    stamp: disk.Stamp
    revision: int


class Change(NamedTuple):
    entry: Entry
    replaces: Version | None = None


class Ledger:
    def __init__(
        self, places: Places, intake: Intake, *, sync: bool, capacity: int = CAPACITY
    ) -> None:
        self._places = places
        self._intake = intake
        self._sync = sync
        self._locks = {name: disk.Lock(f"{places.locks}/{name}") for name in STREAMS}
        self._repair = Repair(places, intake, self.locked)
        self._slot = first_free(places)
        self.note_stamps = False  # whether the caller wants to know the files it makes
        self.stamps: dict[tuple[str, str], disk.Stamp] = {}
        self._unfinished = False
        self._kept: dict[tuple[str, str], str] = {}  # what lies in the attic, by message
        with self._slot.commit:
            self._journal = self._slot.open_journal(sync=sync, capacity=capacity)
            self._adopt()
        # What the journal is all about, as long as that is a few new messages.
        self._births: list[str] | None = [] if self._journal.is_empty() else None

    def locked(self, streams: set[str]) -> AbstractContextManager[object]:
        if len(streams) == 1:
            return self._locks[next(iter(streams))]
        return disk.Locks([self._locks[name] for name in streams])

    def _adopt(self) -> None:
        """The slot may be a dead process's, and its last commit half done."""
        if self._journal.is_of_this_boot:
            self._repair.replay(self._journal)
        else:
            self._repair.replay(self._journal)
            self._repair.restore(self._slot)
            self._make_safe([(self._slot, self._journal)])
        self._journal.own(Holder.of_this_process("").process)

    # Commits

    def commit(self, changes: list[Change]) -> list[bool]:
        """All or none, durable on return; for each new message, whether it was new."""
        if not changes:
            return []
        journal = self._journal
        entries = [change.entry for change in changes]
        with self._slot.commit:
            self._finish()
            for entry, version in changes:
                if version is not None:
                    self._check_current(entry, version)
            if not journal.has_room(entries) or len(self._kept) > _ATTIC_LIMIT:
                self._make_safe([(self._slot, journal)])
            temporaries: list[str] = []
            try:
                for entry in entries:
                    temporaries.append(self._write_ahead(entry))
                journal.append(entries)
            except BaseException:
                _remove_all(filter(None, temporaries))
                raise
            return self._apply(changes, temporaries)

    def add(self, entry: Entry) -> bool:
        """The commit of one new message: the same steps, without what only others need. It is what
        happens most, and between two syncs each call costs several times its usual time."""
        journal = self._journal
        with self._slot.commit:
            self._finish()
            if not journal.has_room((entry,)):
                self._make_safe([(self._slot, journal)])
            temporary = self._places.temporary()
            disk.create(temporary, entry.content)
            try:
                journal.append([entry])
            except BaseException:
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

    def _finish(self) -> None:
        """A commit of ours that was interrupted or refused by the disk is shown before the next."""
        self._journal.refresh()
        if self._unfinished:
            self._repair.replay(self._journal)
            self._unfinished = False

    def _check_current(self, entry: Entry, version: Version) -> None:
        """Our commit lock is held, so from here on nobody takes it from us."""
        if not self._is_current(entry, version):
            raise LeaseLost(
                f"{entry.stream} {entry.id} is no longer held by this worker.",
                remedy="Whoever holds it now will finish it.",
            )

    def _is_current(self, entry: Entry, version: Version) -> bool:
        """The very file, or one that a person touched or edited since: the revision tells."""
        facts = disk.facts_of(version.path)
        if facts is not None and disk.stamp_of(facts) == version.stamp:
            return True
        found = self._intake.revision(entry.stream, version.state, version.path, entry.id)
        return found == version.revision

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
        if self.note_stamps and (facts := disk.facts_of(temporary)):
            self.stamps[entry.stream, entry.id] = disk.stamp_of(facts)
        return temporary

    def _apply(self, changes: list[Change], temporaries: list[str]) -> list[bool]:
        self._unfinished = True
        try:
            with self.locked({entry.stream for entry, _ in changes}):
                fresh = list(map(self._show, changes, temporaries))
            self._journal.mark_applied()
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

    # Claims

    def take(self, change: Change, *, mine: bool = False) -> Version | None:
        """Put a new version in place of the one seen, without a sync; None if that one is gone.

        What is not `mine` yet must be just what was seen, and nowhere else besides. The replaced
        version goes to the attic until a commit or a checkpoint makes a newer one safe.
        """
        entry, version = change.entry, change.replaces
        assert version is not None
        if self._unfinished:
            with self._slot.commit:
                self._finish()  # what is to be taken may have moved on in a commit not shown yet
        target = self._places.path(entry.stream, entry.state, entry.id)
        kept = self._slot.attic_name(entry.stream, version.state, entry.id, version.revision)
        temporary = self._places.temporary()
        disk.create(temporary, entry.content)
        with self.locked({entry.stream}):
            is_free = self._is_current if mine else self._is_alone
            if not is_free(entry, version):
                disk.remove(temporary)
                return None
            if target == version.path:
                # Under the attic's name first: then one swap both shows the new and keeps the old.
                _move_over(temporary, kept)
                disk.exchange(kept, target)
            else:
                disk.move(temporary, target)
                _move_over(version.path, kept)
            facts = disk.facts_of(target)
        if self._kept.setdefault((entry.stream, entry.id), kept) != kept:
            disk.remove(kept)  # an earlier version lies there already, and that one is safe
        return Version(entry.state, target, disk.stamp_of(facts), entry.revision) if facts else None

    def _is_alone(self, entry: Entry, version: Version) -> bool:
        """Whether this version is still there, and no other copy of the message anywhere."""
        facts = disk.facts_of(version.path)
        if facts is None or disk.stamp_of(facts) != version.stamp:
            return False
        return self._places.lying_only_in(entry.stream, version.path, entry.id)

    @contextmanager
    def late_holder(self, process: str) -> Iterator[bool]:
        """Yields whether nothing of this living process's is being committed, and keeps it so."""
        with ExitStack() as stack:
            owned = [slot for slot in self._others(stack) if slot.owner() == process]
            free = all(slot.commit.try_acquire() for slot in owned)
            for slot in owned:
                stack.callback(slot.commit.release)
            yield free

    # Checkpoints and recovery

    def checkpoint(self) -> None:
        """Make everything so far safe, and begin the journal anew. For idle moments."""
        if self._unfinished or not self._journal.is_empty() or self._kept:
            with self._slot.commit:
                self._finish()
                if not self._make_births_safe():
                    self._make_safe([(self._slot, self._journal)])

    def _make_births_safe(self) -> bool:
        """A command that only published a little syncs just that: `syncfs` would wait for all that
        everybody wrote. False if there is more to it."""
        if self._births is None or self._kept or not self._sync:
            return False
        if not all(disk.sync_file(path) for path in self._births):
            return False  # someone has moved one on already
        for directory in {os.path.dirname(path) for path in self._births}:
            disk.sync_directory(directory)
        self._journal.void()
        self._births = []
        return True

    def _make_safe(self, slots: list[tuple[Slot, Journal]]) -> None:
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
        if any(slot is self._slot for slot, _ in slots):
            self._kept.clear()
            self._births = []

    def recover(self) -> Recovered:
        """Finish what dead processes left. The living are not disturbed."""
        commits = restored = 0
        dead: list[tuple[Slot, Journal]] = []
        with ExitStack() as stack:
            for slot in self._others(stack):
                is_free = slot.life.try_acquire()
                if is_free:
                    stack.callback(slot.life.release)
                elif not _is_being_adopted(slot):
                    continue
                journal = self._journal_of(slot, stack)
                commits += self._repair.replay(journal)
                if not journal.is_of_this_boot:
                    restored += self._repair.restore(slot)
                if is_free and (not journal.is_empty() or slot.kept()):
                    dead.append((slot, journal))
            if dead:
                self._make_safe(dead)
        return Recovered(commits, restored, self._repair.clear_temporaries())

    def _journal_of(self, slot: Slot, stack: ExitStack) -> Journal:
        """Another's journal, with its commit lock held until the stack unwinds."""
        slot.commit.acquire()
        stack.callback(slot.commit.release)
        journal = slot.open_journal(sync=self._sync)
        stack.callback(journal.close)
        return journal

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Nobody commits meanwhile, and everything committed so far is shown, safe, and in no
        journal: the moment for pruning and for a backup."""
        self.recover()
        with ExitStack() as stack:
            journals: list[tuple[Slot, Journal]] = []
            # In the order of their numbers, own included, so that two of us never wait in a ring.
            for slot in sorted([self._slot, *self._others(stack)], key=lambda one: one.number):
                if slot is self._slot:
                    stack.enter_context(slot.commit)
                    self._finish()
                    journals.append((slot, self._journal))
                else:
                    journal = self._journal_of(slot, stack)
                    self._repair.replay(journal)
                    journals.append((slot, journal))
            self._make_safe(journals)
            yield

    def _others(self, stack: ExitStack) -> list[Slot]:
        found = others(self._places, self._slot)
        for slot in found:
            stack.callback(slot.close)
        return found

    def close(self) -> None:
        self.checkpoint()  # or a later boot would look at all of it again, and undo what people did
        self._journal.close()
        self._slot.close()
        for lock in self._locks.values():
            lock.close()


def _not_shown(error: OSError) -> TryLater:
    return TryLater(
        f"Recorded, but the queue could not be changed: {error.strerror or error}.",
        remedy="Nothing is lost; it appears as soon as the directory can be written.",
        code="not_shown",
    )


def _is_being_adopted(slot: Slot) -> bool:
    """Someone living has just taken a dead process's slot, and may not have replayed it yet."""
    owner = Holder.parse(f"@{slot.owner()}")
    return owner is not None and owner.is_gone()


def _move_over(path: str, kept: str) -> None:
    """Into the attic, where a leftover of that name is of no use to anyone."""
    try:
        disk.move(path, kept)
    except FileExistsError:
        disk.remove(kept)
        disk.move(path, kept)


def _remove_all(paths: Iterable[str]) -> None:
    for path in paths:
        disk.remove(path)
