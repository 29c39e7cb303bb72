"""What a general did not do outside, since it may hold a secret or a person has to approve it
first: `state/results/held/{task}.json`.

The file has all that doing it later takes: the actions as the soldier asked for them, which of them
are held and why, and where the work lies. It goes when a person has decided. Nobody else may read
it, since the secret is in it.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, NamedTuple

from kingdom.clock import isoformat
from kingdom.models.ids import is_id
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json
from kingdom.topology import HELD

_SUFFIX = ".json"


class Held(NamedTuple):
    """One action that is held. `digest` is of exactly what would have left; `shown` is all that a
    person is asked to approve, and empty for what may hold a secret."""

    key: str
    reason: str
    digest: str
    shown: str = ""

    @property
    def kind(self) -> str:
        return self.key.partition(":")[0]


class HeldActions(NamedTuple):
    task_id: str
    attempt: str  # of the soldier that asked for them
    held: tuple[Held, ...]
    actions: list[Any]
    checkout: dict[str, Any]
    trace_id: str | None = None
    created_at: str = ""

    @property
    def reason(self) -> str:
        """What may hold a secret, and where; empty if all of it only waits for approval."""
        return " ".join(f"{one.kind}: {one.reason}" for one in self.held if not one.shown)

    @property
    def released(self) -> dict[str, str]:
        """As they are when a person lets them pass."""
        return {one.key: one.digest for one in self.held}

    @property
    def approved(self) -> dict[str, str]:
        """As they were shown, when a person approves them."""
        return {one.key: one.digest for one in self.held if one.shown}


def directory(base: BaseDir) -> str:
    return os.path.join(base.results, HELD)


def write(base: BaseDir, found: HeldActions, now: datetime, *, sync: bool = True) -> None:
    place = directory(base)
    disk.make_directory(place)
    disk.keep_private(place)
    content = {
        "task_id": found.task_id,
        "attempt": found.attempt,
        "held": [one._asdict() for one in found.held],
        "actions": found.actions,
        "checkout": found.checkout,
        "trace_id": found.trace_id,
        "created_at": found.created_at or isoformat(now),
    }
    write_json(_path(base, found.task_id), content, sync=sync)


def read(base: BaseDir, task_id: str) -> HeldActions | None:
    """None if nothing of it is held, or the file is damaged."""
    try:
        found = read_json(_path(base, task_id)) if is_id(task_id) else None
    except OSError:
        return None
    if not isinstance(found, dict):
        return None
    try:
        held = tuple(_held(one) for one in found["held"])
        actions, checkout = list(found["actions"]), dict(found["checkout"])
        attempt = str(found["attempt"])
    except (KeyError, TypeError, ValueError):
        return None
    trace, at = found.get("trace_id"), found.get("created_at")
    return HeldActions(
        task_id,
        attempt,
        held,
        actions,
        checkout,
        trace if isinstance(trace, str) else None,
        at if isinstance(at, str) else "",
    )


def _held(one: dict[str, Any]) -> Held:
    shown = str(one.get("shown") or "")  # of which earlier versions know nothing
    return Held(str(one["key"]), str(one["reason"]), str(one["digest"]), shown)


def stopped_tasks(base: BaseDir) -> list[str]:
    """The tasks of which the outbound gate holds something: approvals are questions, and told of
    as such."""
    found = ((id_, read(base, id_)) for id_ in tasks(base))
    return [id_ for id_, one in found if one is None or one.reason]


def tasks(base: BaseDir) -> list[str]:
    """The tasks of which something is held, for those who may look."""
    try:
        names = [name for name in disk.names(directory(base)) if name.endswith(_SUFFIX)]
    except PermissionError:
        return []
    return sorted(one for one in (name.removesuffix(_SUFFIX) for name in names) if is_id(one))


def withdraw_approvals(base: BaseDir, task_id: str, now: datetime) -> None:
    """What nobody approves any more; what may hold a secret stays held."""
    found = read(base, task_id)
    left = tuple(one for one in found.held if not one.shown) if found is not None else ()
    if found is not None and left:
        write(base, found._replace(held=left), now)
    else:
        remove(base, task_id)


def remove(base: BaseDir, task_id: str) -> bool:
    return is_id(task_id) and disk.remove(_path(base, task_id))


def _path(base: BaseDir, task_id: str) -> str:
    return os.path.join(directory(base), f"{task_id}{_SUFFIX}")
