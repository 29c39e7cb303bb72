"""Units written, brought up to date, and removed again."""

from __future__ import annotations

import os
import pwd
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field

import kingdom
from kingdom.errors import KingdomError, NeverWorks
from kingdom.ops.stopping import running
from kingdom.ops.suite import role_names
from kingdom.ops.systemd import units
from kingdom.ops.systemd.manager import Manager, managers
from kingdom.ops.systemd.running import stop_units, stopping
from kingdom.ops.systemd.surroundings import Lack, known_path, lack, path_for, seen
from kingdom.ops.systemd.units import Account, Plan, stem, target_name, unit_name
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.role import LONGEST_PAUSE
from kingdom.settings.loading import Settings, load_settings
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.topology import GENERAL_PREFIX

_LARGEST = 1024 * 1024
_SLACK = 3  # times its longest silence, before a role counts as hung


@dataclass
class Changes:
    """What was done to the units of a manager."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # others' additions to them
    started: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    lack: Lack | None = None  # what the services would want, and not see
    asked: bool = True  # False: systemd could not be, and only files were removed


def plan(base: BaseDir, manager: Manager, path: str = "") -> Plan:
    """`path`: where programs are looked for, if not where the caller has them."""
    names, settings = role_names(base), _settings(base, manager.environment)
    environment = {"PATH": path or path_for(base, manager, settings)}
    if os.path.dirname(_package()) not in _site_packages():
        environment["PYTHONPATH"] = os.path.dirname(_package())
    threshold = settings.chamberlain.heartbeat.threshold_seconds
    return Plan(
        base=base,
        command=(sys.executable, "-P", "-m", "kingdom"),
        generals=tuple(name for name in names if name.startswith(GENERAL_PREFIX)),
        roles=tuple(name for name in names if not name.startswith(GENERAL_PREFIX)),
        environment=environment,
        account=None if manager.of_user else _owner(base),
        watchdog_seconds=max(threshold, _SLACK * LONGEST_PAUSE),
        beat_seconds=LONGEST_PAUSE,
        systemd=manager.version(),
    )


def _package() -> str:
    return os.path.dirname(os.path.abspath(kingdom.__file__))


def _site_packages() -> set[str]:
    return {sysconfig.get_path(name) for name in ("purelib", "platlib")}


def _settings(base: BaseDir, environment: Mapping[str, str]) -> Settings:
    try:
        return load_settings(base.config, environment)
    except KingdomError:
        return Settings()


def _owner(base: BaseDir) -> Account:
    """Whose directory it is runs it."""
    uid = os.stat(base.root).st_uid
    try:
        return Account(pwd.getpwuid(uid).pw_name, uid)
    except KeyError:
        return Account(str(uid), uid)


def install(base: BaseDir, manager: Manager) -> Changes:
    """Also a second time: then they are brought up to date."""
    _refuse(base, manager)
    changes = _write(base, manager)
    manager.tell("daemon-reload")
    manager.tell("enable", target_name(base))
    caller, settings = manager.environment, _settings(base, manager.environment)
    changes.lack = lack(base, settings, seen(base, manager), caller)
    return changes


def sync(base: BaseDir, manager: Manager) -> Changes:
    """After generals came or went: those that are wanted run, if the others do."""
    _refuse_without_root(manager)
    before = _named_generals(base, manager)
    path = known_path(base, manager)
    changes = _write(base, manager, path)
    wanted = plan(base, manager, path).generals
    manager.tell("daemon-reload")
    if manager.is_active(target_name(base)):
        changes.started = [name for name in wanted if name not in before]
    changes.stopped = [name for name in before if name not in wanted]
    for verb, names in (("stop", changes.stopped), ("start", changes.started)):
        if names:
            manager.tell(verb, *(unit_name(base, name) for name in names))
    return changes


def uninstall(base: BaseDir, manager: Manager) -> Changes:
    """Roles end, soldiers go on; what others added to the units is left."""
    _refuse_without_root(manager)
    changes = Changes(asked=manager.is_there())
    if changes.asked:
        stop_units(base, manager)
        manager.tell("disable", target_name(base))
    else:
        _refuse_while_kept(base, manager)
        _disable_by_hand(base, manager)
    for name in _ours(base, manager):
        disk.remove(manager.path(name))
        changes.removed.append(name)
    changes.left = [one for one in disk.names(manager.directory) if one.startswith(stem(base))]
    if changes.asked:
        manager.tell("daemon-reload")
    return changes


def _refuse_while_kept(base: BaseDir, manager: Manager) -> None:
    """Without their files, nothing would tell any more that a systemd keeps these roles."""
    if manager.runs():
        raise manager.unreachable()
    kept = [] if Seat(base, WARDEN).is_taken() else [seat.name for seat in running(base)]
    if kept:
        raise NeverWorks(
            f"These run, perhaps under a systemd that cannot be reached: {', '.join(kept)}.",
            remedy=f"End them first, where they were started: {manager.command(*stopping(base))}",
        )


def _disable_by_hand(base: BaseDir, manager: Manager) -> None:
    for into in (name for name in disk.names(manager.directory) if name.endswith(".wants")):
        link = os.path.join(manager.path(into), target_name(base))
        if os.path.islink(link):
            disk.remove(link)


def lacking(base: BaseDir, manager: Manager) -> list[str]:
    """Generals that have no unit yet."""
    named = _named_generals(base, manager)
    return [
        name for name in role_names(base) if name.startswith(GENERAL_PREFIX) and name not in named
    ]


def _refuse(base: BaseDir, manager: Manager) -> None:
    if not manager.is_there():
        whose = "A systemd of this user's" if manager.of_user else "systemd"
        raise NeverWorks(
            f"{whose} does not run here.",
            remedy="See the units with: kingdom systemd print; or start without: kingdom start",
        )
    others = (one for one in managers(base, manager.environment) if one.has(base))
    other = next((one for one in others if one.directory != manager.directory), None)
    if other is not None:
        option = " --user" if other.of_user else ""
        raise NeverWorks(
            f"This kingdom has units already, in {other.directory}.",
            remedy=f"Remove those first: kingdom systemd uninstall{option}",
        )
    if Seat(base, WARDEN).is_taken():
        raise NeverWorks(
            "A warden keeps this kingdom running, and systemd would do so as well.",
            remedy="Stop it first: kingdom stop",
        )
    _refuse_without_root(manager, ", or install for yourself: kingdom systemd install --user")


def _refuse_without_root(manager: Manager, otherwise: str = "") -> None:
    if not manager.of_user and os.geteuid() != 0:
        raise NeverWorks(
            f"Only root may write to {manager.directory}.", remedy=f"Type it with sudo{otherwise}"
        )


def _write(base: BaseDir, manager: Manager, path: str = "") -> Changes:
    changes = Changes()
    disk.make_directory(manager.directory)
    wanted = units.texts(plan(base, manager, path))
    for name, text in wanted.items():
        if _content(manager.path(name)) != text:
            disk.replace(manager.path(name), text.encode())
            disk.set_mode(manager.path(name), 0o644)
            changes.written.append(name)
    for name in _ours(base, manager):
        if name not in wanted:
            disk.remove(manager.path(name))
            changes.removed.append(name)
    return changes


def _ours(base: BaseDir, manager: Manager) -> list[str]:
    """What `install` wrote for this kingdom, by its first line."""
    return [
        name
        for name in disk.names(manager.directory)
        if name.startswith(stem(base))
        and os.path.isfile(manager.path(name))
        and _content(manager.path(name)).startswith(units.WRITTEN)
    ]


def _named_generals(base: BaseDir, manager: Manager) -> list[str]:
    return units.generals_of(_content(manager.path(target_name(base))), base)


def _content(path: str) -> str:
    return disk.head(path, _LARGEST).decode("utf-8", "replace")
