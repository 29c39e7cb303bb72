"""How a kingdom fares, read from what its processes leave on disk. Nothing is asked of them.

Plain data, for a terminal and for programs alike. It is typed again and again, so what takes long
to import is imported only when nothing else can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError
from kingdom.ops.asking import questions as asked
from kingdom.ops.listing import ENDED, counts, seconds, states
from kingdom.ops.status_config import settings_in_force
from kingdom.ops.stopping import is_running, running
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.runtime.processes import STALE_AFTER, WARDEN, Seat, roles_file
from kingdom.store.paths import BaseDir
from kingdom.store.room import shortage
from kingdom.store.state import read_json
from kingdom.topology import STREAMS

UP, STARTING, HUNG, DOWN = "up", "starting", "hung", "down"
_COUNTED = tuple(name for name, stream in STREAMS.items() if not stream.flat)


def status(
    base: BaseDir, environment: Mapping[str, str], clock: Clock | None = None
) -> dict[str, Any]:
    """All of it. A part that cannot be read says so and leaves the others be."""
    now = (clock or SystemClock()).now().timestamp()
    told, measured = _told(base), health(base, now)
    used = measured["usage"] if measured else {}
    return {
        "base_dir": base.root,
        "warden": _process(Seat(base, WARDEN), now),
        "roles": [_role(name, base, told, now) | _used(used, name) for name in _names(base, told)],
        "health": measured and {key: one for key, one in measured.items() if key != "usage"},
        **_configured(base, environment, now),
        "disk_problem": shortage(base) or None,
        "frozen": frozen(base),
        "watchers": watchers(base, now),
        "queues": counts(base, _COUNTED, {one for one in states() if one not in ENDED}),
        "soldiers": [_since(one, now) | _used(used, one.get("id")) for one in soldiers(base)],
        "questions": questions(base),
    }


def health(base: BaseDir, now: float) -> dict[str, Any] | None:
    """As it was last measured; None when it never was, or nobody can read it."""
    found = read_json(base.resources_file)
    if not isinstance(found, dict) or not isinstance(found.get("health"), str):
        return None
    figures = ("cpu_percent", "memory_percent", "disk_percent", "load")
    age, usage = _ago(seconds(str(found.get("updated_at"))), now), found.get("usage")
    fresh = age is not None and age < STALE_AFTER
    return {
        "level": found["health"],
        "reason": found.get("reason"),
        **{name: _number(found.get(name)) for name in figures},
        "measured_seconds_ago": age,
        "usage": usage if fresh and isinstance(usage, dict) else {},
    }


def _used(usage: Mapping[str, Any], name: object) -> dict[str, Any]:
    """What a role or a soldier uses; nothing known of most soon after a start."""
    found = usage.get(str(name))
    one = found if isinstance(found, dict) else {}
    return {key: _number(one.get(key)) for key in ("cpu_percent", "memory_mb")}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _told(base: BaseDir) -> dict[str, Any]:
    """What the warden last wrote; nothing when there is none to believe."""
    if not Seat(base, WARDEN).is_taken():
        return {}
    told = read_json(roles_file(base), {})
    roles = told.get("roles") if isinstance(told, dict) else None
    return roles if isinstance(roles, dict) else {}


def _names(base: BaseDir, told: Mapping[str, Any]) -> list[str]:
    """Those the warden keeps, and those that run without one."""
    return list(dict.fromkeys([*told, *(seat.name for seat in running(base))]))


def _process(seat: Seat, now: float) -> dict[str, Any] | None:
    if not seat.is_taken():
        return None
    since, beat = seat.since(), seat.last_beat()
    return {
        "pid": seat.holder(),
        "up_seconds": _ago(since, now),
        "heartbeat_age_seconds": _ago(beat, now),
    }


def _role(name: str, base: BaseDir, told: Mapping[str, Any], now: float) -> dict[str, Any]:
    process = _process(Seat(base, name), now)
    kept = told.get(name, {})
    return {
        "name": name,
        "state": _state(process),
        **(process or {"pid": None, "up_seconds": None, "heartbeat_age_seconds": None}),
        "restarts": kept.get("restarts", 0),
        "crash_loop": kept.get("crash_loop", False),
        "last_end": kept.get("last_end"),
    }


def _state(process: Mapping[str, Any] | None) -> str:
    if process is None:
        return DOWN
    beat = process["heartbeat_age_seconds"]
    if beat is None:
        return STARTING if (process["up_seconds"] or 0.0) < STALE_AFTER else HUNG
    return UP if beat < STALE_AFTER else HUNG


def _ago(moment: float | None, now: float) -> float | None:
    return None if moment is None else round(max(now - moment, 0.0), 1)


def _configured(base: BaseDir, environment: Mapping[str, str], now: float) -> dict[str, Any]:
    """The engine, as the configuration names it, or what is wrong with the configuration."""
    from kingdom.engines.choice import availability

    try:
        settings = settings_in_force(base, environment, now)
    except KingdomError as error:
        return {"engine": None, "config_problem": str(error)}
    found = availability(settings, environment, base.root)
    return {
        "engine": {
            "name": settings.system.runtime.engine,
            "available": found.available,
            "reason": found.reason or None,
            "remedy": found.remedy or None,
            "until": None if found.until is None else found.until.isoformat(),
        },
        "config_problem": None,
    }


def frozen(base: BaseDir) -> dict[str, Any]:
    """Whether everything is, and which tasks are."""
    names = Control(base).named("freeze")
    return {"all": EVERYTHING in names, "tasks": [one for one in names if one != EVERYTHING]}


def watchers(base: BaseDir, now: float) -> dict[str, Any]:
    """How each of the sentinel's fares, as it last wrote it; nothing while it is down."""
    if not Seat(base, "sentinel").is_taken():
        return {}
    found = read_json(base.path("state", "sentinel", "watchers.json"), {})
    found = found if isinstance(found, dict) else {}
    return {
        name: one | {"looked_seconds_ago": _ago(seconds(str(one.get("last_look"))), now)}
        for name, one in found.items()
        if isinstance(one, dict)
    }


def soldiers(base: BaseDir) -> list[dict[str, Any]]:
    """Those at work. While its general is down nobody strikes out one that has ended."""
    found = read_json(base.sessions_file, [])
    listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [one for one in listed if _is_at_work(base, one)]


def _since(entry: dict[str, Any], now: float) -> dict[str, Any]:
    return {**entry, "up_seconds": _ago(_seconds(entry.get("started_at")), now)}


def _seconds(moment: object) -> float | None:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:  # written by hand
        return None


def _is_at_work(base: BaseDir, entry: Mapping[str, Any]) -> bool:
    general, soldier = str(entry.get("general")), str(entry.get("id"))
    return Seat(base, general).is_taken() or is_running(base, soldier)


def questions(base: BaseDir) -> list[dict[str, Any]]:
    """Those that wait for a person."""
    return [{"task_id": one.task_id, **one.written} for one in asked(base).open]
