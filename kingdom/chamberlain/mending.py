"""What of a former life's files can be used: all that has the right form. Pure.

They may have been damaged on disk, edited by hand, or written from a log line that nobody
should have believed. What is wrong is left out, entry by entry, so that one of them costs no more
than itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import UTC, date, datetime
from typing import Any, TypeGuard

from kingdom.chamberlain.anomalies import KINDS
from kingdom.models.internal_event import InternalEvent, NotInCatalogue
from kingdom.models.message import Notification, Report

Check = Callable[[Any], bool]
_EPOCH = datetime.fromtimestamp(0, UTC)
_MOST = 2**53  # beyond it, numbers are no longer exact everywhere, and soon cannot be written
_FIRST, _LAST = -62_135_596_800, 250_000_000_000  # seconds since the epoch that calendars reach


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e12


def is_moment(value: Any) -> bool:
    """As an events log spells one: with its zone, or it could be compared with nothing."""
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (ValueError, TypeError):
        return False


def is_day(value: Any) -> bool:
    try:
        return bool(date.fromisoformat(value).isoformat() == value)
    except (ValueError, TypeError):
        return False


def is_event(kept: Mapping[str, Any]) -> bool:
    """Whether it is one that the chamberlain may write to the events log."""
    told = {"type": kept["type"], "data": kept["data"], "actor": "chamberlain"}
    try:
        InternalEvent(**told, ts=_EPOCH)
    except (NotInCatalogue, ValueError, TypeError):
        return False
    return True


def is_message(
    kept: Any, keys: Set[str], kind: type[Notification | Report]
) -> TypeGuard[dict[str, Any]]:
    """Whether it was written to be published, and can be."""
    if not isinstance(kept, dict) or kept.keys() != keys:
        return False
    try:
        kind(**kept, created_at=_EPOCH)
    except (ValueError, TypeError):
        return False
    return True


def figures(kept: Any, *, of_day: bool) -> dict[str, Any]:
    """The totals, or those of a day."""
    found = kept if isinstance(kept, dict) else {}
    whole: dict[str, Any] = {
        "types": _entries(found.get("types"), is_count),
        "actors": _entries(found.get("actors"), _are_counts),
        "durations": _entries(found.get("durations"), _is_digest),
    }
    if of_day:
        whole["failures"] = _entries(found.get("failures"), _is_class)
        whole |= {name: _listed(found.get(name), _is_told) for name in ("health", "dead")}
    return whole


def days(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {day: figures(one, of_day=True) for day, one in kept.items() if is_day(day)}


def failures(kept: Any) -> dict[str, Any]:
    return _entries(kept, _is_class)


def windows(kept: Mapping[str, Any]) -> dict[str, Any]:
    unwatched = kept.get("unwatched")
    return {
        "streaks": _entries(kept.get("streaks"), _is_streak),
        "timeouts": sorted(_listed(kept.get("timeouts"), _is_known)),
        "waiting": _entries(kept.get("waiting"), _is_waiting),
        "unwatched": unwatched if is_count(unwatched) else 0,
        "found": _listed(kept.get("found"), _is_found),
    }


def _entries(kept: Any, check: Check) -> dict[str, Any]:
    found = kept.items() if isinstance(kept, dict) else ()
    return {name: one for name, one in found if check(one)}


def _listed(kept: Any, check: Check) -> list[Any]:
    return [one for one in kept if check(one)] if isinstance(kept, list) else []


def _are_counts(one: Any) -> bool:
    return isinstance(one, dict) and all(is_count(many) for many in one.values())


def _has(one: Any, **checks: Check) -> bool:
    return isinstance(one, dict) and all(check(one.get(name)) for name, check in checks.items())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_digest(one: Any) -> bool:
    return _has(one, count=is_count, sum=is_number, max=is_number, buckets=_are_buckets)


def _are_buckets(one: Any) -> bool:
    return _are_counts(one) and all(_is_bucket(name) for name in one)


def _is_bucket(name: str) -> bool:
    return name == "0ms" or (len(name) <= 4 and name.removeprefix("-").isdecimal())


def _is_class(one: Any) -> bool:
    return _has(
        one, failed=is_count, retried=is_count, last_seen=_is_text, last_error=_is_text,
        generals=_are_counts,
    )  # fmt: skip


def _is_told(one: Any) -> bool:
    return _has(one, ts=is_moment) and all(isinstance(value, str) for value in one.values())


def _is_streak(one: Any) -> bool:
    return _has(one, count=is_count, since=_is_known) and isinstance(one.get("error", ""), str)


def _is_waiting(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and is_moment(one[0]) and isinstance(one[1], str)


def _is_found(one: Any) -> bool:
    is_whole = _has(one, kind=KINDS.__contains__, subject=_is_text, since=_is_known)
    return is_whole and (one.get("until", "") is None or _is_known(one.get("until")))


def _is_known(value: Any) -> bool:
    """A moment, in seconds since the epoch."""
    return is_number(value) and _FIRST <= value <= _LAST
