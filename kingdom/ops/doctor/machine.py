"""The programs that every kingdom needs, and Python itself."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator

from kingdom.clients.git import OLDEST, Git
from kingdom.clients.programs import ask
from kingdom.engines.choice import TMUX
from kingdom.engines.sandbox.bubblewrap import probe
from kingdom.errors import KingdomError
from kingdom.limits import lowest, no_more_processes, processes
from kingdom.ops.doctor.finding import OK, PROBLEM, WARNING, Finding, Patient, fine

OLDEST_PYTHON = (3, 11)
LFS, SANDBOX = "git-lfs", "bubblewrap"
_WITHOUT = "Soldiers get no shell, and read their workspace only."
LEAST_PROCESSES = 50  # each role has a few threads, and each soldier some processes


def python(patient: Patient) -> Iterator[Finding]:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        needed = _dotted(OLDEST_PYTHON)
        yield Finding(PROBLEM, "python", f"{version} is too old.", f"Install {needed} or newer.")
    else:
        yield fine("python", f"{version}, {sys.executable}")


def limits(patient: Patient) -> Iterator[Finding]:
    """Those of whoever asks, which a kingdom that is started from here would have."""
    if (limit := lowest()) is not None:
        yield Finding(PROBLEM, "limits", limit.sentence, limit.remedy)
        return
    used, most = processes()
    if most is not None and most - used < LEAST_PROCESSES:
        limit = no_more_processes()
        sentence = f"This user may have {most} processes and threads, and has {used}."
        yield Finding(WARNING, "limits", sentence, limit.remedy)
    else:
        yield fine("limits", "Files, processes and memory are not limited too much.")


def git(patient: Patient) -> Iterator[Finding]:
    client = Git(patient.environment, timeout_seconds=20.0)
    try:
        version = client.version()
    except KingdomError as error:
        yield Finding(PROBLEM, "git", error.sentence, error.remedy)
        return
    if version < OLDEST:
        sentence = f"{_dotted(version) or 'Its version is not known, or'} is too old."
        yield Finding(PROBLEM, "git", sentence, f"Install {_dotted(OLDEST)} or newer.")
    else:
        yield fine("git", _dotted(version))
    if patient.settings.system.git.lfs and not client.has(LFS):
        yield Finding(
            WARNING,
            LFS,
            "It is not installed; tasks in repositories that keep large files with it fail.",
            "Install it with: apt-get install git-lfs; or set git.lfs: false in "
            "config/local/system.yaml.",
        )


def tmux(patient: Patient) -> Iterator[Finding]:
    program = _found(patient, TMUX)
    if program is None:
        yield Finding(
            PROBLEM,
            TMUX,
            "It is not installed, and soldiers run in it.",
            "Install it with: apt-get install tmux (or this system's own package manager).",
        )
        return
    code, said = ask([program, "-V"], patient.environment)
    if code == 0:
        yield fine(TMUX, first_line(said).removeprefix("tmux "))
    else:
        yield Finding(PROBLEM, TMUX, f"It does not work: {first_line(said)}.", f"Try: {TMUX} -V")


def sandbox(patient: Patient) -> Iterator[Finding]:
    """Tried, since a kernel may refuse what is installed."""
    runtime, found = patient.settings.system.runtime, probe(patient.environment)
    if found.works:
        yield fine(SANDBOX, f"{_dotted(found.version)}, soldiers run in a sandbox")
    else:
        state = PROBLEM if runtime.isolation == "required" else WARNING
        yield Finding(state, SANDBOX, f"{found.reason} {_WITHOUT}", found.remedy)
    if runtime.isolation == "off":
        yield Finding(
            WARNING,
            SANDBOX,
            "runtime.isolation is off: members' work runs as you, with all your files.",
            "Set it to auto in config/local/system.yaml.",
        )
    if os.geteuid() == 0:
        sentence = "It is root: whoever gets past a sandbox has the whole machine."
        yield fine("user", f"{sentence} An ordinary user of its own is safer.")


def gh(patient: Patient) -> Iterator[Finding]:
    """Wanted only for its login, where no variable has a token."""
    settings = patient.settings.system.git
    program = _found(patient, "gh")
    if program is not None:
        code, said = ask([program, "--version"], patient.environment)
        state, shown = (OK, first_line(said)) if code == 0 else (WARNING, "It does not work.")
        yield Finding(state, "gh", shown, "" if code == 0 else "Try: gh --version")
    elif patient.environment.get(settings.token_env):
        yield fine("gh", f"It is not installed, nor needed: {settings.token_env} is set.")
    elif settings.use_gh:
        yield Finding(
            WARNING,
            "gh",
            f"It is not installed, and {settings.token_env} is not set; private repositories "
            "cannot be fetched, and nothing is pushed or posted.",
            f"Install gh and log in with: gh auth login; or set {settings.token_env}.",
        )


def _found(patient: Patient, program: str) -> str | None:
    return shutil.which(program, path=patient.environment.get("PATH"))


def first_line(said: str) -> str:
    return next((line.strip() for line in said.splitlines() if line.strip()), "it says nothing")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
