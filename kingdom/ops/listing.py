"""The queues as they lie on disk, read without locks, models or anything else that takes long.

It only looks: what lies there is taken as it is, damaged files included. Whether a field holds
what it should is `fsck`'s business.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kingdom.bus.due import DEFERRED, LONGEST_DEFERRAL, Wait
from kingdom.clock import SystemClock, isoformat
from kingdom.models.ids import TASK_ID, is_id, sequence_number
from kingdom.models.priority import NORMAL, RANKS
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX, BaseDir
from kingdom.topology import DEAD, HELD, PENDING, STREAMS, Stream

SUFFIX = ".json"
HANDLED = "handled"
ENDED = ("completed", "sent", HANDLED)  # listed only when asked for
LARGEST = 16 * 1024 * 1024
_LAST = float("inf")
_WORDS = {errno.ELOOP: "a symbolic link", errno.EISDIR: "a directory", errno.EFBIG: "too large"}


class Place(NamedTuple):
    """One directory of a stream. A flat stream's files stay in it when handled."""

    stream: str
    state: str
    directory: str


class Listed(NamedTuple):
    """One file as a listing shows it. `damaged` says why the rest may be empty."""

    id: str
    stream: str
    state: str
    path: str
    type: str = ""
    priority: str = ""
    created_at: str = ""
    attempts: int = 0
    crashes: int = 0
    held_by: str = ""
    held_until: str = ""
    due_at: str = ""
    error_code: str = ""
    error: str = ""
    damaged: str = ""


def places(base: BaseDir, streams: tuple[str, ...] = tuple(STREAMS)) -> list[Place]:
    found = []
    for name in streams:
        stream = STREAMS[name]
        for state, directory in _states(stream):
            path = base.path(stream.root, directory) if directory else base.path(stream.root)
            found.append(Place(name, state, path))
    return found


def _states(stream: Stream) -> list[tuple[str, str]]:
    if stream.flat:
        return [(PENDING, ""), (DEAD, DEAD)]
    return [(state.directory, state.directory) for state in stream.states]


def states() -> list[str]:
    """Every state there is, in the order messages pass through them."""
    named = [state for stream in STREAMS.values() for state, _ in _states(stream)]
    ahead = [state for state in dict.fromkeys(named) if state not in (*ENDED, DEAD)]
    return [*ahead, *ENDED, DEAD]


def stems(place: Place) -> list[str]:
    """The ids lying there, or what stands for one in the name of a file that has none."""
    try:
        names = [name for name in disk.names(place.directory) if is_message(place, name)]
    except PermissionError:
        if place.state == HELD:  # it is only for the owner's eyes
            return []
        raise
    return [name.removesuffix(SUFFIX) for name in names]


def is_message(place: Place, name: str) -> bool:
    if name.startswith(".") or not name.endswith(SUFFIX):
        return False
    if place.state == DEAD:
        return not name.endswith(SUFFIX + REASON_SUFFIX)
    flat = STREAMS[place.stream].flat
    return not flat or TASK_ID.fullmatch(name.removesuffix(SUFFIX)) is not None


def listing(base: BaseDir, streams: tuple[str, ...], wanted: set[str]) -> list[Listed]:
    """What lies in these states of these streams, each state in the order it would be claimed."""
    found = []
    for place in places(base, streams):
        # Only the content of a result tells whether it was handled.
        asked = {PENDING, HANDLED} if _is_mixed(place) else {place.state}
        if asked & wanted:
            entries = [entry for entry in map(_reader(place), stems(place)) if entry]
            found += sorted((e for e in entries if e.state in wanted), key=_order)
    return found


def _is_mixed(place: Place) -> bool:
    return STREAMS[place.stream].flat and place.state == PENDING


def counts(base: BaseDir, streams: tuple[str, ...], wanted: set[str]) -> dict[str, dict[str, int]]:
    """How many lie in each of these states, by stream; the empty ones are left out."""
    found: dict[str, dict[str, int]] = {}
    for place in places(base, streams):
        for state in _states_of_files(place):
            if state in wanted:
                of_stream = found.setdefault(place.stream, {})
                of_stream[state] = of_stream.get(state, 0) + 1
    return found


def _states_of_files(place: Place) -> Iterator[str]:
    if not _is_mixed(place):
        return (place.state for _ in stems(place))
    return (entry.state for entry in map(_reader(place), stems(place)) if entry)


def _reader(place: Place) -> Any:
    return lambda stem: read(place, stem)


