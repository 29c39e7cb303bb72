"""Whether people can be reached, for `kingdom status`: `state/envoy/transport.json`.

It is there only while the transport as a whole takes nothing, and says why and until when; or,
without such a moment, while people are not heard as they should be. `calls` are those that fail
while the rest works.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        self._calls: list[dict[str, Any]] = []
        self._written: dict[str, Any] | None = {}  # perhaps something, from a former life

    def rests(self, error: KingdomError, until: datetime) -> None:
        self._speaking = _told(error, until)
        self._tell()

    def works(self) -> None:
        self._speaking = None
        self._tell()

    def hears(self, trouble: KingdomError | None, failing: Sequence[KingdomError] = ()) -> None:
        self._calls = [_said(one) for one in failing]
        until = trouble.not_before if isinstance(trouble, TryLater) else None
        self._hearing = None if trouble is None else _told(trouble, until)
        self._tell()

    def _tell(self) -> None:
        told = self._speaking or self._hearing
        if self._calls:
            told = (told or {}) | {"calls": self._calls}
        if told == self._written:
            return
        with suppress(OSError):  # it only tells of the trouble
            if told is None:
                disk.remove(self._path)
            else:
                write_json(self._path, told, sync=False)
            self._written = told


def _told(error: KingdomError, until: datetime | None) -> dict[str, Any]:
    return {**_said(error), "until": until and isoformat(until)}


def _said(error: KingdomError) -> dict[str, Any]:
    return {"code": error.code, "sentence": error.sentence, "remedy": error.remedy}
