"""What a role leaves of itself in `state/metrics/{role}.json`, for the chamberlain to make metrics.

Written from the loop, at most every few seconds and only when something changed. A role that is
killed loses the counts of its last seconds; the next one goes on from what is written.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clock import Clock, isoformat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

PAUSE = 5.0  # seconds between two times


class Measures:
    def __init__(self, base: BaseDir, name: str, bus: FileBus, clock: Clock) -> None:
        self._directory = base.metrics
        self._path = os.path.join(base.metrics, f"{name}.json")
        self._bus = bus
        self._clock = clock
        self._started = False
        self._next = float("-inf")
        self._written: dict[str, Any] = {}

    def start(self) -> None:
        if self._started:
            return
        written = read_json(self._path, {})
        with suppress(KeyError, TypeError, ValueError, OverflowError):  # damaged: from nothing
            self._bus.tally.go_on_from(written)
        self._started = True

    def keep(self, *, at_once: bool = False) -> None:
        now = self._clock.monotonic()
        if now < self._next and not at_once:
            return
        self._next = now + PAUSE
        found = self._found()
        if found != self._written and (self._written or any(found.values())):
            with suppress(OSError):  # a full disk: whoever works on goes before whoever counts
                disk.make_directory(self._directory)
                at = {"written_at": isoformat(self._clock.now())}
                write_json(self._path, at | found, sync=False)
                self._written = found

    def _found(self) -> dict[str, Any]:
        streams = {name: depth._asdict() for name, depth in self._bus.depths().items()}
        return {"streams": streams, **self._bus.tally.as_json()}
