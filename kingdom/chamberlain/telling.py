"""A report as people read it, in their language: a few lines and a small chart. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from kingdom.chamberlain.anomalies import FAILURES
from kingdom.chamberlain.daily import WEEKLY
from kingdom.words import Words
from kingdom.words.charts import sparkline

_MOST_LISTED = 5

Report = Mapping[str, Any]


def told(report: Report, words: Words, zone: tzinfo) -> str:
    return "\n".join((_heading(report, words), *_lines(report, words, zone)))


def told_below_title(report: Report, words: Words, zone: tzinfo) -> str:
    """For a message: that of a day gets its title from whoever shows it."""
    heading = [_heading(report, words)] if report["type"] == WEEKLY else []
    return "\n".join((*heading, *_lines(report, words, zone)))


def _heading(report: Report, words: Words) -> str:
    if report["type"] == WEEKLY:
        return words("chamberlain_report_week", since=report["date"], until=report["until"])
    return words("chamberlain_report_day", date=report["date"])


def _lines(report: Report, words: Words, zone: tzinfo) -> Iterator[str]:
    tasks, soldiers = report["tasks"], report["soldiers"]
    yield words(
        "chamberlain_report_tasks",
        **{name: tasks[name] for name in ("created", "completed", "failed", "needs_human")},
    )
    yield words(
        "chamberlain_report_soldiers", spawned=soldiers["spawned"], timeout=soldiers["timeout"]
    )
    for general, one in report["durations"].items():
        yield words(
            "chamberlain_report_general",
            general=general,
            count=one["count"],
            mean=words.span(one["mean"]),
            most=words.span(one["p95"]),
        )
    yield from _costs(report["costs"], words)
    yield from _troubles(report, words, zone)
    yield from _chart(report["history"], words)


def _costs(costs: Report, words: Words) -> Iterator[str]:
    yield words("chamberlain_report_cost", usd=costs["usd"], attempts=costs["attempts"])
    if costs["unpriced"]:
        yield words("chamberlain_report_unpriced", count=costs["unpriced"])
    for one in costs["dearest"][:1]:
        yield words(
            "chamberlain_report_dearest",
            task=one["task_id"],
            usd=one["usd"],
            general=one["general"],
        )


def _troubles(report: Report, words: Words, zone: tzinfo) -> Iterator[str]:
    failed = [one for one in report["failures"] if one["failed"]][:_MOST_LISTED]
    if failed:
        listed = ", ".join(f"{one['code']} {one['failed']}" for one in failed)
        yield words("chamberlain_report_failures", listed=listed)
    for one in report["anomalies"][:_MOST_LISTED]:
        name = "failures_in_a_row" if one["kind"] == FAILURES else one["kind"]
        yield words(
            f"chamberlain_report_{name}",
            subject=one["subject"],
            since=_clock(one["since"], zone),
            until=_clock(one["until"], zone) if one["until"] else "…",
        )
    for one in report["health_changes"][:_MOST_LISTED]:
        moment = _clock(one["ts"], zone)
        yield words(
            "chamberlain_report_health",
            at=moment,
            before=one.get("from", ""),
            after=one.get("to", ""),
            reason=one.get("reason", ""),
        )
    if report["dead_letters"]["count"]:
        yield words("chamberlain_report_dead", count=report["dead_letters"]["count"])


def _chart(history: Sequence[Report], words: Words) -> Iterator[str]:
    if len(history) > 1:
        yield words(
            "chamberlain_report_chart",
            days=len(history),
            completed=sparkline([one["completed"] for one in history]),
            cost=sparkline([float(one["usd"]) for one in history]),
        )


def _clock(moment: str, zone: tzinfo) -> str:
    try:
        return f"{datetime.fromisoformat(moment).astimezone(zone):%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return moment
