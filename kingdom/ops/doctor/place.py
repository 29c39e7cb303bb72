"""The base directory, its disk, its configuration, and its generals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

from kingdom import __version__
from kingdom.clients.programs import ask
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError
from kingdom.ops.doctor.finding import OK, PROBLEM, WARNING, Finding, Patient, fine
from kingdom.ops.generals import Package, packages
from kingdom.ops.role_faults import role_faults
from kingdom.ops.status import roles_told
from kingdom.ops.systemd.installing import lacking
from kingdom.ops.systemd.manager import holder
from kingdom.ops.systemd.units import target_name
from kingdom.runtime.own_command import path_of as command_path
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.timekeeping import clock_doubt, clock_path
from kingdom.store import disk
from kingdom.store.formats import check_format
from kingdom.store.paths import PLACES, BaseDir
from kingdom.store.room import is_read_only, read_only_problem, shortage, unfit

SCANT = 1024**3  # bytes; clones of repositories soon take that much
_WRITTEN = tuple(place for place in PLACES if place != "config")


def base_directory(patient: Patient) -> Iterator[Finding]:
    base = patient.base
    assert base is not None
    paths = [base.root, *(base.path(place) for place in _WRITTEN)]
    refused = [path for path in paths if os.path.lexists(path) and not _is_writable(path)]
    told = {one.remedy for one in unfit(base)}
    for path in refused:
        sentence = f"{path} is not a directory that this user may write to."
        remedy = f"Give it to whoever runs the kingdom: chown -R USER {path}"
        if is_read_only(path):
            problem = read_only_problem(path)
            sentence, remedy = problem.sentence, problem.remedy
        if remedy not in told:
            told.add(remedy)
            yield Finding(PROBLEM, "directory", sentence, remedy)
    if not refused:
        yield fine("directory", f"{base.root} can be written to.")
    try:
        check_format(base)
    except KingdomError as error:
        yield Finding(PROBLEM, "files", error.sentence, error.remedy)


def _is_writable(path: str) -> bool:
    return os.path.isdir(path) and os.access(path, os.R_OK | os.W_OK | os.X_OK)


def clock(patient: Patient) -> Iterator[Finding]:
    """Whether what has had its time may be told by it."""
    base = patient.base
    assert base is not None
    doubt = clock_doubt(base, SystemClock())
    if doubt is not None:
        state = WARNING if doubt.moved else OK
        yield Finding(state, "clock", doubt.sentence, doubt.remedy)
    elif disk.exists(clock_path(base)):
        yield fine("clock", "It is trusted: things are removed by their age.")
    else:
        yield fine("clock", "It is trusted when the kingdom has run for a day.")
    yield from _numbers_ahead(base)


def _numbers_ahead(base: BaseDir) -> Iterator[Finding]:
    """Ids never go back, so they keep the date of a clock that was ahead."""
    tomorrow = f"{SystemClock().now() + timedelta(days=1):%Y%m%d}"
    for kind in ("task", "msg"):
        day = disk.head(base.sequence_file(kind), 8).decode("ascii", "replace")
        if day.isdecimal() and day > tomorrow:
            sentence = f"It was ahead once: {kind} ids bear the date {day} until that has come."
            yield Finding(OK, "clock", sentence)


def room(patient: Patient) -> Iterator[Finding]:
    base = patient.base
    assert base is not None
    problems = unfit(base)
    if lack := shortage(base):
        problems.append(lack)
    for problem in problems:
        yield Finding(PROBLEM, "disk", problem.sentence, problem.remedy)
    if problems:
        return
    free = _free(base)
    if free < SCANT:
        sentence = f"{free / 1024**2:.0f} MB are left, which a clone of a repository soon takes."
        yield Finding(WARNING, "disk", sentence, "Make room there.")
    else:
        yield fine("disk", f"{free / 1024**3:.0f} GB are left.")


def _free(base: BaseDir) -> int:
    facts = os.statvfs(base.root)
    return facts.f_bavail * facts.f_frsize


def keeper(patient: Patient) -> Iterator[Finding]:
    """The program's own version, and who keeps its roles."""
    base = patient.base
    assert base is not None
    manager = holder(base, patient.shell)
    if manager is None:
        yield fine("kingdom", f"{__version__}; roles are kept by its warden.")
        return
    if not manager.is_there():
        closed = manager.unreachable()
        yield Finding(WARNING, "kingdom", f"{__version__}; {closed.sentence}", closed.remedy)
        return
    yield fine("kingdom", f"{__version__}; roles are kept by systemd ({target_name(base)}).")
    if names := lacking(base, manager):
        sentence = f"systemd has no unit yet for: {', '.join(names)}."
        yield Finding(WARNING, "kingdom", sentence, "Give it one with: kingdom systemd sync")


