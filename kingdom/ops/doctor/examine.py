"""All checks, beside each other, since most of them wait for a program; told in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kingdom.errors import ConfigurationError, KingdomError
from kingdom.limits import limit_in
from kingdom.ops.doctor import accounts, engines, machine, order, place, surroundings
from kingdom.ops.doctor.finding import PROBLEM, WARNING, Finding, Patient, fine
from kingdom.settings.loading import Settings, load_settings
from kingdom.store.paths import BaseDir

Check = Callable[[Patient], Iterator[Finding]]
MACHINE: tuple[Check, ...] = (
    machine.python,
    machine.limits,
    machine.git,
    machine.tmux,
    machine.sandbox,
    machine.gh,
)
PLACE: tuple[Check, ...] = (
    place.base_directory,
    place.room,
    place.clock,
    place.keeper,
    place.roles,
    surroundings.tell,
    order.directories,
    order.files,
    order.secrets,
    order.others,
    order.temporaries,
    order.seats,
    place.generals,
    place.own_command,
)
ACCOUNTS: tuple[Check, ...] = (accounts.github, accounts.jira, accounts.slack)
ENGINES = ("claude", "codex", "command", "rehearsal")
_AT_ONCE = 8


def examine(
    base: BaseDir | None, environment: Mapping[str, str], missing: ConfigurationError | None = None
) -> list[Finding]:
    """`missing`: why there is no base directory."""
    judged = surroundings.judged(base, environment)
    settings, configured = _settings(base, judged)
    patient = Patient(judged, base, settings, shell=environment)
    if missing is not None:
        configured = [Finding(PROBLEM, "directory", missing.sentence, missing.remedy)]
    of_engines: list[Check] = [
        partial(_of_engine, name) for name in ENGINES if engines.is_worth_a_look(patient, name)
    ]
    checks = [*MACHINE, *((*PLACE, *ACCOUNTS) if base else ()), *of_engines]
    found = _found(checks, patient)
    before = len(MACHINE)
    return [one for many in (*found[:before], configured, *found[before:]) for one in many]


def _found(checks: list[Check], patient: Patient) -> list[list[Finding]]:
    """One after the other where there may be no more threads."""
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda check: _tried(check, patient), checks))
    except RuntimeError as error:
        if limit_in(error) is None:
            raise
    return [_tried(check, patient) for check in checks]


def _of_engine(name: str, patient: Patient) -> Iterator[Finding]:
    return engines.engine(patient, name)


def _settings(
    base: BaseDir | None, environment: Mapping[str, str]
) -> tuple[Settings, list[Finding]]:
    """Those in force, or the default ones and what is wrong."""
    if base is None:
        return Settings(), []
    try:
        return load_settings(base.config, environment), [
            fine("settings", "config/*.yaml are valid.")
        ]
    except KingdomError as error:
        sentence = f"{error.sentence} What follows is for the default settings."
        return Settings(), [Finding(PROBLEM, "settings", sentence, error.remedy)]


def _tried(check: Check, patient: Patient) -> list[Finding]:
    """What cannot be looked at is said, and the others go on."""
    try:
        return list(check(patient))
    except KingdomError as error:
        return [Finding(PROBLEM, "settings", error.sentence, error.remedy)]
    except OSError as error:
        what = getattr(check, "__name__", "engine")
        sentence = f"It cannot be looked at: {error}."
        return [Finding(WARNING, what, sentence, "Look as the user that runs the kingdom.")]


def mend(findings: Iterable[Finding]) -> list[tuple[Finding, str]]:
    """Does what is safe, and answers what was done, or why it could not be."""
    return [(one, _mended(one.fix)) for one in findings if one.fix is not None]


def _mended(fix: Callable[[], str]) -> str:
    try:
        return fix()
    except OSError as error:
        return f"It could not be done: {error.strerror}."