def read(place: Place, stem: str) -> Listed | None:
    """None if it went meanwhile."""
    path = f"{place.directory}/{stem}{SUFFIX}"
    bare = Listed(stem, place.stream, place.state, path)
    try:
        data, facts = disk.read(path, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        what = _WORDS.get(error.errno or 0) or error.strerror or str(error)
        return _explained(bare._replace(damaged=what))
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError):
        now = disk.facts_of(path)
        if now is None or now.st_ino != facts.st_ino:
            return read(place, stem)  # it moved on while it was read
        return _explained(bare._replace(damaged="not JSON"))
    if not isinstance(content, dict):
        return _explained(bare._replace(damaged="not a JSON object"))
    return _explained(_filled(bare, content))


def _filled(bare: Listed, content: dict[str, Any]) -> Listed:
    delivery = content.get("delivery")
    delivery = delivery if isinstance(delivery, dict) else {}
    inside = _text(content.get("id", content.get("task_id")))
    handled = STREAMS[bare.stream].flat and bare.state == PENDING and "processed_at" in delivery
    return bare._replace(
        state=HANDLED if handled else bare.state,
        type=_text(content.get("type", content.get("status"))),
        priority=_text(content.get("urgency", content.get("priority", NORMAL))),
        created_at=_text(content.get("created_at", delivery.get("created_at"))),
        attempts=_number(delivery.get("attempt_count")),
        crashes=_number(delivery.get("crash_count")),
        held_by=_text(delivery.get("locked_by")),
        held_until=_text(delivery.get("locked_until")),
        due_at=_due_at(content),
        error_code=_text(delivery.get("last_error_code")),
        error=_text(delivery.get("last_error_message")),
        damaged=_wrong_name(bare.id, inside),
    )


def _due_at(content: dict[str, Any]) -> str:
    """As the bus believes it; empty if it need not wait."""
    due = wait_of(content).until(SystemClock().now(), LONGEST_DEFERRAL)
    return "" if due is None else isoformat(due)


def wait_of(content: dict[str, Any]) -> Wait:
    """What such a file says of when it is due."""
    found = content.get("delivery")
    delivery = found if isinstance(found, dict) else {}
    return Wait(
        _moment(delivery.get("updated_at")) or _moment(content.get("created_at")),
        _moment(content.get("not_before")),
        bool(content.get("retry_count")),
        _moment(delivery.get("next_retry_at")),
        delivery.get("last_error_code") == DEFERRED,
    )


def _wrong_name(stem: str, inside: str) -> str:
    if not is_id(stem):
        return "its name is not an id"
    return "" if inside == stem else f"the id inside is {inside or 'missing'}"


def _explained(entry: Listed) -> Listed:
    """With the reason that lies beside a file in `dead/`."""
    if entry.state != DEAD:
        return entry
    reason = read_reason(entry.path)
    if not reason:
        return entry
    return entry._replace(error_code=_text(reason.get("code")), error=_text(reason.get("reason")))


def is_set_aside(state: str, path: str) -> bool:
    """Whether the file was put into `dead/` as it was: it stands for no message."""
    return state == DEAD and disk.exists(path + REASON_SUFFIX)


def read_reason(path: str) -> dict[str, Any]:
    """What the reason file beside this path says; empty when there is none."""
    try:
        reason = json.loads(disk.read(path + REASON_SUFFIX, LARGEST)[0].decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return reason if isinstance(reason, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _order(entry: Listed) -> tuple[bool, int, float, int, str]:
    """As the bus claims: by priority, then age, then number. Damaged ones have no turn."""
    rank = RANKS.get(entry.priority, RANKS[NORMAL])
    moment = seconds(entry.created_at)
    age = _LAST if moment is None else moment
    return bool(entry.damaged), rank, age, sequence_number(entry.id), entry.id


def seconds(moment: str) -> float | None:
    """Of the epoch; None for what is not a moment."""
    found = _moment(moment)
    return None if found is None else found.timestamp()


def _moment(moment: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(moment))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def locate(base: BaseDir, name: str, stream: str | None = None) -> list[Listed]:
    """Every file of this id or, for files without one, of this name; not found: empty."""
    stem = name.removesuffix(SUFFIX)
    found = []
    for place in places(base, (stream,) if stream else tuple(STREAMS)):
        if (is_id(stem) and is_message(place, stem + SUFFIX)) or stem in stems(place):
            entry = read(place, stem)
            found += [entry] if entry else []
    return found


def known_ids(base: BaseDir, prefix: str = "", wanted: set[str] | None = None) -> Iterator[str]:
    """Ids that begin so, each once, in any of these states."""
    seen: set[str] = set()
    for place in places(base):
        if wanted is None or place.state in wanted:
            for stem in stems(place):
                if stem.startswith(prefix) and stem not in seen:
                    seen.add(stem)
                    yield stem
