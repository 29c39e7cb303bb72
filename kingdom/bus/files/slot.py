"""A process's own corner of the bus: a journal, an attic, and two locks.

`life` is held as long as the process lives, so anyone can see by trying it that the owner is gone.
`commit` is held while a commit is under way: whoever wants to take a message from a living but late
holder, or to void its journal, must have it first. Slots are numbered and used again.
"""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack
from dataclasses import dataclass

from kingdom.bus.files.journal import CAPACITY, HEADER_SIZE, Journal, process_in
from kingdom.bus.files.places import SUFFIX, Places
from kingdom.bus.lease import Holder
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.rights import may_change


@dataclass(frozen=True)
class Kept:
    """A version of a message that a claim replaced."""

    path: str
    stream: str
    state: str
    id: str
    revision: int


class Slot:
    def __init__(self, places: Places, number: int) -> None:
        self.number = number
        path = os.path.join(places.journals, str(number))
        self.attic = os.path.join(places.attics, str(number))
        self.life = Lock(f"{path}.life")
        self.commit = Lock(f"{path}.commit")
        self.journal_path = f"{path}.journal"
        self._mark_path = f"{path}.mark"

    def open_journal(self, *, sync: bool, capacity: int = CAPACITY) -> Journal:
        process = Holder.of_this_process("").process
        return Journal(self.journal_path, process, sync=sync, capacity=capacity)

    def is_writable(self) -> bool:
        """Whether this user may write here at all."""
        return may_change(self.journal_path) and may_change(self._mark_path)

    def is_usable(self) -> bool:
        """Whether it is free, too: somebody may have removed the lock of a process that lives."""
        if not self.is_writable():
            return False
        owner = Holder.parse(f"@{self.owner()}")
        is_ours = owner is not None and owner.process == Holder.of_this_process("").process
        return owner is None or is_ours or not owner.is_alive()

    def owner(self) -> str:
        """The process that wrote here last; looked up without touching the journal."""
        try:
            return process_in(disk.head(self.journal_path, HEADER_SIZE))
        except OSError:  # no file, or another user's
            return ""

    def attic_name(self, stream: str, state: str, id_: str, revision: int) -> str:
        return f"{self.attic}/{stream}~{state}~{id_}~{revision}{SUFFIX}"

    def kept(self) -> list[Kept]:
        """What lies in the attic, the newest revision first."""
        found = []
        for name in disk.names(self.attic):
            parts = name.removesuffix(SUFFIX).split("~")
            if len(parts) == 4 and parts[3].isdecimal():
                path = os.path.join(self.attic, name)
                found.append(Kept(path, parts[0], parts[1], parts[2], int(parts[3])))
        return sorted(found, key=lambda one: -one.revision)

    def close(self) -> None:
        self.life.close()
        self.commit.close()


def first_free(places: Places) -> Slot:
    """The lowest-numbered slot whose owner is gone; it is this process's from now on."""
    for number in itertools.count():
        try:
            slot = Slot(places, number)
        except PermissionError:  # another has it, and its lock became someone else's
            if not disk.exists(os.path.join(places.journals, f"{number}.life")):
                raise
            continue
        with ExitStack() as undo:
            undo.callback(slot.close)
            if slot.life.try_acquire() and slot.is_usable():
                disk.make_directory(slot.attic)
                undo.pop_all()
                return slot
    raise AssertionError("numbers do not end")


def others(places: Places, own: Slot) -> list[Slot]:
    """Every other slot there is, in order. The caller closes them."""
    return [Slot(places, number) for number in numbers(places) if number != own.number]


def numbers(places: Places) -> list[int]:
    """Of all slots there are, in order."""
    named = {name.partition(".")[0] for name in disk.names(places.journals)}
    return sorted(int(name) for name in named if name.isdecimal())
