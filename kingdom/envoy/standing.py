"""Whether people can be reached, for `kingdom status`: `state/envoy/transport.json`.

It is there only while the transport as a whole takes nothing, and says why and until when.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from kingdom.clock import isoformat
from kingdom.errors import KingdomError
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json


class Standing:
    def __init__(self, base: BaseDir) -> None:
        self._path = base.path("state", "envoy", "transport.json")
        self._is_there = True  # perhaps, from a former life

    def rests(self, error: KingdomError, until: datetime) -> None:
        told = {
            "code": error.code,
            "sentence": error.sentence,
            "remedy": error.remedy,
            "until": isoformat(until),
        }
        self._is_there = True
        with suppress(OSError):  # it only tells of the trouble
            write_json(self._path, told, sync=False)

    def works(self) -> None:
        if self._is_there:
            disk.remove(self._path)
            self._is_there = False
