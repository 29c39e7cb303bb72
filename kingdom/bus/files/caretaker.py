"""What no verb of the bus covers and an operator's check, repair and backup need.

Everything is done under the stream's lock and looks again before it changes anything, so it is safe
while every role runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from kingdom.bus.files.copies import Copies
from kingdom.bus.files.intake import PASSING, Intake, reason_path, refused_by_disk
from kingdom.bus.files.places import Places
from kingdom.clock import Clock, SystemClock
from kingdom.errors import InvalidFile
from kingdom.models.base import Record
from kingdom.models.part import spelled
from kingdom.store import disk
from kingdom.store.locks import Lock, Locks
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, STREAMS

Revisions = dict[str, int]  # revision by path; -1 for what cannot be read


class Caretaker:
    def __init__(self, base: BaseDir, clock: Clock | None = None) -> None:
        self.places = Places(base)
        self._intake = Intake(self.places, clock or SystemClock())
        self._copies = Copies(self.places, self._intake)

    @contextmanager
    def locked(self, *streams: str) -> Iterator[None]:
        """Nobody claims from or moves within these streams meanwhile; all of them if none named."""
        locks = [Lock(f"{self.places.locks}/{name}") for name in streams or STREAMS]
        try:
            with Locks(locks):
                yield
        finally:
            for lock in locks:
                lock.close()

    def read(self, stream: str, state: str, path: str) -> Record:
        """The record in this file, whatever it is called. InvalidFile says why not."""
        return self.read_stamped(stream, state, path)[0]

    def read_stamped(self, stream: str, state: str, path: str) -> tuple[Record, disk.Stamp]:
        return self._intake.read_path(stream, state, path)

    def fault_of(self, stream: str, state: str, name: str) -> InvalidFile | None:
        """What is wrong with the file of this name; FileNotFoundError if it went meanwhile."""
        try:
            self._intake.read(stream, state, name)
        except InvalidFile as fault:
            return fault
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in PASSING:
                raise
            return refused_by_disk(os.path.join(self.places.directory(stream, state), name), error)
        return None

    def condemn(self, stream: str, path: str, fault: InvalidFile) -> str | None:
        """To `dead/` with this reason; answers where it lies now, None if it went meanwhile."""
        with self.locked(stream):
            return self._intake.condemn(stream, path, fault) if disk.exists(path) else None

    def condemn_invalid(
        self, stream: str, state: str, name: str, reason: InvalidFile | None = None
    ) -> str | None:
        """The same for a file that cannot be read, unless it can by now: then None. `reason` is
        given instead of its own fault."""
        path = os.path.join(self.places.directory(stream, state), name)
        with self.locked(stream):
            fault = self.fault_of(stream, state, name)
            return self._intake.condemn(stream, path, reason or fault) if fault else None

    def remove_aside(self, stream: str, path: str, stamp: disk.Stamp) -> None:
        """What lies in `dead/` with its reason, if it is the very file that was read."""
        with self.locked(stream):
            facts = disk.facts_of(path)
            if facts is not None and disk.stamp_of(facts) == stamp:
                disk.remove(path)
                disk.remove(reason_path(path))

    def bury(self, stream: str, content: dict[str, Any], fault: InvalidFile) -> str:
        """What came from outside and could not become a message: a dead letter with this reason."""
        data = spelled(content, indent=2) + b"\n"
        path = f"{self.places.temporaries}/unhandled-{sha256(data).hexdigest()[:16]}.json"
        with self.locked(stream):
            disk.remove(path)  # a writer of the same was killed
            disk.create(path, data)
            return self._intake.condemn(stream, path, fault)

    def explain(self, stream: str, name: str, fault: InvalidFile) -> None:
        """Write the reason beside a file that lies in `dead/` without one."""
        path = os.path.join(self.places.directory(stream, DEAD), name)
        with self.locked(stream):
            if disk.exists(path) and not disk.exists(reason_path(path)):
                self._intake.explain(path, fault, os.path.dirname(path))

    def remove_orphan_reason(self, stream: str, beside: str, path: str) -> bool:
        """Unless the file it explains came meanwhile: the reason is written first."""
        with self.locked(stream):
            return not disk.exists(path) and disk.remove(beside)

    def copies(self, stream: str, id_: str) -> Revisions:
        """Every file that stands for this id, and its revision."""
        return self._copies.of(stream, id_)

    def settle(self, stream: str, id_: str) -> list[str]:
        """Leave one of several copies; says what became of the others."""
        with self.locked(stream):
            return self._copies.settle(stream, id_)
