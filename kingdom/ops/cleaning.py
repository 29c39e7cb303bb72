"""What `kingdom clean` does: the chamberlain's round at once, or only what it would do.

What lies in workspaces is shown as well. It is removed by its general, within an hour: only that
one knows who is about to work there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.bus.opening import open_bus
from kingdom.chamberlain.cleaning.finds import Tally
from kingdom.chamberlain.cleaning.notices import Notices
from kingdom.chamberlain.cleaning.round import LOCK, Round
from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError, TryLater
from kingdom.ops.suite import role_names
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.timekeeping import Doubt, clock_doubt, confirm
from kingdom.settings.loading import Settings
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.topology import GENERAL_PREFIX

OPERATOR = "operator"


class ClockDoubted(TryLater):
    """Ages mean nothing by a clock that was moved, or that nobody has watched yet."""

    code = "clock_doubted"

    def __init__(self, doubt: Doubt) -> None:
        super().__init__(doubt.sentence, remedy=doubt.remedy)


@dataclass(frozen=True)
class Lying:
    """Something in a workspace that has had its time."""

    general: str
    kind: str
    path: str
    why: str
    is_installed: bool


@dataclass(frozen=True)
class Cleaned:
    tallies: list[Tally]
    workspaces: list[Lying]
    trouble: list[str]


def clean(
    base: BaseDir,
    settings: Settings,
    environment: Mapping[str, str],
    *,
    dry: bool = False,
    clock_is_right: bool = False,
    clock: Clock | None = None,
) -> Cleaned:
    clock = clock or SystemClock()
    if clock_is_right and not dry:
        confirm(base, clock.now())
    trouble: list[str] = []
    if doubt := clock_doubt(base, clock):
        if not dry:
            raise ClockDoubted(doubt)
        if not clock_is_right:
            trouble.append(f"Nothing would go now: {ClockDoubted(doubt)}")
    with closing(open_bus(base, settings, clock=clock)) as bus, _alone(base, dry):
        tallies = _round(base, bus, settings, clock, dry)
        lying = list(_workspaces(base, bus, settings, environment, clock, trouble))
    return Cleaned(tallies, lying, trouble)


@contextmanager
def _alone(base: BaseDir, dry: bool) -> Iterator[None]:
    if dry:
        yield
        return
    path = base.path(*LOCK)
    disk.make_directory(base.path(*LOCK[:-1]))
    with closing(Lock(path)) as lock:
        if not lock.try_acquire():
            raise TryLater("The chamberlain is cleaning just now.", remedy="Try again in a minute.")
        yield


def _round(base: BaseDir, bus: FileBus, settings: Settings, clock: Clock, dry: bool) -> list[Tally]:
    notices = Notices(base, clock.now())
    retention = settings.chamberlain.retention
    made = Round(base, bus, retention, clock.now(), notices, dry=dry)
    if not dry:
        with bus.quiet():
            pass  # else it would ask for that moment again and again
    for _ in made.work():
        pass
    if not dry:
        told = InternalLog(base, OPERATOR, clock)
        told.emit("recovery.files_cleaned", {"deleted_count": made.deleted})
    return list(made.tallies.values())


def _workspaces(
    base: BaseDir,
    bus: FileBus,
    settings: Settings,
    environment: Mapping[str, str],
    clock: Clock,
    trouble: list[str],
) -> Iterator[Lying]:
    from kingdom.clients.git import Git
    from kingdom.clients.git_hosts import GitSettings
    from kingdom.general.checkouts.repositories import Repositories

    hosts = settings.system.git
    for name in sorted(disk.names(base.workspace)):
        if not name.startswith(GENERAL_PREFIX):
            continue
        git, addresses = Git(environment, hosts.timeout_seconds), hosts.model_dump()
        repositories = Repositories(base, name, git, environment, GitSettings(**addresses))
        try:
            yield from _of_general(base, name, bus, settings, clock, repositories)
        except (KingdomError, OSError) as error:
            trouble.append(f"workspace/{name}: {error}")


def _of_general(
    base: BaseDir, name: str, bus: FileBus, settings: Settings, clock: Clock, repositories: Any
) -> Iterator[Lying]:
    from kingdom.general.spec import SoldierFiles
    from kingdom.general.sweeping.places import places
    from kingdom.general.sweeping.retention import Found, due
    from kingdom.general.sweeping.rounds import Rounds

    survey = repositories.survey()
    lying = tuple(places(base, name, bus, SoldierFiles(base), survey))
    found = Found(lying, survey, Rounds(base, name, clock).seen())
    retention, installed = settings.chamberlain.retention, role_names(base)
    for one in due(found, clock.now().timestamp(), retention):
        what = f"{one.path} {one.ref.name}" if one.ref else one.path
        yield Lying(name, one.kind, what, one.why, name in installed)
