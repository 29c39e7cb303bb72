"""Moments that have yet to come, in files that tell of what was: a clock was ahead when they were
written. Nobody waits for them, so they are worth knowing and nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.bus.due import LONGEST_DEFERRAL, LONGEST_LEASE
from kingdom.clock import SET_BACK, SystemClock, isoformat
from kingdom.ops.fsck.finding import Finding
from kingdom.ops.fsck.survey import Survey
from kingdom.store import disk
from kingdom.store.state import read_json

DAY = timedelta(days=1)
# How far ahead each may lie; None: as far as a person or a service wants it. All others tell of
# what was.
LONGEST_AHEAD: dict[str, timedelta | None] = {
    "next_retry_at": LONGEST_DEFERRAL,
    "locked_until": LONGEST_LEASE,
    "until": LONGEST_DEFERRAL,
    "limited_until": DAY,
    "not_before": None,
    "expires_at": None,
    "next_look": None,
}
_NOTHING = "none: nobody waits for it"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d\S*)?")
_LARGEST = 1024 * 1024  # bytes; larger ones are not looked through
_NOT_OURS = ("bus", "soldiers", "results", "engines")  # below `state/`; the last: but its own files
_DEEPEST = 6


def times(survey: Survey) -> Iterator[Finding]:
    now = SystemClock().now()
    for seen in survey.messages:
        if seen.is_message and seen.times and (found := odd_time(seen.times, now)):
            yield _finding(survey, seen.path, found)
    for path in _state_files(survey.base.state):
        try:
            found = odd_time(read_json(path), now)
        except (OSError, RecursionError):
            continue
        if found:
            yield _finding(survey, path, found)


def _finding(survey: Survey, path: str, found: tuple[str, datetime]) -> Finding:
    key, moment = found
    sentence = f"{key} is {isoformat(moment)}, which has yet to come: a clock was ahead."
    return Finding("times", survey.shown(path), sentence, _NOTHING, note=True)


def _state_files(state: str) -> Iterator[str]:
    for place in (state, os.path.join(state, "engines")):
        yield from _json_in(place)
    for name in sorted(disk.names(state)):
        if name not in _NOT_OURS and os.path.isdir(os.path.join(state, name)):
            yield from _json_in(os.path.join(state, name))


def _json_in(directory: str) -> Iterator[str]:
    for name in sorted(disk.names(directory)):
        path = os.path.join(directory, name)
        facts = disk.facts_of(path) if name.endswith(".json") else None
        if facts is not None and facts.st_size <= _LARGEST and os.path.isfile(path):
            yield path


def odd_time(content: Any, now: datetime) -> tuple[str, datetime] | None:
    """The first that lies further ahead than it can, and what it is called."""
    for key, moment in _moments(content, "", _DEEPEST):
        longest = LONGEST_AHEAD.get(key.rpartition(".")[2], timedelta(0))
        if longest is not None and moment > now + longest + SET_BACK:
            return key, moment
    return None


def _moments(content: Any, name: str, deep: int) -> Iterator[tuple[str, datetime]]:
    if isinstance(content, dict) and deep:
        for key, value in content.items():
            yield from _moments(value, f"{name}.{key}" if name else str(key), deep - 1)
    elif isinstance(content, str) and _MOMENT.fullmatch(content):
        try:
            moment = datetime.fromisoformat(content)
        except ValueError:
            return
        is_date = len(content) == len("2026-02-07")  # of some zone, where it may be tomorrow
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        yield name, moment - DAY if is_date else moment
