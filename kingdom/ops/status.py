"""How a kingdom fares, read from what its processes leave on disk. Nothing is asked of them.

Plain data, for a terminal and for programs alike. It is typed again and again, so what takes long
to import is imported only when nothing else can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError
from kingdom.ops.asking import questions as asked
from kingdom.ops.listing import ENDED, counts, seconds, states
from kingdom.ops.role_faults import role_faults
from kingdom.ops.status_config import settings_in_force
from kingdom.ops.stopping import is_running, running
from kingdom.ops.systemd.manager import holder
from kingdom.ops.systemd.units import target_name
from kingdom.runtime import held_actions
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.runtime.processes import (
    LONGEST_REST,
    LONGEST_START,
    MISSED,
    STALE_AFTER,
    WARDEN,
    Seat,
    roles_file,
)
from kingdom.runtime.timekeeping import clock_doubt
from kingdom.runtime.waits import waits
from kingdom.store.paths import BaseDir
from kingdom.store.room import disk_problem
from kingdom.store.state import read_json
from kingdom.store.unusable import unusable
from kingdom.topology import STREAMS

if TYPE_CHECKING:
    from kingdom.settings.loading import Settings

T = TypeVar("T")
UP, STARTING, HUNG, DOWN = "up", "starting", "hung", "down"
_APART = ("usage", "budget")  # of what was measured
_COUNTED = tuple(name for name, stream in STREAMS.items() if not stream.flat)


def status(
    base: BaseDir, environment: Mapping[str, str], clock: Clock | None = None
) -> dict[str, Any]:
    """All of it. A part that cannot be read is left empty, and `files` says why."""
    clock = clock or SystemClock()
    now = clock.now().timestamp()
    told, measured = roles_told(base), health(base, now)
    used = measured["usage"] if measured else {}
    settings, problem, generals = _settings(base, environment, now)
    longest = _longest_silence(settings)
    return {
        "base_dir": base.root,
        "warden": _process(Seat(base, WARDEN), clock),
        "roles": [
            _role(name, base, told, clock, longest) | _used(used, name)
            for name in _names(base, told)
        ],
        "health": measured and {key: one for key, one in measured.items() if key not in _APART},
        "budget": measured and measured["budget"],
        "broken_duties": broken_duties(base),
        "failed": [one._asdict() for one in role_faults(base)],
        "systemd": _systemd(base, environment),
        "engine": settings and _engine(settings, environment, base),
        "config_problem": problem,
        "general_problems": generals,
        "disk_problem": _disk_problem(base),
        "files": [one._asdict() for one in unusable(base)],
        "clock_problem": _clock_problem(base, clock),
        "frozen": frozen(base),
        "metrics": _metrics(base),
        "watchers": watchers(base, now),
        "transport_problem": transport_problem(base),
        "queues": _queues(base),
        "held_actions": held_actions.stopped_tasks(base),
        "stopped_conversations": stopped_conversations(base),
        "soldiers": [_since(one, now) | _used(used, one.get("id")) for one in soldiers(base)],
        "questions": questions(base),
    }


def _queues(base: BaseDir) -> dict[str, dict[str, int]]:
    """Of those that this user may look into."""
    wanted = {one for one in states() if one not in ENDED}
    found: dict[str, dict[str, int]] = {}
    for name in _COUNTED:
        with suppress(OSError):
            found |= counts(base, (name,), wanted)
    return found


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
        "budget": _budget(found.get("tokens")),
    }


def _budget(found: object) -> dict[str, Any] | None:
    """What of the day's is spent; it decides what is let in, as health does."""
    if not isinstance(found, dict) or not isinstance(found.get("status"), str):
        return None
    names = ("status", "daily_cost_usd", "daily_budget_usd", "until")
    return {name: _text(found.get(name)) for name in names}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _clock_problem(base: BaseDir, clock: Clock) -> str | None:
    """What is put off because the clock was moved."""
    doubt = clock_doubt(base, clock)
    return f"{doubt.sentence} {doubt.remedy}" if doubt is not None and doubt.moved else None


def broken_duties(base: BaseDir) -> dict[str, str]:
    """What the chamberlain cannot see to for a defect of ours, and which; nothing while it is
    down."""
    if not Seat(base, "chamberlain").is_taken():
        return {}
    found = read_json(base.path("state", "chamberlain", "troubles.json"), {})
    listed = found.items() if isinstance(found, dict) else ()
    return {str(duty): str(error) for duty, error in listed}


