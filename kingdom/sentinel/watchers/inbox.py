"""The inbox: JSON files that scripts and cron drop into `queue/inbox/`, each one event.

Written as `mv` does it, or copied: a file that cannot be read is given two seconds in which it does
not change. What is missing is filled in (`id`, `source`, `priority`, `created_at`). The file goes
when its event is durable; one that is no event goes to `queue/events/dead/`, the reason beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import LARGEST, PATIENCE
from kingdom.clock import isoformat
from kingdom.errors import InvalidFile
from kingdom.models.event import Event
from kingdom.models.priority import priority_of
from kingdom.models.reading import decode, parse
from kingdom.runtime.role import Setting
from kingdom.sentinel.watcher import Finish, Sighting
from kingdom.settings.sentinel import InboxWatcher
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import INBOX, PENDING

SOURCE = "inbox"
_SUFFIX = ".json"
_PAGE = 100
BEING_WRITTEN = "It may still be being written."


def make(settings: InboxWatcher, setting: Setting) -> Inbox:
    return Inbox(setting)


class Inbox:
    name = "inbox"

    def __init__(self, setting: Setting) -> None:
        self._base: BaseDir = setting.base
        self._clock = setting.clock
        self._directory = setting.base.path(INBOX)
        self._caretaker = Caretaker(setting.base, setting.clock)
        self._unfinished = False

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[str]]:
        self._unfinished = False
        names = sorted(one for one in disk.names(self._directory) if _is_for_us(one))
        for start in range(0, len(names), _PAGE):
            yield names[start : start + _PAGE]

    def parse(self, raw: Any) -> Sighting:
        name = str(raw)
        path = os.path.join(self._directory, name)
        sighting = Sighting(f"{INBOX}/{name}", raw=path)
        try:
            return Sighting(sighting.about, event=self._event(path), raw=path)
        except FileNotFoundError:
            return sighting.left_alone("It went meanwhile.")
        except InvalidFile as fault:
            return self._refused(sighting, fault)

    def _event(self, path: str) -> Event:
        try:
            data, facts = disk.read(path, LARGEST)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InvalidFile(f"{path}: {error.strerror}.", code="unreadable") from None
        given = {k: v for k, v in decode(data, path=path).items() if v is not None}
        given.pop("delivery", None)
        # The same file gives the same id however often it is read; one dropped anew, another.
        key = f"{os.path.basename(path)} {facts.st_ino} {facts.st_mtime_ns}".encode()
        missing = {
            "id": f"evt-{SOURCE}-{hashlib.sha256(key + data).hexdigest()[:24]}",
            "source": SOURCE,
            "priority": priority_of(str(given.get("type", ""))),
            "created_at": isoformat(datetime.fromtimestamp(facts.st_mtime, UTC)),
        }
        event = parse("event", _encoded(missing | given), path=path, status=PENDING)
        assert isinstance(event, Event)
        return event

    def _refused(self, sighting: Sighting, fault: InvalidFile) -> Sighting:
        facts = disk.facts_of(sighting.raw)
        if facts is None or self._clock.now().timestamp() - facts.st_mtime < PATIENCE:
            self._unfinished = True
            return sighting.left_alone(BEING_WRITTEN)
        return Sighting(
            sighting.about, reason=fault.sentence, is_odd=True, raw=(sighting.raw, fault)
        )

    def complete(self, sighting: Sighting) -> Sighting:
        return sighting

    def remember(self, fresh: Sequence[Sighting]) -> None:
        """Nothing: what is new lies in the inbox."""

    def acknowledge(self, done: Sequence[Sighting]) -> None:
        for one in done:
            if one.event is not None:
                disk.remove(one.raw)
            elif one.is_odd:
                path, fault = one.raw
                self._caretaker.condemn("events", path, fault)

    def finish(self, *, emitted: int) -> Finish:
        return Finish(at_most=PATIENCE if self._unfinished else None)

    def close(self) -> None:
        """Nothing is held."""


def _is_for_us(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".")


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
