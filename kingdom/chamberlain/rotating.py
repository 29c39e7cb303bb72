"""Puts logs away: events at midnight, and any log that has grown too large.

A log is renamed, and never over another. Writers open it anew for each line, so none is lost: a
line goes to whatever bears the name at that moment. One who had opened it before writes to the
renamed file, as all do who hold `warden.log` open, until they look at its name again.

`state/chamberlain/events-day.json` names the day that `events.log` is of. It is written after the
rename. What a crash in between leaves is told by the log itself: its first line is of today.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial

from kingdom.chamberlain.duty import Office
from kingdom.runtime import own_output
from kingdom.store import disk
from kingdom.store.log_files import next_events_name, next_name
from kingdom.store.state import read_json, write_json

BY_SIZE = ("system.log", "tasks.log", "metrics.log", "console.log", own_output.FILE)
EVERY = 30.0  # seconds between two looks
MEGABYTE = 1024 * 1024
_HEAD = 64 * 1024  # bytes that are looked through for a moment


class Rotate:
    name = "rotate"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._path = office.path("events-day.json")
        self._day: date | None = None

    def start(self) -> None:
        kept = read_json(self._path, {})
        self._day = _day_in(kept.get("day")) if isinstance(kept, dict) else None

    def step(self) -> float:
        refused: OSError | None = None
        acts: list[Callable[[], None]] = [self._split_events, self._shorten_events]
        acts += [partial(self._shorten, name) for name in BY_SIZE]
        for act in acts:
            try:
                act()
            except OSError as error:  # one that cannot be moved keeps no other from it
                refused = refused or error
        if refused is not None:
            raise refused
        return min(EVERY, max(self._until_midnight(), 0.1))

    def stop(self) -> None: ...

    def _until_midnight(self) -> float:
        local = self._office.local()
        midnight = datetime.combine(local.date() + timedelta(days=1), time(), local.tzinfo)
        return (midnight.astimezone(UTC) - self._office.now()).total_seconds()

    def _split_events(self) -> None:
        today = self._office.today()
        if self._day == today:
            return
        facts = _facts(self._office.base.events_log)
        if facts is not None and facts.st_size:
            began = self._began(facts)
            if began != today:
                self._put_away_events(began, facts)
        write_json(self._path, {"day": today.isoformat()})
        self._day = today

    def _shorten_events(self) -> None:
        facts = _facts(self._office.base.events_log)
        if facts is not None and self._is_too_large(facts):
            self._put_away_events(self._began(facts), facts)

    def _put_away_events(self, day: date, facts: os.stat_result) -> None:
        path = self._office.base.events_log
        self._move(path, next_events_name(self._office.base, day), facts)

    def _shorten(self, name: str) -> None:
        path = self._office.base.path("logs", name)
        facts = _facts(path)
        if facts is not None and self._is_too_large(facts):
            self._move(path, next_name(path), facts)

    def _is_too_large(self, facts: os.stat_result) -> bool:
        most = self._office.config.settings.chamberlain.retention.log_max_mb
        return facts.st_size >= most * MEGABYTE

    def _move(self, path: str, target: str, facts: os.stat_result) -> None:
        disk.move(path, target)
        size = round(facts.st_size / MEGABYTE, 3)
        self._office.log.info("log.rotated", file=os.path.basename(target), size_mb=size)
        self._office.tell("recovery.log_rotated", file=os.path.basename(path), size_mb=size)

    def _began(self, facts: os.stat_result) -> date:
        """The day of its first line; of its last change, if no line tells."""
        zone = self._office.config.settings.system.zone
        told = _first_day(disk.head(self._office.base.events_log, _HEAD), zone)
        if told is not None:
            return told
        try:
            return datetime.fromtimestamp(facts.st_mtime, UTC).astimezone(zone).date()
        except (ValueError, OverflowError):  # a change that no calendar knows
            return self._office.today()


def _facts(path: str) -> os.stat_result | None:
    """None for what is missing, and for what is no file of its own: a link leads elsewhere."""
    facts = disk.facts_of(path)
    return facts if facts is not None and stat.S_ISREG(facts.st_mode) else None


def _first_day(head: bytes, zone: tzinfo) -> date | None:
    for line in head.split(b"\n"):
        try:
            moment = datetime.fromisoformat(json.loads(line)["ts"])
            if moment.tzinfo is not None:
                return moment.astimezone(zone).date()
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            continue  # torn, or written by someone else
    return None


def _day_in(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
