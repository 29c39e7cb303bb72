"""What was spent, added up, and what a day will probably cost. Pure, and quick to import.

The forecast is what was spent today, and on top the mean of what the last seven days cost after
this time of day. Days without any work are not asked. With fewer than three such days there is
none: an average of nothing is a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple

from kingdom.store.spending import NOTHING, Day, Spent, spell

OK, WARNING, CRITICAL, UNKNOWN = "ok", "warning", "critical", "unknown"
DAYS_ASKED, LEAST_DAYS = 7, 3
_MOST_TASKS = 5


class Limits(NamedTuple):
    """Of `token_limits`, as decimals."""

    daily: Decimal | None = None
    warning_pct: Decimal = Decimal(70)
    critical_pct: Decimal = Decimal(90)
    per_task: Decimal | None = None
    per_general: Decimal | None = None


def limits_of(given: Mapping[str, Any]) -> Limits:
    """From the settings' values, or from what was written of them."""

    def one(name: str) -> Decimal | None:
        return None if given.get(name) is None else Decimal(str(given[name]))

    return Limits(
        one("daily_budget_usd"),
        one("warning_pct") or NOTHING,
        one("critical_pct") or NOTHING,
        one("per_task_usd"),
        one("per_general_usd"),
    )


def status(day: Day, limits: Limits) -> str:
    """Nobody can say, when no attempt has a price; without a budget nothing can be above it."""
    if limits.daily is None:
        return OK
    if len(day) and day.unpriced == len(day):
        return UNKNOWN
    share = day.cost() * 100 / limits.daily
    if share >= limits.critical_pct:
        return CRITICAL
    return WARNING if share >= limits.warning_pct else OK


def forecast(today: Day, before: Iterable[Day], now: datetime, zone: tzinfo) -> Decimal | None:
    """None while too little is known."""
    local = now.astimezone(zone)
    worked = [day for day in before if len(day)]
    if len(worked) < LEAST_DAYS:
        return None
    later = [_after(day, local, zone) for day in worked]
    return today.cost() + sum(later, NOTHING) / len(later)


def _after(day: Day, now: datetime, zone: tzinfo) -> Decimal:
    def is_later(one: Spent) -> bool:
        try:
            return datetime.fromisoformat(one.at).astimezone(zone).time() > now.time()
        except (ValueError, OverflowError):
            return False

    return sum(
        (one.cost for one in day.attempts if one.cost is not None and is_later(one)), NOTHING
    )


def summed(days: Sequence[Day]) -> dict[str, Any]:
    """Who spent it, for people and programs; money is text."""
    attempts = [one for day in days for one in day.attempts]
    return {
        "usd": spell(_cost(attempts)),
        "attempts": len(attempts),
        "unpriced": sum(one.cost is None for one in attempts),
        "tokens": _tokens(attempts),
        "by_general": _by(attempts, lambda one: one.general),
        "by_repo": _by(attempts, lambda one: one.repo or "-"),
        "dearest": _dearest(attempts),
    }


def _by(attempts: Sequence[Spent], key: Any) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Spent]] = {}
    for one in attempts:
        groups.setdefault(key(one), []).append(one)
    dearest = sorted(groups.items(), key=lambda item: (-_cost(item[1]), item[0]))
    return {
        name: {
            "usd": spell(_cost(many)),
            "attempts": len(many),
            "unpriced": sum(one.cost is None for one in many),
        }
        for name, many in dearest
    }


def _dearest(attempts: Sequence[Spent]) -> list[dict[str, Any]]:
    tasks: dict[str, list[Spent]] = {}
    for one in attempts:
        tasks.setdefault(one.task_id, []).append(one)
    priced = [(id_, many) for id_, many in tasks.items() if _cost(many)]
    priced.sort(key=lambda item: (-_cost(item[1]), item[0]))
    return [
        {
            "task_id": id_,
            "general": many[0].general,
            "repo": many[0].repo,
            "usd": spell(_cost(many)),
            "attempts": len(many),
        }
        for id_, many in priced[:_MOST_TASKS]
    ]


def _cost(attempts: Iterable[Spent]) -> Decimal:
    return sum((one.cost for one in attempts if one.cost is not None), NOTHING)


def _tokens(attempts: Iterable[Spent]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in attempts:
        for kind, many in one.tokens.items():
            found[kind] = found.get(kind, 0) + many
    return found


def next_midnight(now: datetime, zone: tzinfo) -> datetime:
    """On that wall clock, also on days that are longer or shorter."""
    tomorrow = (now.astimezone(zone) + timedelta(days=1)).date()
    return datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone)


def seconds_until_midnight(now: datetime, zone: tzinfo) -> float:
    return max(next_midnight(now, zone).timestamp() - now.timestamp(), 0.0)
