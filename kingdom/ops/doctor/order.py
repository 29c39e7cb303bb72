"""Whether the base directory is in order: what is missing, who may read and change what, and what
killed processes left behind. All of it can be mended without a risk."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from functools import partial

from kingdom.ops.doctor.finding import PROBLEM, WARNING, Finding, Patient, fine
from kingdom.ops.init import directories as all_directories
from kingdom.ops.systemd.units import environment_file
from kingdom.ops.trusted_files import found_open
from kingdom.ownership import ROOT
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.store import disk, leftovers
from kingdom.store.paths import PLACES, BaseDir
from kingdom.store.unusable import mend, unusable
from kingdom.topology import GENERAL_PREFIX, START_ORDER

_FIX = "Mend it with: kingdom doctor --fix"
_OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO
_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def directories(patient: Patient) -> Iterator[Finding]:
    for path in all_directories(_base(patient)):
        if not disk.exists(path):
            yield Finding(WARNING, "directory", f"{path} is missing.", _FIX, _maker(path))


def _maker(path: str) -> Callable[[], str]:
    def fix() -> str:
        disk.make_directory(path)
        return "It was made."

    return fix


def files(patient: Patient) -> Iterator[Finding]:
    """What this user cannot work with, in all of the base directory."""
    base = _base(patient)
    for one in unusable(base, everything=True):
        fix = partial(mend, base, one) if one.fix else None
        more = "; or: kingdom doctor --fix" if one.fix else ""
        sentence = f"{one.path}: {one.sentence}"
        state = WARNING if one.is_aside else PROBLEM
        yield Finding(state, "file", sentence, f"Mend it with: {one.remedy}{more}", fix)


def secrets(patient: Patient) -> Iterator[Finding]:
    """Files that hold tokens are for nobody else to read."""
    path = environment_file(_base(patient))
    facts = disk.facts_of(path)
    if facts is None:
        return
    if stat.S_IMODE(facts.st_mode) & _OTHERS_MAY:
        sentence = f"{path} holds tokens, and others may read it."
        yield _too_open(PROBLEM, "secrets", path, facts, _OTHERS_MAY, sentence)
    else:
        yield fine("secrets", f"{path} is for its owner alone.")


def others(patient: Patient) -> Iterator[Finding]:
    """Whoever may change a setting or drop a task decides what runs here."""
    base = _base(patient)
    found = False
    for one in found_open(base):
        found = True
        facts = disk.facts_of(os.path.realpath(one.path))
        sentence = f"{one.path} is not obeyed: {one.sentence}."
        if facts is None or facts.st_uid not in (os.geteuid(), ROOT):
            yield Finding(PROBLEM, "rights", sentence, f"Type: {one.remedy}")
        else:
            yield _too_open(PROBLEM, "rights", one.path, facts, _MAY_WRITE, sentence)
    for path in (base.path(place) for place in PLACES if place != "config"):
        facts = disk.facts_of(path)
        if facts is not None and facts.st_mode & stat.S_IWOTH and not stat.S_ISLNK(facts.st_mode):
            found = True
            sentence = f"Every user of this machine may change {path}."
            yield _too_open(WARNING, "rights", path, facts, _OTHERS_MAY, sentence)
    if not found:
        yield fine("rights", "Nobody else may change it.")


def _too_open(
    state: str, what: str, path: str, facts: os.stat_result, bits: int, sentence: str
) -> Finding:
    letters = "go-rwx" if bits == _OTHERS_MAY else "go-w"
    remedy = f"Type: chmod {letters} {shlex.quote(path)}"
    if os.geteuid() not in (facts.st_uid, 0):
        return Finding(state, what, sentence, f"{remedy}, as its owner.")

    def fix() -> str:
        now = disk.facts_of(path)
        if now is not None:
            disk.set_mode(path, stat.S_IMODE(now.st_mode) & ~bits)
        return "That is over."

    return Finding(state, what, sentence, f"{remedy}; or: kingdom doctor --fix", fix)


def temporaries(patient: Patient) -> Iterator[Finding]:
    base = _base(patient)
    left = leftovers.found(base)
    if not left:
        return

    def fix() -> str:
        leftovers.clear(base)
        return "They were removed."

    sentence = f"{len(left)} temporaries of killed processes lie about, such as {left[0]}."
    yield Finding(WARNING, "temporaries", sentence, _FIX, fix)


def seats(patient: Patient) -> Iterator[Finding]:
    """A process that was killed leaves its pid; its lock is freed by the kernel."""
    base = _base(patient)
    names = [WARDEN, *(name for name in disk.names(base.state) if _is_role(name))]
    stale = [name for name in names if _is_stale(base, name)]
    if not stale:
        yield fine("locks", "None is left of a process that is gone.")
        return

    def fix() -> str:
        for name in stale:
            if _is_stale(base, name):
                Seat(base, name).leave()
        return "Its traces were removed."

    sentence = f"Killed, and not started again: {', '.join(stale)}."
    remedy = "See why: kingdom logs; start with: kingdom start; or forget it: kingdom doctor --fix"
    yield Finding(WARNING, "locks", sentence, remedy, fix)


def _is_role(name: str) -> bool:
    return name in START_ORDER or name.startswith(GENERAL_PREFIX)


def _is_stale(base: BaseDir, name: str) -> bool:
    seat = Seat(base, name)
    return seat.since() is not None and not seat.is_taken()


def _base(patient: Patient) -> BaseDir:
    assert patient.base is not None
    return patient.base
