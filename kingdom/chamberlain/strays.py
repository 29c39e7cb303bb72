"""The duty that ends soldiers nobody owns, and strikes out those that are no more.

A general sees to its own as long as it runs, and adopts them when it comes back. So a soldier is a
stray only when its general has been gone for long and its task is not in progress any more; or when
no file tells whose it is. It is asked to end, then killed with all that it started.

Reads `state/soldiers/`, `state/sessions.json` and `queue/tasks/in_progress/`. A crash leaves a
soldier asked to end; the next life looks for itself.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Any, NamedTuple

from kingdom.chamberlain import roll
from kingdom.chamberlain.absence import Absence
from kingdom.chamberlain.duty import Office
from kingdom.engines import attempts, tree
from kingdom.models.ids import is_id
from kingdom.runtime.processes import Seat
from kingdom.runtime.registry import registry_of
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.topology import TASKS

EVERY = 30.0  # seconds between two looks
SOON = 1.0  # while someone is being ended, or the registry is in another's hands
PATIENCE = 12.0  # seconds a wrapper may take to end its tree, before we do it


class Owner(NamedTuple):
    """To whom a soldier belongs, as files tell; empty when none does."""

    general: str = ""
    task_id: str = ""


class Strays:
    name = "strays"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._base = office.base
        self._absence = Absence(office)
        self._asked: dict[str, float] = {}  # when each stray was asked to end
        self._wrappers: dict[str, int] = {}  # that run now
        self._over: set[str] = set()  # strays of which nothing runs any more, whose files stay
        self._orphans: set[str] = set()  # told of, and still in the registry

    def start(self) -> None:
        """Nothing is remembered but what lies in files."""

    def step(self) -> float:
        self._absence.look(EVERY * 3)
        self._wrappers = attempts.running(self._base)
        owners = self._owners()
        strays = {id_: owner for id_, owner in owners.items() if self._is_stray(id_, owner)}
        for soldier_id in strays.keys() - self._over:
            self._end(soldier_id, strays[soldier_id])
        for soldier_id in self._asked.keys() - strays.keys():
            del self._asked[soldier_id]  # it has an owner again
        self._over &= strays.keys()
        self._strike_out()
        return SOON if self._asked or self._orphans else EVERY

    def stop(self) -> None:
        """Nothing: a soldier that was asked to end does."""

    # Whose it is

    def _owners(self) -> dict[str, Owner]:
        """Of every soldier that has a spec, or a wrapper that runs, or was asked to end."""
        enlisted = roll.enlisted(self._base)
        named = {one.soldier_id: Owner(one.general, one.task_id) for one in enlisted}
        found = attempts.ids_with(self._base) | self._wrappers.keys() | self._asked.keys()
        return {
            soldier_id: self._spec_of(soldier_id) or named.get(soldier_id, Owner())
            for soldier_id in found
            if is_id(soldier_id)
        }

    def _spec_of(self, soldier_id: str) -> Owner | None:
        spec = read_json(attempts.path_of(self._base, soldier_id))
        if not isinstance(spec, dict) or not spec.get("general"):
            return None
        return Owner(str(spec["general"]), str(spec.get("task_id")))

    def _is_stray(self, soldier_id: str, owner: Owner) -> bool:
        if not owner.general:
            return self._absence.has_lasted(soldier_id, True)
        return self._absence.is_gone(owner.general) and not self._is_at_work(soldier_id, owner)

    def _is_at_work(self, soldier_id: str, owner: Owner) -> bool:
        """Whether its general will adopt it when it comes back."""
        task_id = owner.task_id
        if not is_id(task_id):
            return False
        path = self._base.path(TASKS.root, "in_progress", f"{task_id}.json")
        named = disk.head(self._base.path("state", "results", f"{task_id}-soldier-id"), 256)
        return disk.exists(path) and named == soldier_id.encode()

    # Its end

    def _end(self, soldier_id: str, owner: Owner) -> None:
        wrapper = self._wrappers.get(soldier_id)
        living = [*tree.Survey().members(wrapper, soldier_id)]
        wrappers = [] if wrapper is None else [wrapper]
        if not wrappers and not living:
            self._ended(soldier_id, owner)
        elif soldier_id not in self._asked:
            self._asked[soldier_id] = self._office.clock.monotonic()
            self._office.log.warning("soldier.stray", soldier_id=soldier_id, task_id=owner.task_id)
            tree.send(wrappers or living, signal.SIGTERM)
        elif self._office.clock.monotonic() - self._asked[soldier_id] >= PATIENCE:
            tree.send([*wrappers, *living], signal.SIGKILL)

    def _ended(self, soldier_id: str, owner: Owner) -> None:
        if self._asked.pop(soldier_id, None) is not None:
            reason = _reason(owner)
            self._office.tell("soldier.killed", soldier_id=soldier_id, reason=reason)
            self._office.tell("recovery.session_killed", soldier_id=soldier_id, reason=reason)
        # A general that comes back takes what it reported; one that is not installed will not.
        if owner.general not in self._office.config.generals:
            attempts.forget(self._base, soldier_id)
        else:
            self._over.add(soldier_id)

    # The registry

    def _strike_out(self) -> None:
        gone = {one.soldier_id: one for one in roll.enlisted(self._base) if self._is_orphaned(one)}
        for soldier_id in gone.keys() - self._orphans:
            task_id = gone[soldier_id].task_id
            self._office.tell("system.session_orphaned", soldier_id=soldier_id, task_id=task_id)
        self._orphans = set(gone)
        if not gone:
            return
        with registry_of(self._base) as is_ours:
            removed = self._remove(gone) if is_ours else 0
        if removed:
            self._orphans.clear()
            self._office.tell("recovery.sessions_cleaned", removed_count=removed)

    def _is_orphaned(self, one: roll.Enlisted) -> bool:
        ran_out = one.runner is None or not one.runner.is_alive()
        return ran_out and self._absence.is_gone(one.general)

    def _remove(self, gone: Iterable[str]) -> int:
        """With the registry in hand: a general that has come back meanwhile keeps its own."""
        entries = roll.entries(self._base)
        kept = [one for one in entries if str(one.get("id")) not in gone or self._is_back(one)]
        if len(kept) < len(entries):
            write_json(self._base.sessions_file, kept, sync=False)
        return len(entries) - len(kept)

    def _is_back(self, entry: dict[str, Any]) -> bool:
        return Seat(self._base, str(entry.get("general"))).is_taken()


def _reason(owner: Owner) -> str:
    if not owner.general:
        return "orphaned: no file tells whose it is"
    return f"orphaned: {owner.task_id} is not in progress, and {owner.general} does not run"
