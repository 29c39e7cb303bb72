"""The engine in use, and those that are installed besides: program, version, login, standing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import NamedTuple

from kingdom.clients.programs import ask
from kingdom.clock import SystemClock, isoformat
from kingdom.engines.choice import engine_named
from kingdom.engines.claude import login as claude_login
from kingdom.engines.claude.engine import ALONE, CREDENTIALS, ClaudeEngine
from kingdom.engines.claude.sessions import HOME_VARIABLE
from kingdom.engines.codex import login as codex_login
from kingdom.engines.codex.engine import LIMITATIONS, CodexEngine
from kingdom.engines.standing import LOGIN, Standings
from kingdom.general.allowance import BASIC
from kingdom.ops.doctor.finding import OK, PROBLEM, WARNING, Finding, Patient, fine, milder
from kingdom.ops.doctor.machine import first_line
from kingdom.ops.generals import packages
from kingdom.outbound.credentials import own_variables

_NAMESPACES = "/proc/sys/user/max_user_namespaces"


class Asked(NamedTuple):
    """How a program is asked about its login, and which variables do instead."""

    login: ModuleType
    variables: tuple[str, ...]
    environment: Mapping[str, str]


_ASKED = {
    "claude": Asked(claude_login, CREDENTIALS, ALONE),
    "codex": Asked(codex_login, codex_login.VARIABLES, {}),
}


def engine(patient: Patient, name: str) -> Iterator[Finding]:
    """All about one. What is wrong with one that is not in use is no problem."""
    in_use = name == patient.settings.system.runtime.engine
    for finding in _of_engine(patient, name):
        yield finding if in_use else milder(finding)


def _of_engine(patient: Patient, name: str) -> Iterator[Finding]:
    made = engine_named(name, patient.settings, patient.environment, patient.root)
    found = made.availability()
    if not found.available:
        yield Finding(PROBLEM, name, found.reason, found.remedy)
    elif isinstance(made, ClaudeEngine | CodexEngine):
        yield from _of_program(patient, name, made.program() or "")
    elif name == "rehearsal":
        sentence = "It only shows how things go: its soldiers do no work."
        remedy = "Set runtime.engine in config/local/system.yaml to claude or codex."
        yield Finding(WARNING, name, sentence, remedy)
    else:
        yield fine(name, f"{patient.settings.system.runtime.command.argv[0]} is there.")
    yield from _standing(patient, name)
    if name == "codex" and found.available:
        yield from _sandbox(patient)
        yield from (fine(name, f"To know: {limitation}") for limitation in LIMITATIONS)


def is_worth_a_look(patient: Patient, name: str) -> bool:
    if name == patient.settings.system.runtime.engine:
        return True
    made = engine_named(name, patient.settings, patient.environment, patient.root)
    return name in _ASKED and made.availability().available


def _of_program(patient: Patient, name: str, program: str) -> Iterator[Finding]:
    environment = _seen_by_soldiers(patient, name)
    code, said = ask([program, "--version"], environment)
    if code != 0:
        sentence = f"{program} does not tell its version: {first_line(said)}."
        yield Finding(PROBLEM, name, sentence, f"Try: {program} --version")
        return
    yield fine(name, f"{_last_line(said)}, {program}")
    for whose, home in _homes(patient, name):
        yield _login(name, program, environment | home, whose)


def _seen_by_soldiers(patient: Patient, name: str) -> dict[str, str]:
    runtime = patient.settings.system.runtime
    own = {"claude": runtime.claude.env, "codex": runtime.codex.env}[name]
    named = {*BASIC, *own} - own_variables(patient.settings)
    kept = {key: value for key, value in patient.environment.items() if key in named}
    return {**kept, **_ASKED[name].environment}


def _homes(patient: Patient, name: str) -> list[tuple[str, dict[str, str]]]:
    """Whose login it is, and what leads the program to it."""
    base = patient.base
    if name != "claude" or patient.settings.system.runtime.claude.home == "user" or base is None:
        return [("", {})]
    root = base.path("state", "engines", name)
    return [
        (one.name, {HOME_VARIABLE: os.path.join(root, one.name)})
        for one in packages(base)
        if one.manifest is not None
    ]


def _login(name: str, program: str, environment: Mapping[str, str], whose: str) -> Finding:
    asked = _ASKED[name]
    of = f" for {whose}" if whose else ""
    given = next((one for one in asked.variables if environment.get(one)), "")
    if given:
        return fine(name, f"{given} is set; whether it is accepted, the first soldier tells.")
    home = environment.get(HOME_VARIABLE, "") if whose else ""
    known: bool | None = False
    if not home or os.path.isdir(home):  # else the program would make it
        known = asked.login.understood(*ask([program, *asked.login.QUESTION], environment))
    if known:
        return fine(name, f"It is logged in{of}.")
    if known is None:
        sentence = f"Whether it is logged in{of} cannot be told."
        words = " ".join(asked.login.QUESTION)
        return Finding(WARNING, name, sentence, f"Ask it yourself: {program} {words}")
    lead = f"With {HOME_VARIABLE}={home}: " if home else ""
    return Finding(PROBLEM, name, f"It is not logged in{of}.", f"{lead}{asked.login.REMEDY}")


def _standing(patient: Patient, name: str) -> Iterator[Finding]:
    standing = Standings(patient.base).of(name) if patient.base else None
    if standing is None:
        return
    if not standing.is_closed(SystemClock().now()):
        sentence = "It failed before; one soldier at a time tells whether it still does."
        yield Finding(OK, name, sentence)
        return
    sentence = f"It gets no work until {isoformat(standing.until)}: {standing.reason}"
    if standing.code == LOGIN:
        remedy = f"Once that is mended, go on at once with: rm state/engines/{name}.json"
        yield Finding(PROBLEM, name, sentence, remedy)
    else:
        yield Finding(WARNING, name, sentence, "Work goes on by itself then.")


def _sandbox(patient: Patient) -> Iterator[Finding]:
    """Where the kernel tells; most that refuse namespaces do so by this number."""
    if not patient.settings.system.runtime.codex.sandbox:
        return
    try:
        with open(_NAMESPACES, "rb") as file:
            allowed = int(file.read(32))
    except (OSError, ValueError):
        return
    if not allowed:
        yield Finding(
            PROBLEM,
            "codex",
            "Its sandbox needs user namespaces, and this system allows none.",
            f"Raise {_NAMESPACES}, or set runtime.codex.sandbox: false in "
            "config/local/system.yaml.",
        )


def _last_line(said: str) -> str:
    """Warnings come first."""
    return first_line("\n".join(reversed(said.splitlines())))
