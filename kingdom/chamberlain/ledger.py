"""`state/chamberlain/ledger.json`: how far the events log was read, and all that was found in it.

Places and figures are one file, replaced as a whole: whoever is killed between two lines begins
again where the figures end, so each line counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson

from kingdom.chamberlain import anomalies, digest, mending
from kingdom.chamberlain.anomalies import Windows
from kingdom.chamberlain.logfiles import Place
from kingdom.failures import FAILURES
from kingdom.models.ids import MAX_LENGTH
from kingdom.store import disk
from kingdom.store.state import read_json

LEDGER = "ledger.json"
VERSION = 1
DAYS_KEPT = 40
MOST_NAMES = 200  # types, actors, classes: a damaged log must not fill the memory
OTHERS = "others"
_AHEAD = timedelta(days=1)  # a line from further ahead belongs to no day
_MOST_OF_A_DAY = 50  # changes of health and dead letters that are told one by one
_LONGEST_NAME, _LONGEST_TEXT, _MOST_FACTS = 100, 300, 20
_COUNTS = ("lines", "damaged", "too_long", "restarted", "copies")

# What a line can go wrong by: its form, a time that no calendar of the zone has, lists without end.
_DAMAGES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)

_SPELLING = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS

Entry = dict[str, Any]
Key = tuple[str, str, str]


class Ledger:
    def __init__(self, kept: Any, now: datetime, zone: tzinfo) -> None:
        """`kept` is what a former life wrote; what is damaged begins anew."""
        self.data: dict[str, Any] = _mended(kept) if _is_whole(kept) else _empty()
        self.is_as_kept = self.data == kept
        self.windows = Windows(self.data["windows"])
        self._zone, self._now = zone, now
        self._days_of: dict[str, str] = {}  # by minute
        self._counted: defaultdict[Key, int] = defaultdict(int)
        self._lasted: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.look_at_clock(now, zone)
        windows = self.windows
        self._special: dict[str, Callable[[Entry, str, str, str], object]] = {
            "task.completed": self._completed,
            "task.failed": self._failed,
            "task.retried": self._retried,
            "soldier.timeout": lambda data, actor, at, day: windows.timed_out(self._moment(at)),
            "event.detected": lambda data, actor, at, day: windows.detected(_event(data), at),
            "event.deferred": lambda data, actor, at, day: windows.deferred(
                _event(data), data["reason"]
            ),
            "event.dispatched": lambda data, actor, at, day: windows.settled(_event(data)),
            "event.discarded": lambda data, actor, at, day: windows.settled(_event(data)),
            "event.superseded": lambda data, actor, at, day: windows.settled(_event(data)),
            "system.health_changed": lambda data, actor, at, day: self._list(
                "health", data, at, day
            ),
            "queue.buried": lambda data, actor, at, day: self._list("dead", data, at, day),
        }

    @property
    def places(self) -> list[Place]:
        read = map(Place.read, self.data["places"])
        return [one for one in read if one is not None]

    def look_at_clock(self, now: datetime, zone: tzinfo) -> None:
        if zone is not self._zone or now < self._now or now - self._now >= timedelta(minutes=1):
            self._days_of.clear()
        self._now, self._zone = now, zone

    def take(self, lines: Iterable[bytes]) -> None:
        """Count them. This is the loop that a gigabyte goes through: whatever a line holds, it is
        counted as a whole or as damaged."""
        loads, counted, special, days = orjson.loads, self._counted, self._special, self._days_of
        parsed = datetime.fromisoformat
        taken = damaged = 0
        for line in lines:
            try:
                entry = loads(line)
                type_, actor, at = entry["type"], entry["actor"], entry["ts"]
                moment = parsed(at)
                day = days.get(at[:16]) if at[-1] == "Z" else None
                if day is None:
                    day = self._day_of(at, moment)
                if type(type_) is not str or type(actor) is not str:
                    raise TypeError
                if type_ in special:
                    special[type_](entry["data"], actor[:_LONGEST_NAME], at, day)
                counted[type_, actor, day] += 1
            except _DAMAGES:
                damaged += bool(line) and not line.isspace()
            else:
                taken += 1
        self.data["lines"] += taken
        self.data["damaged"] += damaged
        self._fold()

    def note(self, name: str, many: int) -> None:
        self.data[name] += many

    def save(self, path: str, places: Iterable[Place]) -> None:
        self._forget_old_days()
        self.data["places"] = [one.written() for one in places]
        disk.replace(path, orjson.dumps(self.data, option=_SPELLING))

    # Counting

    def _fold(self) -> None:
        """Into the totals, and into the days of what has one."""
        for (type_, actor, day), many in self._counted.items():
            for figures in self._figures_of(day):
                _count(figures["types"], type_, many)
                _count(_named(figures["actors"], actor, dict), type_, many)
        for (actor, day), seconds in self._lasted.items():
            for figures in self._figures_of(day):
                digest.add(_named(figures["durations"], actor, digest.empty), seconds)
        self._counted.clear()
        self._lasted.clear()

    def _figures_of(self, day: str) -> list[dict[str, Any]]:
        """The totals, and those of the day if there is one."""
        days = self.data["days"]
        return [self.data["totals"], *([days.setdefault(day, _figures())] if day else [])]

    def _day_of(self, at: str, moment: datetime) -> str:
        """The date on the kingdom's wall clock; empty for what is from the future."""
        local = moment.astimezone(self._zone).date()
        day = local.isoformat() if moment <= self._now + _AHEAD else ""
        if at[-1] == "Z":
            self._days_of[at[:16]] = day
        return day

    def _moment(self, at: str) -> float:
        """A clock that was ahead must not hold a window open for long."""
        return min(datetime.fromisoformat(at).timestamp(), self._now.timestamp())

    def _completed(self, data: Entry, actor: str, at: str, day: str) -> None:
        seconds = float(data["duration_seconds"])
        if math.isnan(seconds):
            raise ValueError(data["duration_seconds"])
        self._lasted[actor, day].append(seconds)
        if self.windows.has_failed(actor):
            self.windows.completed(actor, self._moment(at))

    def _failed(self, data: Entry, actor: str, at: str, day: str) -> None:
        error, moment = str(data["error"]), self._moment(at)
        self._classify("failed", error, actor, at, day)
        self.windows.failed(actor, moment, error)

    def _retried(self, data: Entry, actor: str, at: str, day: str) -> None:
        self._classify("retried", str(data["error"]), actor, at, day)

    def _classify(self, how: str, error: str, actor: str, at: str, day: str) -> None:
        code = code_of(error[:_LONGEST_TEXT])
        of_day = [figures["failures"] for figures in self._figures_of(day)[1:]]
        for classes in (self.data["failures"], *of_day):
            one = _named(classes, code, _class)
            one[how] += 1
            one["last_seen"] = max(one["last_seen"], at)
            one["last_error"] = error[:_LONGEST_TEXT]
            _count(one["generals"], actor, 1)

    def _list(self, name: str, data: Entry, at: str, day: str) -> None:
        for figures in self._figures_of(day)[1:]:
            figures[name].append({**_short(data), "ts": at})
            del figures[name][:-_MOST_OF_A_DAY]

    def _forget_old_days(self) -> None:
        days = self.data["days"]
        for day in sorted(days)[:-DAYS_KEPT]:
            del days[day]


