"""Appends internal events to `logs/events.log`, one line in one write.

Any number of processes append at once. The file is opened for each line, so a rotation by rename
loses none: a line goes to the file that bears the name at that moment, old or new, whole.
"""

from __future__ import annotations

from typing import Any

from kingdom.clock import Clock
from kingdom.errors import TryLater
from kingdom.models.internal_event import InternalEvent
from kingdom.store import disk
from kingdom.store.paths import BaseDir


class InternalLog:
    """What one actor reports about itself."""

    def __init__(self, base: BaseDir, actor: str, clock: Clock) -> None:
        self._path = base.events_log
        self._directory = base.logs
        self._actor = actor
        self._clock = clock

    def emit(self, type_: str, data: dict[str, Any], trace_id: str | None = None) -> None:
        """Append one event. What the catalogue does not allow raises `NotInCatalogue`."""
        event = InternalEvent(
            ts=self._clock.now(), type=type_, actor=self._actor, data=data, trace_id=trace_id
        )
        try:
            self._append(event.to_line())
        except OSError as error:
            raise TryLater(
                f"{self._path} cannot be written: {error.strerror}.",
                remedy="Free some disk space, or see to its permissions.",
                code="log_unwritable",
            ) from error

    def _append(self, line: bytes) -> None:
        try:
            disk.append_line(self._path, line)
        except FileNotFoundError:
            disk.make_directory(self._directory)
            disk.append_line(self._path, line)
