"""`logs/analysis/stats.json` and `failures.json`: the ledger as people and programs read it."""

from __future__ import annotations

from typing import Any

from kingdom.chamberlain import digest
from kingdom.failures import FAILURES

TASKS = ("started", "completed", "failed", "needs_human", "retried", "cancelled")
READ = ("lines", "damaged", "too_long", "restarted", "copies")


def stats(ledger: dict[str, Any], moment: str) -> dict[str, Any]:
    return {
        "updated_at": moment,
        "read": {name: ledger[name] for name in READ},
        **_figures(ledger["totals"]),
        "days": {day: _figures(one) for day, one in sorted(ledger["days"].items())},
    }


def failures(ledger: dict[str, Any], moment: str) -> dict[str, Any]:
    return {"updated_at": moment, "classes": classes(ledger["failures"])}


def classes(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What fails most comes first."""
    listed = [
        {"code": code, "sentence": FAILURES[code].sentence if code in FAILURES else "", **one}
        for code, one in found.items()
    ]
    return sorted(listed, key=lambda one: (-one["failed"], -one["retried"], one["code"]))


def tasks_of(types: dict[str, int]) -> dict[str, int]:
    return {name: types.get(f"task.{name}", 0) for name in TASKS}


def _figures(figures: dict[str, Any]) -> dict[str, Any]:
    names = {name for name in figures["actors"] if name.startswith("gen-")}
    return {
        "totals": dict(sorted(figures["types"].items())),
        "generals": {name: _general(figures, name) for name in sorted(names)},
    }


def _general(figures: dict[str, Any], name: str) -> dict[str, Any]:
    counts = figures["actors"][name]
    return {
        "tasks": tasks_of(counts),
        "soldiers": {
            what: counts.get(f"soldier.{what}", 0) for what in ("spawned", "completed", "timeout")
        },
        "duration_seconds": digest.summary(figures["durations"].get(name, digest.empty())),
    }
