"""What a watcher saw lately and left alone, and why: `state/sentinel/left-alone-{watcher}.json`.

For `kingdom why`, which is asked about things that never became an event. The newest are kept;
should they be lost, nothing else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kingdom.clock import isoformat
from kingdom.sentinel.watcher import Sighting
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

_KEPT = 500


def left_alone(base: BaseDir, watcher: str) -> dict[str, Any]:
    """By what each is about: the reason, and when it was seen first."""
    found = read_json(_path(base, watcher), {})
    return found if isinstance(found, dict) else {}


def _path(base: BaseDir, watcher: str) -> str:
    return base.path("state", "sentinel", f"left-alone-{watcher}.json")


class Record:
    def __init__(self, base: BaseDir, watcher: str) -> None:
        self._path = _path(base, watcher)
        self._kept = left_alone(base, watcher)

    def add(self, found: Sequence[Sighting], now: datetime) -> None:
        fresh = [one for one in found if one.event is None and not self.knows(one)]
        if not fresh:
            return
        for one in fresh:
            self._kept.pop(one.about, None)
            version = {"version": one.version} if one.version else {}
            self._kept[one.about] = {"reason": one.reason, "at": isoformat(now)} | version
        for about in list(self._kept)[:-_KEPT]:
            del self._kept[about]
        write_json(self._path, self._kept, sync=False)

    def knows(self, one: Sighting) -> bool:
        known = self._kept.get(one.about)
        if not isinstance(known, dict):
            return False
        return (known.get("reason"), known.get("version", "")) == (one.reason, one.version)
