"""Task files that a person moved by hand while this general had them in hand.

Elsewhere the directory is believed. Here a soldier is at the task, and whoever found the file in
`pending/` would set a second one to the same work. So the file goes back to where its claim has it,
under the stream's lock, and only as the very version that was claimed.
"""

from __future__ import annotations

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.lease import Holder
from kingdom.bus.port import Claim
from kingdom.general.attempt import Attempt
from kingdom.general.control import Control
from kingdom.general.reporting import Reporter
from kingdom.models.base import Record
from kingdom.runtime.role import Setting
from kingdom.store import disk
from kingdom.topology import PENDING

TASKS, WORKING = "tasks", "in_progress"


class Handwork:
    def __init__(self, setting: Setting, control: Control, reporter: Reporter) -> None:
        self._caretaker = Caretaker(setting.base)
        self._places = self._caretaker.places
        self._setting = setting
        self._control = control
        self._reporter = reporter

    def undo(self, attempt: Attempt) -> bool:
        """Whether a person had moved its file. Back to `pending/`: its soldier goes on, for none
        may begin beside it. To where ended ones lie: it is to end, so it is cancelled."""
        found_in, id_ = self._moved_to(attempt.claim), attempt.task.id
        if not found_in:
            return False
        if found_in != PENDING:  # before it is put back: a crash in between still ends it
            now = self._setting.clock.now()
            self._control.cancel(id_, by=f"moved to {found_in}/ by hand", at=now)
        if not self._put_back(attempt.claim, found_in):
            return False
        self._setting.log.warning("task.moved_by_hand", task_id=id_, found_in=found_in)
        self._reporter.put_back(attempt, found_in)
        return True

    def _moved_to(self, claim: Claim) -> str:
        """Where the claimed file lies now; empty if that is its place, or it is ours no more."""
        if disk.exists(self._places.path(TASKS, claim.state, claim.id)):
            return ""
        revision = claim.message.delivery.revision
        copies = self._caretaker.copies(TASKS, claim.id)
        found = (path for path, one in copies.items() if one == revision)
        return next((self._places.state_of(TASKS, path) for path in found), "")

    def _put_back(self, claim: Claim, found_in: str) -> bool:
        return self._move(claim.id, found_in, claim.state, claim.message.delivery.revision)

    def take_from_pending(self, task: Record) -> bool:
        """Whether it lay there with the lease of a former life of this general's, and is now where
        that one had it."""
        holder = Holder.parse(task.delivery.locked_by or "")
        if holder is None or holder.worker != self._setting.name or not holder.is_gone():
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