def read_ledger(path: str, now: datetime, zone: tzinfo) -> Ledger:
    """By the reader that is as strict as the writer, or it could never be saved again."""
    return Ledger(read_json(path, loads=orjson.loads), now, zone)


@lru_cache(256)
def code_of(error: str) -> str:
    """Which failure this tells of; a soldier's own words are its report of one."""
    matching = [one for one in FAILURES.values() if error.startswith(one.sentence)]
    return max(matching, key=lambda one: len(one.sentence)).code if matching else "reported_failure"


def _is_whole(kept: Any) -> bool:
    fresh = _empty()
    return (
        isinstance(kept, dict)
        and kept.get("version") == VERSION
        and all(type(kept.get(name)) is type(value) for name, value in fresh.items())
        and all(mending.is_count(kept[name]) for name in _COUNTS)
    )


def _mended(kept: dict[str, Any]) -> dict[str, Any]:
    """What is wrong inside it is left out; the places stay, so nothing is counted twice."""
    return {name: kept[name] for name in _empty()} | {
        "totals": mending.figures(kept["totals"], of_day=False),
        "days": mending.days(kept["days"]),
        "failures": mending.failures(kept["failures"]),
        "windows": mending.windows(kept["windows"]),
    }


def _empty() -> dict[str, Any]:
    return {
        "version": VERSION,
        "places": [],
        **dict.fromkeys(_COUNTS, 0),
        "totals": {"types": {}, "actors": {}, "durations": {}},
        "days": {},
        "failures": {},
        "windows": anomalies.empty(),
    }


def _figures() -> dict[str, Any]:
    return {"types": {}, "actors": {}, "durations": {}, "failures": {}, "health": [], "dead": []}


def _class() -> dict[str, Any]:
    return {"failed": 0, "retried": 0, "last_seen": "", "last_error": "", "generals": {}}


def _named(among: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
    name = str(name)[:_LONGEST_NAME]
    if name not in among:
        name = name if len(among) < MOST_NAMES else OTHERS
        return among.setdefault(name, make())
    return among[name]


def _count(among: dict[str, int], name: str, many: int) -> None:
    name = str(name)[:_LONGEST_NAME]
    name = name if name in among or len(among) < MOST_NAMES else OTHERS
    among[name] = among.get(name, 0) + many


def _short(data: dict[str, Any]) -> dict[str, str]:
    told = islice(data.items(), _MOST_FACTS)
    return {str(key)[:_LONGEST_NAME]: str(value)[:_LONGEST_TEXT] for key, value in told}


def _event(data: Entry) -> str:
    id_ = data["event_id"]
    if type(id_) is not str or len(id_) > MAX_LENGTH:
        raise ValueError(id_)
    return id_
