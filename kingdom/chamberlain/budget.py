"""The duty that keeps the budget: what the day cost so far, and what follows from it.

Reads `state/spending/`. Writes `state/chamberlain/budget.json`: the day, its status and limits, for
`kingdom budget` and for the next life. An internal event is written there before it is emitted, and
looked for in the log after a crash, so that each is there once.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from kingdom.chamberlain import costs
from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.costs import CRITICAL, OK, UNKNOWN, WARNING, Limits
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.mending import is_day, is_event
from kingdom.clock import isoformat
from kingdom.errors import TryLater
from kingdom.models.resources import Tokens
from kingdom.settings.chamberlain import TokenLimits
from kingdom.store import disk, spending
from kingdom.store.spending import Day, spell
from kingdom.store.state import write_json

EVERY = 10.0
FILE = "budget.json"
_REFRESHED = timedelta(seconds=30)  # how often the file is written though nothing changed
_BACK = timedelta(days=2)
_LOOKED_THROUGH = 1024 * 1024  # bytes of the log's end
_PREFIX = "budget:"
_LEVELS = {status: f"{_PREFIX}{status}" for status in (WARNING, CRITICAL, UNKNOWN)}


class Budget:
    name = "budget"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._kept: dict[str, Any] = {}
        self._day = Day(office.base, office.today())

    def start(self) -> None:
        kept = self._office.recall(FILE)
        is_whole = _is_whole(kept)
        if kept and not is_whole:
            self._office.say_damaged(FILE)
        self._kept = kept if is_whole else {"date": None, "status": OK, "telling": []}
        self._kept["telling"] = [one for one in self._kept["telling"] if not self._was_told(one)]
        self._alerts.start()

    def step(self) -> float:
        self._tell()
        today = self._office.today()
        if self._day.date != today.isoformat():
            self._day = Day(self._office.base, today)
        self._day.refresh()
        self._turn_day(today)
        self._judge()
        self._publish()
        until = costs.seconds_until_midnight(self._office.now(), self._zone)
        return min(EVERY, until + 0.001)

    def stop(self) -> None:
        """Nothing is open, and all is written."""

    @property
    def _zone(self) -> tzinfo:
        return self._office.config.settings.system.zone

    @property
    def _token_limits(self) -> TokenLimits:
        return self._office.config.settings.chamberlain.token_limits

    @property
    def _limits(self) -> Limits:
        return costs.limits_of(self._token_limits.model_dump())

    def _turn_day(self, today: date) -> None:
        """However many midnights were missed, and never for a clock that went back a little."""
        known = self._kept["date"]
        far_ahead = (today + _BACK).isoformat()  # a clock that was wrong, and is no more
        if known is not None and today.isoformat() <= known <= far_ahead:
            return
        if known is not None and known < today.isoformat():
            before = spell(spending.read_day(self._office.base, known).cost())
            self._queue("system.token_budget_reset", date=today.isoformat(), previous_cost=before)
        self._kept["date"] = today.isoformat()
        self._save()
        self._tell()

    def _judge(self) -> None:
        before, now = self._kept["status"], costs.status(self._day, self._limits)
        cost = spell(self._day.cost())
        self._office.board.tokens = self._tokens(now, cost)
        if now != before:
            self._kept["status"] = now
            self._queue(
                "system.token_status_changed", **{"from": before}, to=now, daily_cost_usd=cost
            )
            self._save()
            self._tell()
        self._tell_people(now, cost)

    def _tokens(self, status: str, cost: str) -> Tokens:
        daily = self._limits.daily
        if daily is None:
            return Tokens(status=status, daily_cost_usd=cost)  # type: ignore[arg-type]
        midnight = costs.next_midnight(self._office.now(), self._zone)
        return Tokens(
            status=status,  # type: ignore[arg-type]
            daily_cost_usd=cost,
            daily_budget_usd=spell(daily),
            until=midnight.isoformat(timespec="minutes"),
        )

    def _tell_people(self, status: str, cost: str) -> None:
        """One word at the end, however far it went in between. That there are no prices is told to
        whoever has set a budget; others are safe by the limit of tokens."""
        is_wanted = status != UNKNOWN or "daily_budget_usd" in self._token_limits.model_fields_set
        if status in _LEVELS and is_wanted:
            for name in self._alerts.open_ones(_PREFIX):
                if name != _LEVELS[status]:
                    self._alerts.forget(name)
            self._alerts.begin(_LEVELS[status], self._sentence(status, cost))
        for name in self._alerts.open_ones(_PREFIX) if status == OK else ():
            word = "known" if name == _LEVELS[UNKNOWN] else "over"
            self._alerts.end(name, self._office.words(f"chamberlain_budget_{word}", cost=cost))

    def _sentence(self, status: str, cost: str) -> str:
        limits = self._limits
        if status == UNKNOWN:
            return self._office.words("chamberlain_budget_unknown", count=self._day.unpriced)
        assert limits.daily is not None
        name = f"chamberlain_budget_{status}"
        said = self._office.words(name, cost=cost, budget=spell(limits.daily))
        if not self._day.unpriced:
            return said
        more = self._office.words("chamberlain_budget_unpriced", count=self._day.unpriced)
        return f"{said.removesuffix('.')}. {more}"

    # What is told in the log

    def _queue(self, type_: str, **data: str) -> None:
        since = isoformat(self._office.now())
        self._kept["telling"].append({"type": type_, "data": data, "since": since})

    def _tell(self) -> None:
        """Until the log can be written."""
        while self._kept["telling"]:
            one = self._kept["telling"][0]
            try:
                self._office.setting.internal.emit(one["type"], one["data"])
            except TryLater as error:
                self._office.log.warning("log.not_written", error=str(error), type=one["type"])
                return
            del self._kept["telling"][0]
            self._save()

    def _was_told(self, one: dict[str, Any]) -> bool:
        """By a former life, in its last moment."""
        end = disk.tail(self._office.base.events_log, _LOOKED_THROUGH)
        for line in reversed(end.split(b"\n")):
            if one["type"].encode() in line:
                found = _object(line)
                if found.get("type") == one["type"] and found.get("data") == one["data"]:
                    return bool(str(found.get("ts")) >= one["since"])
        return False

    # What others read

    def _publish(self) -> None:
        """Afresh now and then, so that whoever reads can tell that someone keeps it."""
        known = self._kept.get("updated_at")
        facts = self._facts()
        is_new = any(self._kept.get(name) != value for name, value in facts.items())
        is_old = not isinstance(known, str) or _age(known, self._office.now()) >= _REFRESHED
        if is_new or is_old:
            self._kept |= facts
            self._save(sync=False)

    def _facts(self) -> dict[str, Any]:
        return {
            "daily_cost_usd": spell(self._day.cost()),
            "attempts": len(self._day),
            "unpriced": self._day.unpriced,
            "limits": self._token_limits.model_dump(),
            "timezone": self._office.config.settings.system.timezone,
            "language": self._office.config.settings.system.language,
        }

    def _save(self, *, sync: bool = True) -> None:
        self._kept["updated_at"] = isoformat(self._office.now())
        write_json(self._office.path(FILE), self._kept, sync=sync)


def _is_whole(kept: dict[str, Any]) -> bool:
    return (
        (kept.get("date") is None or is_day(kept["date"]))
        and kept.get("status") in (OK, WARNING, CRITICAL, UNKNOWN)
        and isinstance(kept.get("telling"), list)
        and all(isinstance(one, dict) and one.keys() == _TELLING for one in kept["telling"])
        and all(isinstance(one["since"], str) and is_event(one) for one in kept["telling"])
    )


_TELLING = {"type", "data", "since"}


def _age(moment: str, now: datetime) -> timedelta:
    try:
        return abs(now - datetime.fromisoformat(moment))
    except (ValueError, TypeError):
        return _REFRESHED


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
