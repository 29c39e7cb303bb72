"""Whether people can be reached, for `kingdom status`: `state/envoy/transport.json`.

It is there only while the transport as a whole takes nothing, and says why and until when; or,
without such a moment, while people are not heard as they should be.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from kingdom.clock import isoformat
from kingdom.errors import KingdomError, TryLater
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json


class Standing:
    def __init__(self, base: BaseDir) -> None:
        self._path = base.path("state", "envoy", "transport.json")
        self._speaking: dict[str, Any] | None = None
        self._hearing: dict[str, Any] | None = None
        self._written: dict[str, Any] | None = {}  # perhaps something, from a former life

    def rests(self, error: KingdomError, until: datetime) -> None:
        self._speaking = _told(error, until)
        self._tell()

    def works(self) -> None:
        self._speaking = None
        self._tell()

    def hears(self, trouble: KingdomError | None) -> None:
        until = trouble.not_before if isinstance(trouble, TryLater) else None
        self._hearing = None if trouble is None else _told(trouble, until)
        self._tell()

    def _tell(self) -> None:
        told = self._speaking or self._hearing
        if told == self._written:
            return
        with suppress(OSError):  # it only tells of the trouble
            if told is None:
                disk.remove(self._path)
            else:
                write_json(self._path, told, sync=False)
            self._written = told


def _told(error: KingdomError, until: datetime | None) -> dict[str, Any]:
    return {
        "code": error.code,
        "sentence": error.sentence,
        "remedy": error.remedy,
        "until": until and isoformat(until),
    }
