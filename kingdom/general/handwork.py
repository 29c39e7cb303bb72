"""Task files that a person moved by hand while this general had them in hand.

Elsewhere the directory is believed. Here a soldier is at the task, and whoever found the file in
`pending/` would set a second one to the same work. So the file goes back to where its claim has it,
under the stream's lock, and only as the very version that was claimed. What the person may have
meant by it is the daemon's to decide.
"""

from __future__ import annotations

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.lease import Holder
from kingdom.bus.port import Claim
from kingdom.models.base import Record
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import PENDING

TASKS, WORKING = "tasks", "in_progress"


class Handwork:
    def __init__(self, base: BaseDir, general: str) -> None:
        self._caretaker = Caretaker(base)
        self._places = self._caretaker.places
        self._general = general

    def moved_to(self, claim: Claim) -> str:
        """Where the claimed file lies now; empty if that is its place, or it is ours no more."""
        if disk.exists(self._places.path(TASKS, claim.state, claim.id)):
            return ""
        revision = claim.message.delivery.revision
        copies = self._caretaker.copies(TASKS, claim.id)
        found = (path for path, one in copies.items() if one == revision)
        return next((self._places.state_of(TASKS, path) for path in found), "")

    def put_back(self, claim: Claim, found_in: str) -> bool:
        return self._move(claim.id, found_in, claim.state, claim.message.delivery.revision)

    def take_from_pending(self, task: Record) -> bool:
        """Whether it lay there with the lease of a former life of this general's, and is now where
        that one had it."""
        holder = Holder.parse(task.delivery.locked_by or "")
        if holder is None or holder.worker != self._general or not holder.is_gone():
            return False
        return self._move(task.id, PENDING, WORKING, task.delivery.revision)

    def _move(self, id_: str, source: str, target: str, revision: int) -> bool:
        """False if it went meanwhile, or the disk refuses: then it is lost to us, as any other."""
        path = self._places.path(TASKS, source, id_)
        with self._caretaker.locked(TASKS):
            if self._caretaker.copies(TASKS, id_).get(path) != revision:
                return False
            try:
                disk.move(path, self._places.path(TASKS, target, id_))
            except OSError:
                return False
        return True
