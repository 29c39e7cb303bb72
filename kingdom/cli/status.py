"""`kingdom status`: what runs, what waits, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import age, count, harmless, print_json, print_table
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE, KingdomError
from kingdom.runtime.processes import STALE_AFTER
from kingdom.store.paths import BaseDir
from kingdom.words.harmless import at_a_glance

HEADINGS = ("ROLE", "STATE", "PID", "UP", "HEARTBEAT", "RESTARTS", "NOTE")
SHOWN = 6  # files that are wrong; doctor lists all
IN_ORDER = "exit code 0"
MOST_FAILED = 5  # lines
MOST_STOPPED = 5
LET_IN = {"warning": "only urgent work is let in", "critical": "no work is let in"}


def parser() -> Parser:
    made = Parser(
        "status",
        "Shows what runs, the engine, what waits in the queues, soldiers at work, questions that "
        "wait for an answer, and what is wrong. It changes nothing.",
        "kingdom status",
        "kingdom status --json | jq '.roles[] | select(.state != \"up\")'",
    )
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.status import status

    found = status(base, call.environment) | {"trust_to_add": _trust_to_add(call, base)}
    if options.json:
        print_json(found)
    else:
        _print(found)
    return EXIT_DONE


def _trust_to_add(call: Call, base: BaseDir) -> list[str]:
    from kingdom.clock import SystemClock
    from kingdom.ops.status_config import settings_in_force
    from kingdom.ops.trust_to_add import recent_events, trust_to_add

    try:
        now = SystemClock().now().timestamp()
        settings, _ = settings_in_force(base, call.environment, now)
    except KingdomError:
        return []  # it is said what is wrong with them
    return trust_to_add(settings.sentinel, recent_events(base))


def _print(found: dict[str, Any]) -> None:
    print(harmless(headline(found)))
    if found["roles"]:
        print_table(HEADINGS, [row(role) for role in found["roles"]])
    print()
    for line in _lines(found):
        print(harmless(line))


def headline(found: dict[str, Any]) -> str:
    warden, where = found["warden"], found["base_dir"]
    if warden:
        return f"{where}: running (warden pid {warden['pid']}, up {_age(warden['up_seconds'])})"
    if found["roles"] and found["systemd"]:
        return f"{where}: running under systemd ({found['systemd']['target']})"
    if found["roles"]:
        return f"{where}: roles run without a warden"
    if found["systemd"] and found["systemd"]["problem"]:
        return f"{where}: not running"
    return f"{where}: not running. Start it with: kingdom start"


def row(role: dict[str, Any]) -> tuple[str, ...]:
    return (
        role["name"],
        role["state"],
        str(role["pid"] or ""),
        _age(role["up_seconds"]),
        _age(role["heartbeat_age_seconds"]),
        str(role["restarts"]),
        _note(role),
    )


def _note(role: dict[str, Any]) -> str:
    if role["refused"] and role["state"] == "down":
        return "not started"
    if role["crash_loop"]:
        return f"dies again and again ({role['last_end']}): kingdom logs {role['name']}"
    if role["state"] == "hung":
        return f"shows no life: kingdom restart {role['name']}"
    if role["last_end"] in (None, IN_ORDER):
        return ""
    return f"its last life ended with {role['last_end']}"


def _age(seconds: float | None) -> str:
    return "" if seconds is None else age(seconds)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield from facts(found)
    yield from _soldiers(found["soldiers"])
    yield from questions(found["questions"])
    yield from found["trust_to_add"]


def facts(found: dict[str, Any]) -> Iterator[str]:
    """What is true of all of it, what is wrong first."""
    if found["config_problem"]:
        kept = " Until then the last good one is in force." if found["roles"] else ""
        yield f"config     {found['config_problem']}{kept}"
    for name, fault in found["general_problems"].items():
        kept = "keeps its last good package" if _is_there(found, name) else "is not used"
        yield f"general    {name} {kept}: {fault}"
    if found["disk_problem"]:
        yield f"disk       {found['disk_problem']}"
    if found["clock_problem"]:
        yield f"clock      {found['clock_problem']}"
    yield from _files(found["files"])
    yield from _waiting(found["roles"])
    yield from _found_by_chamberlain(found)
    yield from _faults(found)
    if found["systemd"]:
        yield from _systemd(found["systemd"])
    if found["engine"]:
        yield f"engine     {_engine(found['engine'])}"
        yield from _isolation(found["engine"])
    if found["frozen"]["all"]:
        yield "frozen     everything; go on with: kingdom thaw"
    if found["frozen"]["tasks"]:
        yield f"frozen     {', '.join(found['frozen']['tasks'])}; go on with: kingdom thaw TASK"
    yield from _watchers(found["watchers"])
    yield from _transport(found["transport_problem"] or {})
    if found["metrics"]:
        yield f"metrics    {found['metrics']}"
    yield f"queues     {_queues(found['queues'])}"
    yield from _held(found)


def _is_there(found: dict[str, Any], name: str) -> bool:
    return any(role["name"] == name for role in found["roles"])


def _files(files: list[dict[str, str]]) -> Iterator[str]:
    for one in files[:SHOWN]:
        yield f"file       {one['path']}: {one['sentence']} Mend it with: {one['remedy']}"
    if len(files) > SHOWN:
        yield f"file       {len(files) - SHOWN} more are unusable; see: kingdom doctor"


def _found_by_chamberlain(found: dict[str, Any]) -> Iterator[str]:
    if found["health"] and found["roles"]:
        yield f"health     {_health(found['health'])}"
    if found["budget"] and found["roles"] and found["budget"]["status"] in LET_IN:
        yield f"budget     {_budget(found['budget'])}"
    for duty, error in found["broken_duties"].items():
        yield f"broken     the chamberlain cannot see to {duty} ({error}): kingdom logs chamberlain"


def _faults(found: dict[str, Any]) -> Iterator[str]:
    """The newest of what roles could not handle."""
    for one in found["failed"][-MOST_FAILED:]:
        told = f"{one['role']} could not handle {one['what']} ({one['error']})"
        yield harmless(f"failed     {told}: kingdom logs {one['role']}", keep="")
    if len(found["failed"]) > MOST_FAILED:
        yield f"failed     {len(found['failed']) - MOST_FAILED} more; see: kingdom doctor"


def _health(health: dict[str, Any]) -> str:
    since = health["measured_seconds_ago"]
    if since is None or since >= STALE_AFTER:
        when = "at no known time" if since is None else f"{age(since)} ago"
        return f"counts as orange, measured {when}: kingdom logs chamberlain"
    figures = {
        "cpu": health["cpu_percent"],
        "memory": health["memory_percent"],
        "disk": health["disk_percent"],
    }
    told = [f"{name} {value:.0f} %" for name, value in figures.items() if value is not None]
    reason = f", for {health['reason']}" if health["reason"] else ""
    return f"{health['level']}{reason} ({', '.join(told)})" if told else health["level"] + reason


def _budget(budget: dict[str, Any]) -> str:
    """Why work waits, and what can be done about it."""
    spent, most, until = (budget[key] for key in ("daily_cost_usd", "daily_budget_usd", "until"))
    figures = f", ${spent} of ${most} spent" if spent and most else ""
    when = f" until {until}" if until else ""
    allowed = LET_IN[budget["status"]]
    return f"{budget['status']}{figures}: {allowed}{when}; see: kingdom budget"


def _engine(engine: dict[str, Any]) -> str:
    if engine["available"]:
        return f"{engine['name']}, available"
    until = f" until {engine['until']}" if engine["until"] else ""
    return f"{engine['name']}, not available{until}: {engine['reason']} {engine['remedy'] or ''}"


def _isolation(engine: dict[str, Any]) -> Iterator[str]:
    if engine["isolation"] == "off":
        yield "isolation  off: members' work runs as you, with all your files"
    if engine["no_sandbox"] and engine["name"] != "rehearsal":
        yield f"isolation  none, so soldiers get no shell: {engine['no_sandbox']}"


def _systemd(units: dict[str, Any]) -> Iterator[str]:
    if units["problem"]:
        yield f"systemd    {units['problem']}"
    elif units["without_unit"]:
        names = ", ".join(units["without_unit"])
        yield f"systemd    {names} without a unit; give it one with: kingdom systemd sync"


def _watchers(watchers: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, one in watchers.items():
        if one.get("state") == "ok":
            looked = one["looked_seconds_ago"]
            when = "not looked yet" if looked is None else f"looked {age(looked)} ago"
            yield f"watching   {name}, {when}, {count(one.get('emitted') or 0, 'event')} so far"
        else:
            yield f"watching   {name} {one.get('state')}: {_said(one)}"


def _waiting(roles: list[dict[str, Any]]) -> Iterator[str]:
    """Why roles wait, or could not be started; often all for the same reason."""
    whom: dict[str, list[str]] = {}
    for role in roles:
        refused = [role["refused"]] if role["refused"] and role["state"] == "down" else []
        for why in (*refused, *map(_said, role["waits"])):
            whom.setdefault(why, []).append(role["name"])
    for why, names in whom.items():
        yield f"waiting    {', '.join(names)}: {why}"


def _transport(problem: dict[str, Any]) -> Iterator[str]:
    if said := _said(problem):
        until = problem.get("until")
        yield (
            f"messages   wait until {until}: {said}" if until else f"replies    heard late: {said}"
        )
    for call in problem.get("calls") or ():
        yield f"slack      {_said(call)}"


def _said(problem: dict[str, Any]) -> str:
    return " ".join(str(problem[key]) for key in ("sentence", "remedy") if problem.get(key))


def _queues(queues: dict[str, dict[str, int]]) -> str:
    parts = [
        f"{count(number, stream.removesuffix('s'))} {state.replace('_', ' ')}"
        for stream, of_state in queues.items()
        for state, number in of_state.items()
    ]
    return ", ".join(parts) or "empty"


def _held(found: dict[str, Any]) -> Iterator[str]:
    """What may hold a secret or met a limit, and waits for a person."""
    if found["queues"].get("messages", {}).get("held"):
        yield "held       messages that may hold a secret: kingdom queue ls --state held"
    for task_id in found["held_actions"]:
        yield f"held       actions of {task_id}, which may hold a secret: kingdom why {task_id}"
    for one in found["stopped_conversations"][-MOST_STOPPED:]:
        yield harmless(f"stopped    {one['reason']}", keep="")
    if (more := len(found["stopped_conversations"]) - MOST_STOPPED) > 0:
        yield f"stopped    {more} more conversations; see: kingdom status --json"


def _soldiers(soldiers: list[dict[str, Any]]) -> Iterator[str]:
    if not soldiers:
        yield "soldiers   none at work"
    for one in soldiers:
        state = f" ({one['state']})" if one.get("state") not in (None, "running") else ""
        line = f"soldier    {one.get('id')} for {one.get('task_id')}, {one.get('general')}{state}"
        yield harmless(f"{line}{_at_it(one)}", keep="")


def _at_it(soldier: dict[str, Any]) -> str:
    """Since when, how often it was tried, and what it does now."""
    since = _age(soldier["up_seconds"])
    attempt = soldier.get("attempt")
    again = f", attempt {attempt}" if attempt not in (None, 1) else ""
    doing = f": {soldier['doing']}" if soldier.get("doing") else ""
    return f"{f', for {since}' if since else ''}{again}{doing}"


def questions(asked: list[dict[str, Any]]) -> Iterator[str]:
    if not asked:
        yield "questions  none open"
    for one in asked:
        parked = " (parked)" if one.get("parked_at") else ""
        yield f"question   {one['task_id']}{parked}: {at_a_glance(str(one.get('question')))}"
        yield f'           kingdom answer {one["task_id"]} "..."'
