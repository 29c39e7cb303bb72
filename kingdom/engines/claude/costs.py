"""What an attempt cost. Metrics are of this attempt alone; those named `session_…` of all so far.

Versions differ in what they report after `--resume`: up to 2.1.197 everything is of this run; newer
ones add up `total_cost_usd`, `modelUsage` and `duration_api_ms` over the session (a run that was
asked to end is in it, one that was killed is not), and have the run's own in
`model_usage_since_last_result`. `usage` and `num_turns` are of each result line in all of them.

What follows the last result line has no price: then `cost_unknown`, and `cost_usd` is what came
before. A program that never asked the model anything has cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kingdom.engines.claude.stream import TOKENS, Account, tokens
from kingdom.engines.json_lines import Entry, number, part, text

_RECENT = "model_usage_since_last_result"


def metrics(account: Account, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """`earlier` are the metrics of this session's last run."""
    found: dict[str, Any] = {
        "tokens": spent(account, earlier),
        "turns": _turns(account),
        "models": list(account.models),
        "version": account.version or None,
        "partial": account.is_cut or None,  # tokens are a lower bound
        "cost_unknown": account.is_cut or None,
        "denied_tools": denied_tools(account) or None,
        **(_money(account, earlier) if account.results else _unchanged(account, earlier)),
    }
    return {name: value for name, value in found.items() if value is not None}


def spent(account: Account, earlier: Mapping[str, Any]) -> dict[str, int]:
    """Tokens of this run, of which after the last result line only what was seen."""
    if not account.results:
        return _sum(account.usage.values())
    return _sum((_told_of(account, earlier), _sum(account.unbilled.values())))


def _told_of(account: Account, earlier: Mapping[str, Any]) -> dict[str, int]:
    """By the larger of two accounts: after a broken stream one has gaps."""
    told, recent = _told(account), _recent(account)
    if recent is not None:
        return _larger(told, _sum(tokens(one) for one in recent))
    return told if _adds_up(account, earlier) else _larger(told, _per_model(account.result))


def _money(account: Account, earlier: Mapping[str, Any]) -> dict[str, float]:
    total = number(account.result, "total_cost_usd")
    seconds = number(account.result, "duration_api_ms") / 1000
    before = number(earlier, "session_cost_usd")
    before_seconds = number(earlier, "session_api_seconds")
    recent = _recent(account)
    if recent is None and not _adds_up(account, earlier):
        cost, total = total, before + total
        api, seconds = seconds, before_seconds + seconds
    else:
        cost = total - before if recent is None else sum(number(one, "costUSD") for one in recent)
        api = max(seconds - before_seconds, 0.0)
    return {
        "cost_usd": round(max(cost, 0.0), 6),
        "session_cost_usd": round(total, 6),
        "api_seconds": round(api, 3),
        "session_api_seconds": round(seconds, 3),
    }


def _unchanged(account: Account, earlier: Mapping[str, Any]) -> dict[str, Any]:
    names = ("session_cost_usd", "session_api_seconds")
    known = {name: earlier[name] for name in names if name in earlier}
    return known if account.is_cut else {**known, "cost_usd": 0.0}


def _told(account: Account) -> dict[str, int]:
    return _sum(tokens(part(result, "usage")) for result in account.results)


def _recent(account: Account) -> list[Entry] | None:
    """Per model and result line; None in versions that do not tell."""
    if not any(_RECENT in result for result in account.results):
        return None
    return [
        part(part(result, _RECENT), model)
        for result in account.results
        for model in part(result, _RECENT)
    ]


def _adds_up(account: Account, earlier: Mapping[str, Any]) -> bool:
    """Whether a version that does not tell the run's own figures reports the session's."""
    before = number(earlier, "session_cost_usd")
    more = sum(_per_model(account.result).values()) > sum(_told(account).values())
    return 0 < before <= number(account.result, "total_cost_usd") and more


def _per_model(result: Entry) -> dict[str, int]:
    usage = part(result, "modelUsage")
    return _sum(tokens(part(usage, model)) for model in usage)


def _turns(account: Account) -> int:
    if not account.results:
        return len(account.usage)
    told = sum(number(result, "num_turns") for result in account.results)
    return int(told) + len(account.unbilled)


def denied_tools(account: Account) -> list[str]:
    """The tools that were wanted and not allowed, each once."""
    listed = (result.get("permission_denials") for result in account.results)
    denials = [one for denied in listed if isinstance(denied, list) for one in denied]
    named = (text(one, "tool_name") for one in denials if isinstance(one, dict))
    return list(dict.fromkeys(name for name in named if name))


def _sum(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    listed = list(many)
    return {name: sum(one[name] for one in listed) for name in TOKENS}


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one[name], other[name]) for name in TOKENS}
