"""What was spent today and this week, by whom, and what today will probably cost.

Zone, language and limits are believed as the chamberlain wrote them a moment ago: to read the
configuration itself takes many times as long as all the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple

from kingdom.chamberlain import costs
from kingdom.clock import Clock
from kingdom.store.paths import BaseDir
from kingdom.store.spending import read_day, spell
from kingdom.store.state import read_json

DAYS = 7
_FRESH_SECONDS = 90.0
_LIMITS = ("daily_budget_usd", "warning_pct", "critical_pct", "per_task_usd", "per_general_usd")


class Terms(NamedTuple):
    """What the configuration says, as far as money and reports go."""

    zone: tzinfo
    zone_name: str
    language: str
    limits: Mapping[str, Any]


def terms(base: BaseDir, environment: Mapping[str, str], now: datetime) -> Terms:
    noted = read_json(base.path("state", "chamberlain", "budget.json"), {})
    if isinstance(noted, dict) and _is_fresh(noted, now):
        name, limits = noted.get("timezone"), noted.get("limits")
        if isinstance(name, str) and isinstance(limits, dict):
            return Terms(_zone(name), name, str(noted.get("language")), limits)
    from kingdom.settings.chamberlain import ChamberlainSettings
    from kingdom.settings.loading import load_file
    from kingdom.settings.system import SystemSettings

    system = load_file("system", base.config, environment)
    chamberlain = load_file("chamberlain", base.config, environment)
    assert isinstance(system, SystemSettings)
    assert isinstance(chamberlain, ChamberlainSettings)
    limits = chamberlain.token_limits.model_dump()
    return Terms(system.zone, system.timezone, system.language, limits)


def budget(base: BaseDir, environment: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    now = clock.now()
    known = terms(base, environment, now)
    limits = costs.limits_of(known.limits)
    today = now.astimezone(known.zone).date()
    # The forecast asks as many days as the week has, besides today.
    before = [read_day(base, one) for one in _last(today - timedelta(days=1))]
    days = [*before[1:], read_day(base, today)]
    expected = costs.forecast(days[-1], before, now, known.zone)
    return {
        "date": today.isoformat(),
        "timezone": known.zone_name,
        "status": costs.status(days[-1], limits),
        "limits": {name: _text(known.limits.get(name)) for name in _LIMITS},
        "left_usd": _left(limits.daily, days[-1].cost()),
        "today": costs.summed(days[-1:]),
        "forecast_usd": None if expected is None else spell(expected.quantize(Decimal("0.01"))),
        "week": {
            "from": days[0].date,
            "days": [{"date": one.date, "usd": spell(one.cost())} for one in days],
            **costs.summed(days),
        },
    }


def _last(today: date) -> list[date]:
    return [today - timedelta(days=back) for back in reversed(range(DAYS))]


def _left(whole: Decimal | None, spent: Decimal) -> str | None:
    return None if whole is None else spell(max(whole - spent, Decimal(0)))


def _text(limit: Any) -> str | None:
    return None if limit is None else spell(Decimal(str(limit)))


def _is_fresh(noted: dict[str, Any], now: datetime) -> bool:
    try:
        age = (now - datetime.fromisoformat(noted["updated_at"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return False
    return 0 <= age <= _FRESH_SECONDS


def _zone(name: str) -> tzinfo:
    from datetime import UTC
    from zoneinfo import ZoneInfo

    return UTC if name == "UTC" else ZoneInfo(name)
