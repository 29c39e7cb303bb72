"""The other processes on this bus, each with a slot of its own.

What the dead left half done is finished; from the late a message is taken only while they commit
nothing; and all stand still together for pruning and for a backup.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kingdom.bus.files.journal import Journal
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.places import Places
from kingdom.bus.files.slot import Slot, numbers, others
from kingdom.bus.lease import Holder
from kingdom.bus.port import Recovered
from kingdom.errors import TryLater
from kingdom.store.state import note_unread


class Neighbours:
    def __init__(self, places: Places, ledger: Ledger, *, sync: bool) -> None:
        self._places = places
        self._ledger = ledger
        self._sync = sync

    def recover(self) -> Recovered:
        """Finish what dead processes left. The living are not disturbed."""
        commits = restored = 0
        dead: list[tuple[Slot, Journal]] = []
        repair = self._ledger.repair
        with ExitStack() as stack:
            for slot in self._readable(stack):
                is_free = slot.life.try_acquire()
                if is_free:
                    stack.callback(slot.life.release)
                elif not _is_being_adopted(slot):
                    continue
                journal = self._journal_of(slot, stack)
                commits += repair.replay(journal)
                if not journal.is_of_this_boot:
                    restored += repair.restore(slot)
                if is_free and (not journal.is_empty() or slot.kept()):
                    dead.append((slot, journal))
            if dead:
                self._ledger.make_safe(dead)
        return Recovered(commits, restored, repair.clear_temporaries())

    @contextmanager
    def late_holder(self, process: str) -> Iterator[bool]:
        """Yields whether nothing of this living process's is being committed, and keeps it so."""
        with ExitStack() as stack:
            owned = [slot for slot in self._others(stack) if slot.owner() == process]
            free = all(slot.commit.try_acquire() for slot in owned)
            for slot in owned:
                stack.callback(slot.commit.release)
            yield free

    @contextmanager
    def quiet(self, *, wait: bool = True, unreadable: list[str] | None = None) -> Iterator[None]:
        """Nobody commits meanwhile, and everything committed so far is shown, safe, and in no
        journal: the moment for pruning and for a backup. Who does not wait for others is told
        by `TryLater` that one of them commits just now. Who gives a list goes on without the
        journals that this user may not write to, and finds them in it."""
        self.recover()
        ledger = self._ledger
        with ExitStack() as stack:
            journals: list[tuple[Slot, Journal]] = []
            # In the order of their numbers, own included, so that two of us never wait in a ring.
            others = (
                self._others(stack) if unreadable is None else self._readable(stack, unreadable)
            )
            for slot in sorted([ledger.slot, *others], key=lambda one: one.number):
                if slot is ledger.slot:
                    stack.enter_context(slot.commit)
                    ledger.finish()
                    journals.append((slot, ledger.journal))
                else:
                    journal = self._journal_of(slot, stack, wait=wait)
                    ledger.repair.replay(journal)
                    journals.append((slot, journal))
            ledger.make_safe(journals)
            yield

    def _readable(self, stack: ExitStack, unreadable: list[str] | None = None) -> Iterator[Slot]:
        """Of the others, those that this user may write to. What lies in the rest waits until
        someone gives the right to it: it is applied then, however late."""
        names = [] if unreadable is None else unreadable
        for number in numbers(self._places):
            if number == self._ledger.slot.number:
                continue
            try:
                slot = Slot(self._places, number)
            except PermissionError as error:
                note_unread(str(error.filename), error)
                names.append(str(error.filename))
                continue
            stack.callback(slot.close)
            if slot.is_writable():
                yield slot
            else:
                names.append(slot.journal_path)

    def _others(self, stack: ExitStack) -> list[Slot]:
        found = others(self._places, self._ledger.slot)
        for slot in found:
            stack.callback(slot.close)
        return found

    def _journal_of(self, slot: Slot, stack: ExitStack, *, wait: bool = True) -> Journal:
        """Another's journal, with its commit lock held until the stack unwinds."""
        if wait:
            slot.commit.acquire()
        elif not slot.commit.try_acquire():
            raise TryLater("Someone commits just now.", remedy="Try again.", code="bus_busy")
        stack.callback(slot.commit.release)
        journal = slot.open_journal(sync=self._sync)
        stack.callback(journal.close)
        return journal


def _is_being_adopted(slot: Slot) -> bool:
    """Someone living has just taken a dead process's slot, and may not have replayed it yet."""
    owner = Holder.parse(f"@{slot.owner()}")
    return owner is not None and owner.is_gone()
