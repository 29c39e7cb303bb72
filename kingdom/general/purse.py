"""What an attempt may spend, and what it has spent.

It is given the least of what is left for its task, for its general today, and for all today; the
engine stops by itself at that. Soldiers at work at the same time each may spend what was left when
they began.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from kingdom.clock import isoformat
from kingdom.errors import TryLater
from kingdom.general import budget
from kingdom.general.spec import Spec
from kingdom.runtime.role import Setting
from kingdom.settings.chamberlain import TokenLimits
from kingdom.store import spending
from kingdom.store.spending import Day, Spent

TASK, GENERAL, DAY = "task", "general", "day"
COMMAND = "command"
TELL_PRICES = ("claude", COMMAND)
FREE = ("rehearsal",)  # no model works in it
REMEDY = "It goes on tomorrow, or when token_limits in chamberlain.yaml allow more."
_LEAST = Decimal(str(budget.LEAST))


class Allowed(NamedTuple):
    """Dollars, and whose limit that is; None for no limit."""

    usd: float | None
    limit: str = ""


class Purse:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._day: Day | None = None

    def reason(self) -> str:
        """Why nothing may be begun; nothing if it may."""
        if not self._is_limited:
            return ""
        found = shortage(self._limits, self._today(), self._setting.name)
        return f"{found} {REMEDY}" if found else ""

    def allowed(self, of_task: float | None, spent_by_task: float) -> Allowed:
        """For one attempt. `of_task` is what the general's manifest allows each task."""
        limits = [one for one in (of_task, self._limits.per_task_usd) if one is not None]
        found = [Allowed(min(limits) - spent_by_task, TASK)] if limits else []
        if self._is_limited:
            of_today = left_today(self._limits, self._today(), self._setting.name)
            found += [Allowed(float(left), limit) for limit, left, _ in of_today]
        return min(found, key=lambda one: one.usd or 0.0, default=Allowed(None))

    def limits(self, engine: str, allowed: Allowed) -> dict[str, Any]:
        """For whoever watches the calls of one attempt."""
        tells_price, limits = engine in TELL_PRICES, self._limits
        return {
            "usd": allowed.usd if tells_price else None,
            "tokens": None if tells_price else limits.per_task_tokens,
            "day": self._today().date if self._is_limited else "",
            "day_usd": limits.daily_budget_usd if tells_price else None,
            "general_usd": limits.per_general_usd if tells_price else None,
        }

    def note(self, spec: Spec, ended_at: float, repo: str, metrics: Mapping[str, Any]) -> None:
        """What an attempt cost, before anything follows from its end."""
        moment = datetime.fromtimestamp(ended_at, UTC)
        tokens, models = metrics.get("tokens"), metrics.get("models")
        one = Spent(
            at=isoformat(moment),
            task_id=spec.task_id,
            soldier_id=spec.soldier_id,
            general=spec.general,
            repo=repo,
            engine=spec.engine,
            models=tuple(map(str, models)) if isinstance(models, list) else (),
            cost=price_of(spec.engine, metrics),
            tokens=tokens if isinstance(tokens, dict) else {},
        )
        day = moment.astimezone(self._setting.config.current.settings.system.zone).date()
        try:
            spending.note(self._setting.base, day, one)
        except OSError as error:
            raise TryLater(
                f"state/spending cannot be written: {error.strerror}.",
                remedy="Free some disk space, or see to its permissions.",
                code="state_unwritable",
            ) from error

    @property
    def _limits(self) -> TokenLimits:
        return self._setting.config.current.settings.chamberlain.token_limits

    @property
    def _is_limited(self) -> bool:
        """By day; else nobody need look what was spent."""
        return any((self._limits.daily_budget_usd, self._limits.per_general_usd))

    def _today(self) -> Day:
        setting = self._setting
        now = setting.clock.now().astimezone(setting.config.current.settings.system.zone)
        if self._day is None or self._day.date != now.date().isoformat():
            self._day = Day(setting.base, now.date())
        self._day.refresh()
        return self._day


def left_today(limits: TokenLimits, day: Day, general: str) -> list[tuple[str, Decimal, Decimal]]:
    """Each limit of the day with what is left of it, and the whole."""
    given = {DAY: limits.daily_budget_usd, GENERAL: limits.per_general_usd}
    known = {limit: Decimal(str(usd)) for limit, usd in given.items() if usd is not None}
    spent = {DAY: day.cost(), GENERAL: day.cost(general)}
    return [(limit, whole - spent[limit], whole) for limit, whole in known.items()]


def shortage(limits: TokenLimits, day: Day, general: str) -> str:
    """In a sentence; nothing while there is money."""
    for limit, left, whole in left_today(limits, day, general):
        if left <= whole * _LEAST:
            who = general if limit == GENERAL else "everyone"
            return f"The budget of {who} for today is spent (${spending.spell(whole)})."
    return ""


def price_of(engine: str, metrics: Mapping[str, Any]) -> Decimal | None:
    """What the engine told, which is the least that it cost."""
    if engine in FREE:
        return spending.NOTHING
    return spending.price(metrics.get("cost_usd")) if engine in TELL_PRICES else None


def told_by_program(engine: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What a soldier's own word for its cost is worth: nothing, but where an operator's program is
    all that can tell, and then only what can be true."""
    if engine != COMMAND:
        return {}
    cost, tokens, models = (said.get(name) for name in ("cost_usd", "tokens", "models"))
    found: dict[str, Any] = {}
    if (amount := spending.price(cost)) is not None:
        found["cost_usd"] = float(amount)
    if isinstance(tokens, dict):
        found["tokens"] = spending.counts(tokens)
    if isinstance(models, list):
        found["models"] = [one for one in models if isinstance(one, str)]
    return found
