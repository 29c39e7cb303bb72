"""What processes that are gone left behind, only looked at. `recover` is what cleans it up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import is_blank
from kingdom.bus.files.journal import Entry, Journal
from kingdom.bus.files.places import Places
from kingdom.bus.files.slot import Kept, Slot, numbers
from kingdom.store import disk


def unshown_entries(caretaker: Caretaker) -> list[Entry]:
    """Committed by a process that died before `queue/` showed it."""
    missing = []
    for slot in _dead_slots(caretaker.places):
        for entry in _recorded(caretaker.places, slot):
            copies = caretaker.copies(entry.stream, entry.id).values()
            wanted = 0 if entry.revision == 1 else entry.revision
            if not any(revision >= wanted for revision in copies):
                missing.append(entry)
    return missing


def _recorded(places: Places, slot: Slot) -> list[Entry]:
    with _journal_of(places, slot) as journal:
        return [entry for entries in journal.peek() for entry in entries] if journal else []


def _is_of_another_boot(places: Places, slot: Slot) -> bool:
    with _journal_of(places, slot) as journal:
        return journal is not None and not journal.is_of_this_boot


@contextmanager
def _journal_of(places: Places, slot: Slot) -> Iterator[Journal | None]:
    """None for a slot that has none yet: opening would make one."""
    if not disk.exists(os.path.join(places.journals, f"{slot.number}.journal")):
        yield None
        return
    journal = slot.open_journal(sync=False)
    try:
        yield journal
    finally:
        journal.close()


def only_in_attic(caretaker: Caretaker) -> list[Kept]:
    """Messages whose only whole copy is the one a claim had set aside.

    Only where the machine went down meanwhile: else what is missing was taken away by someone.
    """
    missing = []
    for slot in _dead_slots(caretaker.places):
        for kept in slot.kept() if _is_of_another_boot(caretaker.places, slot) else ():
            copies = caretaker.copies(kept.stream, kept.id)
            if all(revision < 0 and is_blank(path) for path, revision in copies.items()):
                missing.append(kept)
    return missing


def _dead_slots(places: Places) -> Iterator[Slot]:
    """Each with its life lock held while it is looked at, so that nobody takes it over."""
    for number in numbers(places):
        with _opened(Slot(places, number)) as slot:
            if slot.life.try_acquire():
                yield slot


@contextmanager
def _opened(slot: Slot) -> Iterator[Slot]:
    try:
        yield slot
    finally:
        slot.close()
