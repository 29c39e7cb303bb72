"""Tells of what came to lie in a `dead/`: once each, whoever put it there.

Most burials happen where nobody could tell of them: inside the bus, in whichever role found a
message that kills its workers or a file that is none. So the directories themselves are looked at:
their names, whenever one has changed, and at the king's polling interval.
`state/king/buried.json` names what was told of, or was there before anybody looked. It is written
after the telling: a crash in between tells of it again, and none is passed over in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kingdom.king.desk import Desk
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX
from kingdom.store.state import read_json, write_json
from kingdom.topology import DEAD, STREAMS

_SUFFIX = ".json"
_AT_ONCE = 100  # told of in one step, so that a step stays short
POISON, DROPPED, UNEXPLAINED = "crashed_too_often", "dropped", "unexplained"
_NO_REASON = "Someone put it there, and gave no reason."

Grave = tuple[str, str]  # stream, name


class Burials:
    def __init__(self, desk: Desk) -> None:
        base = desk.setting.base
        self._desk = desk
        self._path = base.path("state", "king", "buried.json")
        self._directories = {name: base.path(stream.root, DEAD) for name, stream in STREAMS.items()}
        self._told: set[Grave] = set()
        self._next_look = float("-inf")
        self._changed_at: list[int] = []

    def start(self) -> None:
        kept = read_json(self._path)
        if isinstance(kept, dict):
            self._told = {(stream, name) for stream in self._directories for name in
                          _texts(kept.get(stream))}  # fmt: skip
        else:  # nobody has looked so far: all that is old news
            self._told = set(self._graves())
            self._write()

    def step(self, interval: float) -> None:
        moment, changed_at = self._desk.monotonic(), self._changes()
        if changed_at == self._changed_at and moment < self._next_look:
            return
        self._next_look, self._changed_at = moment + interval, changed_at
        found = set(self._graves())
        fresh = sorted(found - self._told)
        for stream, name in fresh[:_AT_ONCE]:
            with self._desk.faults.contained(f"{stream}/{DEAD}/{name}"):
                self._tell(stream, name)
        told = self._told & found | set(fresh[:_AT_ONCE])
        if told != self._told:
            self._told = told
            self._write()
        if len(fresh) > _AT_ONCE:
            self._next_look = moment

    def _changes(self) -> list[int]:
        """When each directory last got or lost a name, before that is looked at."""
        facts = map(disk.facts_of, self._directories.values())
        return [0 if one is None else one.st_mtime_ns for one in facts]

    def _graves(self) -> Iterator[Grave]:
        for stream, directory in self._directories.items():
            for name in disk.names(directory):
                if _stands_for_something(name):
                    yield stream, name

    def _write(self) -> None:
        told = {name: sorted(n for s, n in self._told if s == name) for name in self._directories}
        write_json(self._path, told, sync=False)

    def _tell(self, stream: str, name: str) -> None:
        path = os.path.join(self._directories[stream], name)
        content, beside = _read(path), _read(path + REASON_SUFFIX)
        delivery = content.get("delivery")
        code, reason = _why(delivery if isinstance(delivery, dict) else {}, beside)
        if _was_told(stream, code, is_message=not beside):
            return
        trace = content.get("trace_id")
        id_ = name.removesuffix(_SUFFIX).encode("utf-8", "backslashreplace").decode()
        facts = {"stream": stream, "id": id_, "code": code, "reason": reason}
        self._desk.tell("queue.buried", trace if isinstance(trace, str) else None, **facts)
        self._desk.log.warning("queue.buried", **facts)


def _why(delivery: dict[str, Any], beside: dict[str, Any]) -> tuple[str, str]:
    """From the reason beside a file that was set aside, else from the message itself."""
    code = beside.get("code") or delivery.get("last_error_code") or UNEXPLAINED
    reason = beside.get("reason") or delivery.get("last_error_message") or _NO_REASON
    return str(code), str(reason)


def _was_told(stream: str, code: str, *, is_message: bool) -> bool:
    """By the operator who dropped it, or by the envoy, which knows of what it gave up itself."""
    given_up = stream == "messages" and is_message and code not in (POISON, UNEXPLAINED)
    return code == DROPPED or given_up


def _stands_for_something(name: str) -> bool:
    """Whether it is neither a reason nor on its way."""
    is_reason = name.endswith(_SUFFIX + REASON_SUFFIX)
    return name.endswith(_SUFFIX) and not name.startswith(".") and not is_reason


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _read(path: str) -> dict[str, Any]:
    """Nothing, if it is missing or cannot be read."""
    try:
        found = read_json(path, {})
    except OSError:
        return {}
    return found if isinstance(found, dict) else {}
