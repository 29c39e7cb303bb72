"""Finishing what a crash left half done. Everything here may itself be interrupted and run again.

Order matters: journals first (they know what was committed), then the attic (what a claim replaced
and a power loss may have eaten), then temporaries of writers that are gone. Only when one `syncfs`
has made the result safe do the records and the attic go.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from kingdom.bus.files.copies import Copies
from kingdom.bus.files.intake import Intake, is_blank
from kingdom.bus.files.journal import Entry, Journal
from kingdom.bus.files.places import Places
from kingdom.bus.files.slot import Kept, Slot
from kingdom.store import disk, leftovers

Locked = Callable[[set[str]], AbstractContextManager[object]]


class Repair:
    def __init__(self, places: Places, intake: Intake, locked: Locked) -> None:
        self._places = places
        self._intake = intake
        self._copies = Copies(places, intake)
        self._locked = locked

    def replay(self, journal: Journal) -> int:
        """Make true what the journal's unapplied records say; answers how many there were."""
        count = 0
        for entries in journal.unapplied():
            with self._locked({entry.stream for entry in entries}):
                for entry in entries:
                    self.place(entry)
            count += 1
        return count

    def place(self, entry: Entry) -> None:
        """See to it that the message is at least as far as this entry. Under the stream's lock.

        A copy of the very revision in another directory is a file that was written over before
        its new name was safe. One that cannot be read is what a power loss left of a version that
        the record supersedes.
        """
        target = self._places.path(entry.stream, entry.state, entry.id)
        copies = self._copies.of(entry.stream, entry.id)
        if entry.revision == 1:
            # Publishing an id that is known, by whatever file, does nothing.
            further = [path for path, revision in copies.items() if revision >= 0]
        else:
            further = [p for p, r in copies.items() if (r, p == target) >= (entry.revision, True)]
        if not further:
            self._write(entry, target, in_place=target in copies)
            further = [target]
        for path, revision in copies.items():
            if path not in further and revision <= entry.revision:
                disk.remove(path)

    def _write(self, entry: Entry, target: str, *, in_place: bool) -> None:
        temporary = self._places.temporary()
        disk.create(temporary, entry.content)
        try:
            if in_place:
                disk.exchange(temporary, target)
                disk.remove(temporary)
            else:
                disk.move(temporary, target)
        except OSError:  # it is tried again and again, and a living writer's are removed by nobody
            disk.remove(temporary)
            raise

    def restore(self, slot: Slot) -> int:
        """Bring back from the attic what is nowhere else; answers how many."""
        count = 0
        for kept in slot.kept():
            # Before the exchange a claim's new content lies under the attic's name: not that one.
            found = self._intake.revision(kept.stream, kept.state, kept.path, kept.id)
            if found == kept.revision:
                with self._locked({kept.stream}):
                    count += self._bring_back(kept)
        return count

    def _bring_back(self, kept: Kept) -> bool:
        copies = self._copies.of(kept.stream, kept.id)
        if any(revision >= 0 or not is_blank(path) for path, revision in copies.items()):
            return False
        for blank in copies:
            disk.remove(blank)
        disk.move(kept.path, self._places.path(kept.stream, kept.state, kept.id))
        return True

    def clear_temporaries(self) -> int:
        """Those whose writer is gone."""
        return leftovers.clear_in(self._places.temporaries)
