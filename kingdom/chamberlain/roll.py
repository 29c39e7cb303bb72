"""Who there is to be looked after: roles that sit on their seats, and soldiers at work."""

from __future__ import annotations

from typing import Any, NamedTuple

from kingdom.chamberlain.machine import Group
from kingdom.engines import attempts, tree
from kingdom.engines.attempts import Runner
from kingdom.models.ids import is_id
from kingdom.runtime.processes import Seat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import GENERAL_PREFIX, START_ORDER, role_of


class Enlisted(NamedTuple):
    """An entry of `state/sessions.json`, and who runs it, if it has begun."""

    soldier_id: str
    task_id: str
    general: str
    started_at: str
    runner: Runner | None


def seats(base: BaseDir) -> list[Seat]:
    """Of every role that ever sat here, in the order they start."""
    names = [name for name in disk.names(base.state) if is_role(name)]
    names.sort(key=lambda name: (START_ORDER.index(role_of(name)), name))
    return [Seat(base, name) for name in names]


def is_role(name: str) -> bool:
    return name in START_ORDER or name.startswith(GENERAL_PREFIX)


def entries(base: BaseDir) -> list[dict[str, Any]]:
    found = read_json(base.sessions_file, [])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def enlisted(base: BaseDir) -> list[Enlisted]:
    return [
        Enlisted(
            soldier_id=str(one.get("id")),
            task_id=str(one.get("task_id")),
            general=str(one.get("general")),
            started_at=str(one.get("started_at")),
            runner=attempts.runner_of(base, str(one.get("id"))),
        )
        for one in entries(base)
        if is_id(str(one.get("id")))
    ]


def groups(base: BaseDir) -> dict[str, Group]:
    """The processes of each role and each soldier; none is counted twice."""
    survey = tree.Survey()
    found, soldiers = {}, set[int]()
    for one in enlisted(base):
        if one.runner is not None and one.runner.is_alive():
            members = {one.runner.pid, *survey.members(one.runner.pid, one.soldier_id)}
            soldiers |= members
            found[one.soldier_id] = Group("soldier", one.runner.pid, members)
    pids = {seat.name: pid for seat in seats(base) if (pid := seat.holder()) is not None}
    for name, pid in pids.items():
        others = soldiers.union(one for one in pids.values() if one != pid)
        found[name] = Group("role", pid, survey.below(pid, others))
    return found
