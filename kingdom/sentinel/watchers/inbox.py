"""The inbox: JSON files that scripts and cron drop into `queue/inbox/`, each one event.

Written as `mv` does it, or copied: a file that cannot be read is given two seconds in which it does
not change. What is missing is filled in (`id`, `source`, `priority`, `created_at`). The file goes
when its event is durable; one that is no event, or too large a one, goes to `queue/events/dead/`,
the reason beside it.

Before a file goes it is hidden as `.taken-…`, where nobody can put another one into its place, and
looked at once more: one that came under the same name meanwhile gets its name back. So does what a
crash left hidden, when the next round ends.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.files.intake import PATIENCE, not_taken_from
from kingdom.clock import isoformat
from kingdom.errors import InvalidFile, TryLater
from kingdom.models.event import Event
from kingdom.models.priority import priority_of
from kingdom.models.reading import decode, parse
from kingdom.ownership import foreign_owner
from kingdom.runtime.role import Setting
from kingdom.sentinel.watcher import Finish, Sighting
from kingdom.settings.sentinel import InboxWatcher
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import INBOX, PENDING

SOURCE = "inbox"
_SUFFIX = ".json"
_TAKEN = ".taken-"
_LONGEST_NAME = 255
_PAGE = 100
LARGEST = 1024 * 1024  # bytes of a file, and of the event as it is written: indented, for people
BEING_WRITTEN = "It may still be being written."


def make(settings: InboxWatcher, setting: Setting) -> Inbox:
    return Inbox(setting)


Stamp = tuple[int, int, int]


def stamp_of(facts: os.stat_result) -> Stamp:
    return facts.st_ino, facts.st_mtime_ns, facts.st_size


@dataclass(frozen=True)
class _File:
    """As it was when it was looked at."""

    path: str
    stamp: Stamp
    fault: InvalidFile | None = None

    def lies_at(self, path: str) -> bool:
        facts = disk.facts_of(path)
        return facts is not None and stamp_of(facts) == self.stamp


class Inbox:
    name = "inbox"

    def __init__(self, setting: Setting) -> None:
        self._base: BaseDir = setting.base
        self._clock = setting.clock
        self._log = setting.log
        self._directory = setting.base.path(INBOX)
        self._caretaker = Caretaker(setting.base, setting.clock)
        self._unfinished = False
        self._stuck: OSError | None = None
        self._suspects: dict[str, tuple[Stamp, float]] = {}  # by path, and since when

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[str]]:
        self._unfinished, self._stuck = False, None
        names = sorted(one for one in disk.names(self._directory) if _is_for_us(one))
        for start in range(0, len(names), _PAGE):
            yield names[start : start + _PAGE]

    def parse(self, raw: Any) -> Sighting:
        path = os.path.join(self._directory, str(raw))
        sighting = Sighting(f"{INBOX}/{raw}")
        facts = disk.facts_of(path)
        try:
            if facts is None:
                raise FileNotFoundError
            event, stamp = self._event(path)
            return replace(sighting, event=event, raw=_File(path, stamp))
        except FileNotFoundError:
            return sighting.left_alone("It went meanwhile.")
        except InvalidFile as fault:
            assert facts is not None
            return self._refused(sighting, _File(path, stamp_of(facts), fault), facts.st_mtime)

    def _event(self, path: str) -> tuple[Event, Stamp]:
        try:
            data, facts = disk.read(path, LARGEST)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise _too_large(path) from None
            raise InvalidFile(f"{path}: {error.strerror}.", code="unreadable") from None
        if (owner := foreign_owner(facts, self._base.queue)) is not None:
            raise not_taken_from(owner, path)
        given = {k: v for k, v in decode(data, path=path).items() if v is not None}
        given.pop("delivery", None)
        # The same file gives the same id however often it is read; one dropped anew, another.
        key = f"{os.path.basename(path)} {facts.st_ino} {facts.st_mtime_ns}".encode(
            "utf-8", "surrogateescape"
        )
        missing = {
            "id": f"evt-{SOURCE}-{hashlib.sha256(key + data).hexdigest()[:24]}",
            "source": SOURCE,
            "priority": priority_of(str(given.get("type", ""))),
            "created_at": isoformat(self._moment(facts.st_mtime)),
        }
        event = parse("event", _encoded(missing | given), path=path, status=PENDING)
        assert isinstance(event, Event)
        if not _is_within(event.written(), LARGEST):
            raise _too_large(path)
        return event, stamp_of(facts)

    def _moment(self, seconds: float) -> datetime:
        """Now, for a file whose time no calendar has."""
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, ValueError, OSError):
            return self._clock.now()

    def _refused(self, sighting: Sighting, file: _File, modified: float) -> Sighting:
        if not self._stands_still(file, modified):
            self._unfinished = True
            return sighting.left_alone(BEING_WRITTEN)
        assert file.fault is not None
        return replace(sighting, reason=file.fault.sentence, is_odd=True, raw=file)

    def _stands_still(self, file: _File, modified: float) -> bool:
        """By its own time; or since it was first looked at, for that may be in the future."""
        now = self._clock.monotonic()
        stamp, since = self._suspects.get(file.path, (None, now))
        if stamp != file.stamp:
            since = now
        self._suspects[file.path] = (file.stamp, since)
        age = self._clock.now().timestamp() - modified
        return max(age, now - since) >= PATIENCE

    def complete(self, sighting: Sighting) -> Sighting:
        return sighting

    def remember(self, fresh: Sequence[Sighting]) -> None:
        """Nothing: what is new lies in the inbox."""

    def acknowledge(self, done: Sequence[Sighting]) -> None:
        for one in done:
            if one.raw is None:
                continue
            try:
                self._remove(one.raw) if one.raw.fault is None else self._condemn(one.raw)
            except FileNotFoundError:
                pass  # somebody took it back
            except OSError as error:
                self._stuck = error
                self._log.warning("inbox.stuck", about=one.about, error=str(error))

    def _remove(self, file: _File) -> None:
        taken = os.path.join(
            self._directory, f"{_TAKEN}{secrets.token_hex(4)}-{os.path.basename(file.path)}"
        )
        if len(os.fsencode(os.path.basename(taken))) > _LONGEST_NAME:
            taken = file.path  # then a moment remains in which another may come
        else:
            disk.move_anything(file.path, taken)
        if file.lies_at(taken):
            disk.remove(taken)

    def _condemn(self, file: _File) -> None:
        assert file.fault is not None
        self._suspects.pop(file.path, None)
        if file.lies_at(file.path):
            self._caretaker.condemn("events", file.path, file.fault)

    def _give_back(self) -> bool:
        """Whether one of the hidden has its name again; where that is taken, its turn comes."""
        has_given = False
        for name in disk.names(self._directory):
            original = name.removeprefix(_TAKEN).partition("-")[2]
            if not (name.startswith(_TAKEN) and _is_for_us(original)):
                continue
            taken, path = (os.path.join(self._directory, one) for one in (name, original))
            try:
                disk.move_anything(taken, path)
                has_given = True
            except (FileExistsError, FileNotFoundError):
                self._unfinished = True
        return has_given

    def finish(self, *, emitted: int) -> Finish:
        if self._stuck is not None:
            remedy = f"Let the kingdom's user write to {INBOX}/."
            if self._stuck.errno == errno.EXDEV:  # only what is no event has to go to dead/
                remedy = f"It is not an event: remove it from {INBOX}/, which is on another disk."
            raise TryLater(
                f"A file in {INBOX}/ cannot be moved: {self._stuck.strerror}.", remedy=remedy
            )
        again = self._give_back()
        self._forget_gone()
        return Finish(again=again, at_most=PATIENCE if self._unfinished else None)

    def _forget_gone(self) -> None:
        if self._suspects:
            names = set(disk.names(self._directory))
            kept = self._suspects.items()
            self._suspects = {k: v for k, v in kept if os.path.basename(k) in names}

    def break_off(self) -> float:
        return 0.0

    def close(self) -> None:
        """Nothing is held."""


def _is_for_us(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".")


def _is_within(given: dict[str, Any], size: int) -> bool:
    """As it would be written, without writing all of it: short lines far inside grow manifold."""
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(given):
        size -= len(piece.encode("utf-8", "surrogatepass"))
        if size < 0:
            return False
    return True


def _too_large(path: str) -> InvalidFile:
    return InvalidFile(
        f"{path}: as an event it is larger than {LARGEST // 1024 // 1024} MiB.",
        remedy="Put large data elsewhere and name its path in the payload.",
        code="too_large",
    )


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
