"""Whose environment decides: that of this shell, or what systemd gives to the roles it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from kingdom.errors import KingdomError
from kingdom.ops.doctor.finding import WARNING, Finding, Patient, fine
from kingdom.ops.systemd.manager import holder
from kingdom.ops.systemd.surroundings import account, lack, not_taken, seen
from kingdom.ops.systemd.units import environment_file
from kingdom.store.paths import BaseDir

_OF_THE_CALLER = ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")


def judged(base: BaseDir | None, shell: Mapping[str, str]) -> Mapping[str, str]:
    """What the roles see. Programs that are asked here write into the home of whoever asks."""
    manager = holder(base, shell) if base else None
    if base is None or manager is None:
        return shell
    try:
        found = seen(base, manager)
    except (OSError, KingdomError):
        return shell
    if account(base, manager) == os.geteuid():
        return found
    mine = {name: shell[name] for name in _OF_THE_CALLER if name in shell}
    return {name: value for name, value in found.items() if name not in _OF_THE_CALLER} | mine


def tell(patient: Patient) -> Iterator[Finding]:
    base = patient.base
    assert base is not None
    manager = holder(base, patient.shell)
    if manager is None:
        yield fine("environment", "Programs and tokens are judged by this shell's environment.")
        return
    file = environment_file(base)
    if patient.environment is patient.shell:
        sentence = f"{file}, or what systemd says of it, cannot be read; this shell is judged."
        yield Finding(WARNING, "environment", sentence, "Look as the user that runs the kingdom.")
        return
    sentence = f"Programs and tokens are judged by what systemd gives to the roles, with {file}."
    yield fine("environment", sentence)
    if account(base, manager) != os.geteuid():
        sentence = "The roles run as another user, whose logins are not looked at from here."
        yield Finding(WARNING, "environment", sentence, "Type it as that user.")
    for number in not_taken(base):
        sentence = f"Line {number} of {file} is not NAME=value, so systemd passes it over."
        yield Finding(WARNING, "environment", sentence, "Write it without export, or as a comment.")
    hidden = lack(base, patient.settings, patient.environment, patient.shell).hidden
    if hidden:
        sentence = f"Set in this shell, and not seen by the roles: {', '.join(hidden)}."
        remedy = f"Write them as NAME=value to {file}, and say: kingdom restart"
        yield Finding(WARNING, "environment", sentence, remedy)
