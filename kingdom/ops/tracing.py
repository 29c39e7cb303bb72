"""The story of one journey, in order: what happened, when, and who did it.

Log lines say most of it. What the files say is told too when its line is gone, and instead of it
when the file knows more; nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kingdom.clock import isoformat
from kingdom.errors import NotFound
from kingdom.ops.choosing import find
from kingdom.ops.listing import ENDED, seconds
from kingdom.ops.relations import TASK_LOG, Found, Journey, Line, journey_of
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD, HELD, PENDING

_LONGEST = 200
# What the end of a task is called in the log, by the word in its file.
ENDS = {
    "completed": "task.completed",
    "skipped": "task.completed",
    "failed": "task.failed",
    "needs_human": "task.needs_human",
    "cancelled": "task.cancelled",
}
# Steps of the tasks log, and what else tells of them.
_SAME = {
    "created": ("task.created",),
    "trust_lowered": ("task.trust_lowered",),
    "started": ("task.started",),
    "retried": ("task.retried",),
    "ended": tuple(ENDS.values()),
    "reported": ("result.handled",),
}
# Of moments in the same millisecond, what causes comes before what follows.
_ORDER = ("event.detected", "event.", "task.created", "task.trust_lowered", "message.",
          "task.started", "soldier.spawned", "soldier.", "task.", "event.completed")  # fmt: skip


class Moment(NamedTuple):
    at: str
    who: str
    kind: str
    about: str
    text: str


class Story(NamedTuple):
    """`waiting` are the files that have not come to an end."""

    name: str
    journey: Journey
    moments: list[Moment]
    waiting: list[Found]


def trace(base: BaseDir, typed: str) -> Story:
    name = typed.rpartition("/")[2]
    journey = journey_of(base, name)
    moments = _in_order(journey, base)
    if not moments:
        raise _unknown(base, typed)
    waiting = [one for one in journey.files if one.state not in (*ENDED, DEAD)]
    return Story(name, journey, moments, waiting)


def _unknown(base: BaseDir, typed: str) -> NotFound:
    try:
        find(base, typed)
    except NotFound as fault:
        return NotFound(f"Nothing is known of {typed}.", remedy=fault.remedy)
    return NotFound(f"{typed} cannot be read.", remedy=f"See it with: kingdom queue show {typed}")


def _in_order(journey: Journey, base: BaseDir) -> list[Moment]:
    told = {(one.kind, one.about, one.at): one for line in journey.lines for one in _of_line(line)}
    kinds = {(one.kind, one.about) for one in told.values()}
    for one in (*_of_files(journey), *_of_soldiers(base, journey)):
        if (one.kind, one.about) in kinds and one.kind not in _FILES_KNOW_MORE:
            continue
        told = {key: old for key, old in told.items() if key[:2] != (one.kind, one.about)}
        told[one.kind, one.about, one.at] = one
    known = {key[:2] for key in told}
    moments = [one for one in told.values() if not _is_repeated(one, known)]
    return sorted(moments, key=lambda one: (seconds(one.at) or 0.0, _rank(one.kind), one.about))


def _is_repeated(one: Moment, known: set[tuple[str, str]]) -> bool:
    """The end of an event that the log explains, and a step of a task that is told already."""
    if one.kind == "event.completed":
        return any((kind, one.about) in known for kind in ("event.discarded", "event.superseded"))
    begin, _, step = one.kind.partition(":")
    return begin == TASK_LOG and any((kind, one.about) in known for kind in _SAME.get(step, ()))


def _rank(kind: str) -> int:
    fitting = [number for number, begin in enumerate(_ORDER) if kind.startswith(begin)]
    return max(fitting, key=lambda number: len(_ORDER[number]), default=len(_ORDER))


# What a line of a log says


def _of_line(line: Line) -> Iterator[Moment]:
    data = line.data
    if line.type == TASK_LOG:
        kind, about = f"{TASK_LOG}:{data['step']}", str(data["task_id"])
        yield Moment(line.at, line.who, kind, about, f"{data['step']} {data['facts']}".strip())
        return
    key = _ABOUT.get(line.type.partition(".")[0], "task_id")
    about = str(data.get(key) or data.get("task_id") or data.get("id") or "")
    yield Moment(line.at, line.who, line.type, about, _short(_said(line)))


def _said(line: Line) -> str:
    """All that it holds, if its type has no saying or it lacks what the saying needs."""
    saying = _SAYINGS.get(line.type)
    if saying:
        with suppress(KeyError, TypeError, ValueError):
            return saying.format_map(line.data)
    return " ".join(f"{key}={value}" for key, value in line.data.items())


_ABOUT = {"event": "event_id", "message": "msg_id", "soldier": "soldier_id"}
_SAYINGS = {
    "event.detected": "{event_type} came from {source}",
    "event.dispatched": "became {task_id} for {target_general}",
    "event.discarded": "discarded: {reason}",
    "event.deferred": "has to wait: {reason}",
    "event.superseded": "gave way to {superseded_by}, which is newer",
    "task.created": "made for {target_general}, priority {priority}",
    "task.trust_lowered": "trust lowered to {trust}: {reason}",
    "task.started": "taken up",
    "task.completed": "ended: {status}, after {duration_seconds:.1f}s",
    "task.failed": "failed: {error}",
    "task.needs_human": "asks: {question}",
    "task.resumed": "goes on where {original_task_id} asked",
    "task.retried": "to be tried again (attempt {retry_count} failed): {error}",
    "task.cancelled": "cancelled: {reason}",
    "soldier.spawned": "set to work on {task_id}",
    "soldier.completed": "ended: {status}",
    "soldier.timeout": "ran out of its {timeout_seconds:.0f}s",
    "soldier.killed": "killed: {reason}",
    "message.sent": "shown in {channel}",
    "message.failed": "given up: {error}",
    "message.held": "held: {reason}",
    "message.released": "let pass by a person",
    "task.actions_held": "held: {reason}",
    "task.actions_released": "what was held is done as {released_as}",
    "task.actions_dropped": "what was held will not be done",
    "message.human_response": "a person answered",
    "queue.buried": "buried: {reason}",
}


# What a file says


_FILES_KNOW_MORE = {"event.detected", "message.sent", *ENDS.values()}


def _of_files(journey: Journey) -> Iterator[Moment]:
    for one in journey.files:
        teller = {"events": _of_event, "tasks": _of_task, "messages": _of_message}.get(one.stream)
        told = teller(one, journey) if teller else _of_result(one, journey)
        for moment in told:
            if seconds(moment.at) is not None:
                yield moment._replace(text=_short(moment.text))


def _of_event(one: Found, journey: Journey) -> Iterator[Moment]:
    content = one.content
    about = " ".join(str(content[key]) for key in ("type", "repo") if content.get(key))
    source = _text(content, "source")
    came = f"{about} came, priority {_text(content, 'priority') or 'normal'}"
    yield Moment(_text(content, "created_at"), source, "event.detected", one.id, came)
    if one.state == "completed":
        status, reason = _text(content, "status"), _text(content, "reason")
        said = f"closed: {status}" + (f", {reason}" if reason else "")
        yield Moment(_ended(one), "king", "event.completed", one.id, said)
    elif one.state == DEAD:
        yield _dead(one)


def _of_task(one: Found, journey: Journey) -> Iterator[Moment]:
    content = one.content
    general, status = _text(content, "target_general"), _text(content, "status")
    made = f"made for {general}, priority {_text(content, 'priority') or 'normal'}"
    yield Moment(_text(content, "created_at"), "king", "task.created", one.id, made)
    if one.state == "completed":
        result = journey.of("results", one.id)
        said = _outcome(result.content) if result else f"ended: {status}"
        yield Moment(_ended(one), general, ENDS.get(status, "task.completed"), one.id, said)
    elif one.state == DEAD:
        yield _dead(one)


def _of_result(one: Found, journey: Journey) -> Iterator[Moment]:
    content = one.content
    if not journey.of("tasks", one.id):
        status = {"success": "completed", "killed": "failed"}
        word = status.get(_text(content, "status"), _text(content, "status"))
        at = _text(content, "created_at") or _text(_delivery(one), "created_at")
        yield Moment(at, "", ENDS.get(word, "task.completed"), one.id, _outcome(content))
    if one.state == "handled" and not content.get("answered_by"):
        yield Moment(_ended(one), "king", "result.handled", one.id, "its result was taken in")


def _outcome(result: dict[str, Any]) -> str:
    """What became of a task, from its result."""
    status, summary = _text(result, "status"), _text(result, "summary")
    if status == "needs_human":
        return f"asks: {_text(result, 'question')}"
    why = _text(result, "error") or _text(result, "reason") or summary
    code = _text(result, "error_code")
    return f"ended: {status}" + (f" ({code})" if code else "") + (f", {why}" if why else "")


def _of_message(one: Found, journey: Journey) -> Iterator[Moment]:
    content = one.content
    said = " ".join(_text(content, "content").split())
    kind = "question " if content.get("type") == "human_input_request" else ""
    if one.state == "sent":
        where = _text(content, "channel")
        yield Moment(
            _ended(one), "envoy", "message.sent", one.id, f"{kind}shown in {where}: {said}"
        )
    elif one.state == HELD:
        why = _text(_delivery(one), "last_error_message")
        yield Moment(_ended(one), "envoy", "message.held", one.id, f"{kind}held: {why}")
    elif one.state == PENDING:
        at = _text(content, "created_at")
        yield Moment(at, "", "message.waits", one.id, f"{kind}waits to be shown: {said}")
    else:
        yield _dead(one)._replace(kind="message.failed")


def _dead(one: Found) -> Moment:
    delivery, kind = _delivery(one), one.stream.removesuffix("s")
    why = _text(delivery, "last_error_message") or "for the reason that lies beside it"
    return Moment(_ended(one), "", f"{kind}.dead", one.id, f"given up: {why}")


def _of_soldiers(base: BaseDir, journey: Journey) -> Iterator[Moment]:
    """Those at work now; of the others only the logs tell."""
    entries = read_json(base.sessions_file, [])
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and _text(entry, "task_id") in journey.names:
            at, soldier = _text(entry, "started_at"), _text(entry, "id")
            said = f"set to work on {entry['task_id']}"
            if seconds(at) is not None:
                yield Moment(at, _text(entry, "general"), "soldier.spawned", soldier, said)


def _ended(one: Found) -> str:
    delivery = _delivery(one)
    return _text(delivery, "processed_at") or _text(delivery, "updated_at")


def _delivery(one: Found) -> dict[str, Any]:
    found = one.content.get("delivery")
    return found if isinstance(found, dict) else {}


def _text(content: dict[str, Any], key: str) -> str:
    value = content.get(key)
    return value if isinstance(value, str) else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def in_utc(moment: str) -> str:
    """One spelling for all, whoever wrote it."""
    found = seconds(moment)
    return moment if found is None else isoformat(datetime.fromtimestamp(found, UTC))
