"""`kingdom budget`: what was spent, by whom, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import count, harmless, print_json, print_table
from kingdom.cli.parser import Parser
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE

MEANING = {
    "ok": "all work is let in",
    "warning": "only urgent work is let in",
    "critical": "no work is let in until midnight",
    "unknown": "no attempt has a price, so it cannot be kept; all work is let in",
}


def parser() -> Parser:
    made = Parser(
        "budget",
        "Shows what soldiers cost today and in the last seven days, as their engines reported it: "
        "by general, by repository, and the dearest tasks. The forecast is what was spent today, "
        "and what the last days cost on average after this time of day.",
        "kingdom budget",
        "kingdom budget --json | jq -r .today.usd",
    )
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.budget import budget

    found = budget(base, call.environment, SystemClock())
    if options.json:
        print_json(found)
    else:
        _print(found)
    return EXIT_DONE


def _print(found: dict[str, Any]) -> None:
    for line in _lines(found):
        print(harmless(line))
    for title, key in (("GENERAL", "by_general"), ("REPOSITORY", "by_repo")):
        if found["week"][key]:
            print()
            print_table((title, "TODAY", "7 DAYS", "ATTEMPTS"), _rows(found, key))
    if found["week"]["dearest"]:
        print()
        rows = [
            (one["task_id"], f"${one['usd']}", one["general"], one["repo"])
            for one in found["week"]["dearest"]
        ]
        print_table(("DEAREST TASKS", "COST", "GENERAL", "REPOSITORY"), rows)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    today, week, limits = found["today"], found["week"], found["limits"]
    budget = limits["daily_budget_usd"]
    if budget is None:
        yield f"today      ${today['usd']} ({found['date']}, {found['timezone']}); no budget is set"
    else:
        share = _share(float(today["usd"]), float(budget))
        yield f"today      ${today['usd']} of ${budget}  {_bar(share)}  {share:.0%}"
        yield f"status     {found['status']}: {MEANING[found['status']]}"
    yield f"forecast   {_forecast(found)}"
    if week["unpriced"]:
        yield f"unknown    {_unpriced(today['unpriced'], week['unpriced'])}"
    yield f"limits     {_limits(limits)}"
    from kingdom.words.charts import sparkline

    chart = sparkline([float(one["usd"]) for one in week["days"]])
    yield f"7 days     ${week['usd']}  {chart}  since {week['from']}"
    yield "           change limits with token_limits in config/local/chamberlain.yaml"


def _share(spent: float, budget: float) -> float:
    """A budget of less than a millionth is shown as none, and spent with the first cent."""
    return spent / budget if budget else float(spent > 0)


def _bar(share: float) -> str:
    full = min(round(share * 20), 20)
    return "█" * full + "░" * (20 - full)


def _forecast(found: dict[str, Any]) -> str:
    if found["forecast_usd"] is None:
        return "not yet: it needs three days of work among the last seven"
    return f"${found['forecast_usd']} by midnight"


def _unpriced(today: int, week: int) -> str:
    return (
        f"{count(today, 'attempt')} today and {week} in 7 days told no price; "
        "they are not in these sums"
    )


def _limits(limits: dict[str, Any]) -> str:
    said = {
        "a day": limits["daily_budget_usd"],
        "a task": limits["per_task_usd"],
        "a general and day": limits["per_general_usd"],
    }
    known = [f"${usd} {what}" for what, usd in said.items() if usd is not None]
    if not known:
        return "none"
    if limits["daily_budget_usd"] is not None:
        warning, critical = (f"{float(limits[one]):g}" for one in ("warning_pct", "critical_pct"))
        known[0] += f" (warning at {warning} %, critical at {critical} %)"
    return ", ".join(known)


def _rows(found: dict[str, Any], key: str) -> list[tuple[str, ...]]:
    today, week = found["today"][key], found["week"][key]
    return [
        (name, f"${today[name]['usd']}" if name in today else "", f"${one['usd']}{_more(one)}",
         str(one["attempts"]))
        for name, one in week.items()
    ]  # fmt: skip


def _more(one: dict[str, Any]) -> str:
    return " + ?" if one["unpriced"] else ""