def roles(patient: Patient) -> Iterator[Finding]:
    """Whether those that should run do, and what they could not handle."""
    base = patient.base
    assert base is not None
    findings = [*_roles_down(base), *_role_faults(base)]
    yield from findings
    if not findings and Seat(base, WARDEN).is_taken():
        yield fine("roles", "All run, and nothing failed since they started.")


def _roles_down(base: BaseDir) -> Iterator[Finding]:
    for name, one in roles_told(base).items():
        if not isinstance(one, dict):
            continue
        see = f"See why with: kingdom logs {name}"
        if one.get("crash_loop"):
            sentence = f"It dies again and again ({one.get('last_end')})."
            yield Finding(PROBLEM, name, sentence, see)
        elif one.get("pid") is None:
            yield Finding(WARNING, name, f"It is down: {one.get('last_end')}.", see)


def _role_faults(base: BaseDir) -> Iterator[Finding]:
    for one in role_faults(base):
        sentence = f"It could not handle {one.what} ({one.error}, {one.at})."
        yield Finding(WARNING, one.role, sentence, f"See why with: kingdom logs {one.role}")


def own_command(patient: Patient) -> Iterator[Finding]:
    """What soldiers ask that may ask the kingdom; generals write it when they start."""
    base = patient.base
    assert base is not None
    asking = [
        one.name
        for one in packages(base)
        if one.manifest is not None
        and any(rule.startswith("Bash(kingdom ") for rule in one.manifest.permissions.tools or ())
    ]
    path = command_path(base)
    if not asking or not (disk.exists(path) or any(Seat(base, one).is_taken() for one in asking)):
        return
    code, _ = ask([path, "--version"], patient.environment)
    if code != 0:
        sentence = f"The command that {' and '.join(asking)} ask does not work: {path}."
        yield Finding(WARNING, "kingdom", sentence, "Write it anew with: kingdom restart")


def generals(patient: Patient) -> Iterator[Finding]:
    base = patient.base
    assert base is not None
    there = packages(base)
    if not there:
        remedy = "Make one with: kingdom general new NAME"
        yield Finding(WARNING, "generals", "There is none, so no event becomes a task.", remedy)
    for package in there:
        if package.faults:
            yield from _faults(package)
        else:
            yield _supporting(package, patient.settings.system.runtime.engine)


def _faults(package: Package) -> Iterator[Finding]:
    for fault in package.faults:
        key = f"`{fault.key}`: " if fault.key else ""
        remedy = fault.remedy or f"Then see: kingdom general validate {package.name}"
        yield Finding(PROBLEM, package.name, f"{fault.where}: {key}{fault.what}.", remedy)


def _supporting(package: Package, engine: str) -> Finding:
    supported = package.manifest.supported_engines if package.manifest else None
    if supported and engine not in supported:
        return Finding(
            WARNING,
            package.name,
            f"It does not work with {engine}, so its tasks fail.",
            f"Name {engine} in `supported_engines` of {package.manifest_path}, or remove it.",
        )
    return fine(package.name, "Its package is valid.")
