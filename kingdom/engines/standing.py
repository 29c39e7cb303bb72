"""What an engine's last runs told of it: a usage limit, an outage, a wrong login.

`state/engines/{engine}.json` is there while something is held against the engine. Generals write
it, and so does a soldier's proxy the moment that a usage limit is answered; everybody who admits
work reads it, and a person who mended what was wrong may remove it. When its time is up the engine
is on trial: one soldier at a time, until a run that began afterwards ends well and the file is
removed. Each trial that fails makes the next pause longer.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.bus.due import LONGEST_DEFERRAL
from kingdom.clock import isoformat, still_waits
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json


@dataclass(frozen=True)
class Pauses:
    """How long an engine is left alone when it did not say itself: doubling."""

    first: timedelta
    longest: timedelta

    def after(self, failures: int) -> timedelta:
        doublings: int = 2 ** min(failures - 1, 16)
        return min(self.first * doublings, self.longest)


LIMIT, OUTAGE, LOGIN = "engine_limited", "engine_overloaded", "engine_login"
PAUSES = {
    LIMIT: Pauses(timedelta(minutes=5), timedelta(hours=1)),
    OUTAGE: Pauses(timedelta(seconds=15), timedelta(minutes=15)),
    LOGIN: Pauses(timedelta(minutes=5), timedelta(hours=6)),
}
# A moment beyond this is not believed: the kingdom would seem to have gone silent.
_LONGEST = LONGEST_DEFERRAL
_JUST_NOW = timedelta(minutes=10)


@dataclass(frozen=True)
class Standing:
    code: str
    reason: str
    since: datetime
    until: datetime
    failures: int

    noted_at: datetime | None = None  # when `until` was last set
    told: bool = True  # whether a general has told of it; the proxy of a soldier cannot

    def is_closed(self, now: datetime) -> bool:
        """One whose moment cannot be believed is on trial."""
        return still_waits(self.until, now, _LONGEST, self.noted_at or self.since)


def fell(
    known: Standing | None, code: str, reason: str, until: datetime | None, now: datetime
) -> Standing:
    """What is held against an engine after one more run of this outcome."""
    if known is not None and known.is_closed(now):  # runs that were under way already tell nothing
        named = until if until is not None and until <= now + _LONGEST else known.until
        return known if named <= known.until else _moved(known, code, reason, named, now)
    failures = 1 if known is None else known.failures + 1
    if until is not None and now - _JUST_NOW <= until <= now:
        until = now + PAUSES[OUTAGE].after(failures)  # it is over, by another's clock
    if until is None or not now < until <= now + _LONGEST:
        until = now + PAUSES[code].after(failures)
    since = now if known is None else min(known.since, now)
    return Standing(code, reason, since, until, failures, now)


def _moved(known: Standing, code: str, reason: str, until: datetime, now: datetime) -> Standing:
    return Standing(code, reason, known.since, until, known.failures, now)


class Standings:
    """Those of one kingdom's engines."""

    def __init__(self, base: BaseDir) -> None:
        self._directory = base.path("state", "engines")
        self._lock: Lock | None = None

    def of(self, engine: str) -> Standing | None:
        """None: nothing is held against it."""
        return _standing(read_json(self._path(engine)))

    def note_fault(
        self,
        engine: str,
        code: str,
        reason: str,
        until: datetime | None,
        now: datetime,
        *,
        told: bool = True,
    ) -> Standing | None:
        """The new standing, if it is to be told that the engine is closed; None if that was done,
        or is left to others."""
        disk.make_directory(self._directory)
        with self._locked():
            known = self.of(engine)
            was_told = known is not None and known.told and known.is_closed(now)
            standing = replace(fell(known, code, reason, until, now), told=told or was_told)
            if standing != known:
                write_json(self._path(engine), _spelled(standing))
        return standing if told and not was_told else None

    def note_success(self, engine: str, began: datetime, now: datetime) -> bool:
        """Whether a run that began then reopened the engine."""
        known = self.of(engine)
        is_believed = known is not None and (known.until <= now or known.is_closed(now))
        if known is None or (is_believed and began < known.until):
            return False
        with self._locked():
            return self.of(engine) == known and disk.remove(self._path(engine))

    def _path(self, engine: str) -> str:
        return os.path.join(self._directory, f"{engine}.json")

    def _locked(self) -> Lock:
        if self._lock is None or not self._lock.is_in_place():
            self._lock = Lock(os.path.join(self._directory, "lock"))
        return self._lock


def _spelled(standing: Standing) -> dict[str, Any]:
    moments = {
        name: value and isoformat(value)
        for name in ("since", "until", "noted_at")
        for value in (getattr(standing, name),)
    }
    return asdict(standing) | moments


def _standing(found: Any) -> Standing | None:
    """A file that a person damaged holds nothing against anybody."""
    try:
        return Standing(
            code=str(found["code"]),
            reason=str(found["reason"]),
            since=_moment(found["since"]),
            until=_moment(found["until"]),
            failures=int(found["failures"]),
            noted_at=_moment(found["noted_at"]) if found.get("noted_at") else None,
            told=found.get("told") is not False,
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