def _used(usage: Mapping[str, Any], name: object) -> dict[str, Any]:
    """What a role or a soldier uses; nothing known of most soon after a start."""
    found = usage.get(str(name))
    one = found if isinstance(found, dict) else {}
    return {key: _number(one.get(key)) for key in ("cpu_percent", "memory_mb")}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _systemd(base: BaseDir, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The units that keep it; None without any. `problem`: why they cannot be asked."""
    manager = holder(base, environment)
    if manager is None:
        return None
    from kingdom.ops.systemd.installing import lacking

    closed = None if manager.is_there() else manager.unreachable()
    return {
        "problem": closed and f"{closed.sentence} {closed.remedy}",
        "target": target_name(base),
        "of_user": manager.of_user,
        "without_unit": lacking(base, manager),
    }


def _metrics(base: BaseDir) -> str | None:
    """Where the chamberlain serves them, while it runs."""
    if not Seat(base, "chamberlain").is_taken():
        return None
    found = read_json(base.path("state", "chamberlain", "metrics.json"), {})
    return str(found["address"]) if isinstance(found, dict) and "address" in found else None


def roles_told(base: BaseDir) -> dict[str, Any]:
    """What the warden last wrote; nothing when there is none to believe."""
    if not Seat(base, WARDEN).is_taken():
        return {}
    told = read_json(roles_file(base), {})
    roles = told.get("roles") if isinstance(told, dict) else None
    return roles if isinstance(roles, dict) else {}


def _names(base: BaseDir, told: Mapping[str, Any]) -> list[str]:
    """Those the warden keeps, and those that run without one."""
    return list(dict.fromkeys([*told, *(seat.name for seat in running(base))]))


def _process(seat: Seat, clock: Clock) -> dict[str, Any] | None:
    if not seat.is_taken():
        return None
    silence = seat.silence(clock)
    return {
        "pid": seat.holder(),
        "up_seconds": _ago(seat.since(), clock.now().timestamp()),
        "heartbeat_age_seconds": None if silence is None else round(silence, 1),
    }


def _role(
    name: str, base: BaseDir, told: Mapping[str, Any], clock: Clock, longest: float
) -> dict[str, Any]:
    process = _process(Seat(base, name), clock)
    kept = told.get(name, {})
    return {
        "name": name,
        "state": _state(process, longest),
        **(process or {"pid": None, "up_seconds": None, "heartbeat_age_seconds": None}),
        "restarts": kept.get("restarts", 0),
        "crash_loop": kept.get("crash_loop", False),
        "last_end": kept.get("last_end"),
        "refused": kept.get("refused"),
        "waits": waits(base, name) if process or kept.get("last_end") else [],
    }


def _state(process: Mapping[str, Any] | None, longest: float) -> str:
    if process is None:
        return DOWN
    beat = process["heartbeat_age_seconds"]
    if beat is None:
        most = max(longest, LONGEST_START)
        return STARTING if (process["up_seconds"] or 0.0) < most else HUNG
    return UP if beat < longest else HUNG


def _longest_silence(settings: Settings | None) -> float:
    """Seconds; without settings, as they begin."""
    if settings is None:
        return STALE_AFTER
    return max(settings.chamberlain.heartbeat.threshold_seconds, MISSED * LONGEST_REST)


def _ago(moment: float | None, now: float) -> float | None:
    return None if moment is None else round(max(now - moment, 0.0), 1)


def _settings(
    base: BaseDir, environment: Mapping[str, str], now: float
) -> tuple[Settings | None, str | None, dict[str, str]]:
    """What is in force, or what is wrong with the configuration, and with general packages."""
    try:
        settings, faults = settings_in_force(base, environment, now)
        return settings, None, faults
    except KingdomError as error:
        return None, str(error), {}


def _disk_problem(base: BaseDir) -> str | None:
    found = disk_problem(base)
    return found and f"{found.sentence} {found.remedy}"


def _engine(settings: Settings, environment: Mapping[str, str], base: BaseDir) -> dict[str, Any]:
    from kingdom.engines.choice import availability

    found = availability(settings, environment, base.root)
    runtime = settings.system.runtime
    return {
        "name": runtime.engine,
        "isolation": runtime.isolation,
        "no_sandbox": _no_sandbox(base),
        "available": found.available,
        "reason": found.reason or None,
        "remedy": found.remedy or None,
        "until": None if found.until is None else found.until.isoformat(),
    }


def _no_sandbox(base: BaseDir) -> str | None:
    """Why soldiers have none, as generals last found it."""
    told = read_json(base.path("state", "isolation.json"))
    if not isinstance(told, dict) or told.get("works"):
        return None
    return f"{told.get('reason', '')} {told.get('remedy', '')}".strip() or None


def frozen(base: BaseDir) -> dict[str, Any]:
    """Whether everything is, and which tasks are."""
    names: list[str] = _seen(lambda: Control(base).named("freeze"), [])
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


def transport_problem(base: BaseDir) -> dict[str, Any] | None:
    """Why the envoy reaches nobody just now; nothing if it does, or is down."""
    if not Seat(base, "envoy").is_taken():
        return None
    found = read_json(base.path("state", "envoy", "transport.json"))
    return found if isinstance(found, dict) else None


def stopped_conversations(base: BaseDir) -> list[dict[str, Any]]:
    """Those that met a limit of king.yaml, and why; the last event of each."""
    known = read_json(base.path("state", "king", "conversations.json"), {})
    found = []
    for name, one in known.items() if isinstance(known, dict) else ():
        stopped = one.get("stopped") if isinstance(one, dict) else None
        for event_id, why in list(stopped.items())[-1:] if isinstance(stopped, dict) else ():
            reason = why.get("reason") if isinstance(why, dict) else None
            found.append({"about": name, "event_id": event_id, "reason": _text(reason)})
    return found


def soldiers(base: BaseDir) -> list[dict[str, Any]]:
    """Those at work. While its general is down nobody strikes out one that has ended."""
    found = read_json(base.sessions_file, [])
    listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return _seen(lambda: [one for one in listed if _is_at_work(base, one)], listed)


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
    return _seen(lambda: [{"task_id": one.task_id, **one.written} for one in asked(base).open], [])


def _seen(look: Callable[[], T], otherwise: T) -> T:
    """What this user may not see is named by `files`."""
    try:
        return look()
    except OSError:
        return otherwise
