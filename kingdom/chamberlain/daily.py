"""Reports of a day or a week, put together from the ledger and from what was spent.

The first keys are those of the daily report as it was asked for; what follows them is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any

from kingdom.chamberlain import digest
from kingdom.chamberlain.analysis import classes
from kingdom.chamberlain.costs import summed
from kingdom.clock import isoformat
from kingdom.store.paths import BaseDir
from kingdom.store.spending import Day, read_day, spell

DAILY, WEEKLY = "daily_report", "weekly_report"
SHOWN_DAYS = 7
_TASKS = ("created", "completed", "failed", "needs_human", "retried", "cancelled", "resumed")
_SOLDIERS = ("spawned", "completed", "timeout", "killed")
_EVENTS = ("detected", "dispatched", "discarded", "deferred", "superseded")

Spending = Callable[[str], Day]
Figures = Mapping[str, Any]


def daily(ledger: Figures, day: date, spending: Spending, zone: tzinfo) -> dict[str, Any]:
    before = [day - timedelta(days=back) for back in reversed(range(SHOWN_DAYS))]
    return _report(DAILY, ledger, [day], before, spending, zone)


def weekly(ledger: Figures, monday: date, spending: Spending, zone: tzinfo) -> dict[str, Any]:
    days = [monday + timedelta(days=number) for number in range(7)]
    found = _report(WEEKLY, ledger, days, days, spending, zone)
    return {**found, "until": days[-1].isoformat()}


def knows(ledger: Figures, days: Sequence[date], spending: Spending) -> bool:
    """Whether anything happened then that a report could tell."""
    return any(one.isoformat() in ledger["days"] or len(spending(str(one))) for one in days)


def week_of(day: date) -> list[date]:
    monday = day - timedelta(days=day.weekday())
    return [monday + timedelta(days=number) for number in range(7)]


def report_file(base: BaseDir, kind: str, day: date) -> str:
    name = f"{day:%G-W%V}" if kind == WEEKLY else day.isoformat()
    return base.path("logs", "analysis", f"report-{name}.json")


def spending_of(base: BaseDir) -> Callable[[str], Day]:
    """Each day is read once."""
    return cache(lambda day: read_day(base, day))


def _report(
    kind: str,
    ledger: Figures,
    days: Sequence[date],
    shown: Sequence[date],
    spending: Spending,
    zone: tzinfo,
) -> dict[str, Any]:
    known = [ledger["days"][str(one)] for one in days if str(one) in ledger["days"]]
    types = _added([one["types"] for one in known])
    durations = _durations(known)
    return {
        "type": kind,
        "date": days[0].isoformat(),
        "tasks": {name: types.get(f"task.{name}", 0) for name in _TASKS},
        "soldiers": {name: types.get(f"soldier.{name}", 0) for name in _SOLDIERS},
        "avg_duration_seconds": {name: round(one["mean"]) for name, one in durations.items()},
        "durations": durations,
        "events": {name: types.get(f"event.{name}", 0) for name in _EVENTS},
        "failures": _failures(known),
        "costs": summed([spending(str(one)) for one in days]),
        "health_changes": [one for figures in known for one in figures["health"]],
        "anomalies": _anomalies(ledger["windows"]["found"], days, zone),
        "dead_letters": {
            "count": types.get("queue.buried", 0),
            "last": [one for figures in known for one in figures["dead"]],
        },
        "history": [_moment_of_history(ledger, one, spending) for one in shown],
    }


def _moment_of_history(ledger: Figures, day: date, spending: Spending) -> dict[str, Any]:
    types = ledger["days"].get(str(day), {}).get("types", {})
    return {
        "date": day.isoformat(),
        "completed": types.get("task.completed", 0),
        "failed": types.get("task.failed", 0),
        "usd": spell(spending(str(day)).cost()),
    }


def _added(many: Sequence[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in many:
        for name, count in one.items():
            found[name] = found.get(name, 0) + count
    return found


def _durations(known: Sequence[Figures]) -> dict[str, Any]:
    names = sorted({name for figures in known for name in figures["durations"]})
    return {
        name: digest.summary(
            digest.merged([one["durations"][name] for one in known if name in one["durations"]])
        )
        for name in names
    }


def _failures(known: Sequence[Figures]) -> list[dict[str, Any]]:
    merged: dict[str, Any] = {}
    for figures in known:
        for code, one in figures["failures"].items():
            before = merged.get(code, {"failed": 0, "retried": 0, "last_seen": "", "generals": {}})
            merged[code] = {
                "failed": before["failed"] + one["failed"],
                "retried": before["retried"] + one["retried"],
                "last_seen": max(before["last_seen"], one["last_seen"]),
                "generals": _added([before["generals"], one["generals"]]),
            }
    return classes(merged)


def _anomalies(
    found: Sequence[Figures], days: Sequence[date], zone: tzinfo
) -> list[dict[str, Any]]:
    """Those that were there at some time of these days."""
    begin = _midnight(days[0], zone)
    end = _midnight(days[-1] + timedelta(days=1), zone)
    there = [one for one in found if one["since"] < end and (one["until"] or end) >= begin]
    return [
        {
            "kind": one["kind"],
            "subject": one["subject"],
            "since": _spelled(one["since"]),
            "until": _spelled(one["until"]) if one["until"] else None,
        }
        for one in there
    ]


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


def _spelled(moment: float) -> str:
    return isoformat(datetime.fromtimestamp(moment, UTC))
