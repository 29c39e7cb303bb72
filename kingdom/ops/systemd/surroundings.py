"""What roles see of an environment where systemd runs them, and what they would miss there."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kingdom.engines.choice import TMUX
from kingdom.engines.claude.engine import CREDENTIALS
from kingdom.engines.codex.login import VARIABLES
from kingdom.engines.program import Program
from kingdom.ops.suite import role_names
from kingdom.ops.systemd.manager import Manager
from kingdom.ops.systemd.units import GENERAL, environment_file, stem, unit_name
from kingdom.outbound.credentials import own_variables
from kingdom.settings.loading import Settings
from kingdom.store import disk
from kingdom.store.paths import BaseDir

_LARGEST = 1024 * 1024
_FALLBACK = "/usr/local/bin:/usr/bin:/bin"
# Where people have programs of their own, which neither sudo nor cron looks for.
_OWN = (".local/bin", "bin")
_OF_ENGINES = (".claude/local", ".npm-global/bin", ".bun/bin", ".volta/bin", ".cargo/bin")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH_LINE = re.compile(r'^Environment="PATH=(.*)"$', re.MULTILINE)
_FILE = "EnvironmentFiles="
_SET = "Environment="


class Lack(NamedTuple):
    hidden: list[str]  # variables with credentials that the caller has, and services have not
    unset: list[str]  # tokens that are needed, and neither has
    programs: list[str]  # that are not on the services' PATH


def account(base: BaseDir, manager: Manager) -> int:
    """Whose processes the roles are: whose directory it is runs it."""
    return manager.whose() if manager.of_user else os.stat(base.root).st_uid


def seen(base: BaseDir, manager: Manager) -> dict[str, str]:
    """By systemd's own word where it can be asked, else by the units' text."""
    found = _of_login(account(base, manager)) | {"PATH": known_path(base, manager) or _FALLBACK}
    files = [environment_file(base)]
    if manager.is_there():
        found |= _assignments(manager.tell("show-environment"))
        names = [unit_name(base, name) for name in role_names(base)]
        for line in manager.tell("show", "-p", "Environment,EnvironmentFiles", *names).splitlines():
            if line.startswith(_SET):
                found |= dict(_pairs(_words(line.removeprefix(_SET))))
            elif line.startswith(_FILE):
                files.append(line.removeprefix(_FILE).rpartition(" (")[0])
    for file in dict.fromkeys(files):
        found |= dict(_pairs(_lines(_content(file))))
    return found


def not_taken(base: BaseDir) -> list[int]:
    """Numbers of lines in the file of tokens that systemd passes over."""
    lines = enumerate(_content(environment_file(base)).splitlines(), 1)
    return [
        number
        for number, line in lines
        if line.strip() and line.strip()[0] not in "#;" and not dict(_pairs(_lines(line)))
    ]


def known_path(base: BaseDir, manager: Manager) -> str:
    """As the units have it that were written last; empty without any."""
    found = _PATH_LINE.search(_content(manager.path(f"{stem(base)}-{GENERAL}@.service")))
    plain = re.sub(r"\\(.)", r"\1", found[1]) if found else ""
    return plain.replace("%%", "%")


def path_for(base: BaseDir, manager: Manager, settings: Settings) -> str:
    """The caller's, and before it where that user has programs, engines above all."""
    told = (manager.environment.get("PATH") or _FALLBACK).split(os.pathsep)
    home = manager.environment.get("HOME") if manager.of_user else None
    home = home or _of_login(account(base, manager)).get("HOME", "/nonexistent")
    own = [os.path.join(home, place) for place in _OWN]
    path = os.pathsep.join(dict.fromkeys((*_missing(own, told), *told)))
    engine = _program(settings)
    if engine and Program(engine, {"PATH": path}, base.root).path() is None:
        places = [os.path.join(home, place) for place in _OF_ENGINES]
        place = next((one for one in places if shutil.which(engine, path=one)), "")
        path = f"{place}{os.pathsep}{path}" if place else path
    return path


def _missing(places: list[str], told: list[str]) -> list[str]:
    return [place for place in places if os.path.isdir(place) and place not in told]


def lack(
    base: BaseDir, settings: Settings, services: Mapping[str, str], caller: Mapping[str, str]
) -> Lack:
    secret = {*own_variables(settings), *CREDENTIALS, *VARIABLES}
    hidden = sorted(name for name in secret if caller.get(name) and not services.get(name))
    unset = [name for name in _needed(settings, services) if name not in hidden]
    programs = [one for one in (_program(settings), TMUX, "git") if one]
    absent = [one for one in programs if Program(one, services, base.root).path() is None]
    return Lack(hidden, unset, absent)


def _needed(settings: Settings, services: Mapping[str, str]) -> Iterator[str]:
    watchers, slack = settings.sentinel.polling, settings.envoy.slack
    named = [*settings.system.git.tokens.values()]
    if watchers.github and not _has_login_of_gh(services):
        named.append(watchers.github.token_env)
    if watchers.jira:
        named.append(watchers.jira.token_env)
    if settings.envoy.transport == "slack":
        named.append(slack.bot_token_env)
    return (name for name in dict.fromkeys(named) if not services.get(name))


def _has_login_of_gh(services: Mapping[str, str]) -> bool:
    """It is not asked: for another user, it would be asked as root, in that user's home."""
    config = services.get("XDG_CONFIG_HOME") or os.path.join(services.get("HOME", ""), ".config")
    place = services.get("GH_CONFIG_DIR") or os.path.join(config, "gh")
    return disk.exists(os.path.join(place, "hosts.yml"))


def _program(settings: Settings) -> str:
    runtime = settings.system.runtime
    own = {"claude": [runtime.claude.command], "codex": [runtime.codex.command]}
    own["command"] = runtime.command.argv
    return next(iter(own.get(runtime.engine, [])), "")


def _of_login(uid: int) -> dict[str, str]:
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return {}
    name, home, shell = user.pw_name, user.pw_dir, user.pw_shell
    return {"HOME": home, "USER": name, "LOGNAME": name, "SHELL": shell}


def _assignments(said: str) -> dict[str, str]:
    return dict(_pairs(word for line in said.splitlines() for word in _words(line)[:1]))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _lines(text: str) -> Iterator[str]:
    """As systemd reads such a file."""
    for line in text.replace("\\\n", "").splitlines():
        name, _, value = line.strip().partition("=")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        yield f"{name.strip()}={value}"


def _pairs(words: Iterator[str] | list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, sign, value = word.partition("=")
        if sign and _NAME.fullmatch(name):
            yield name, value


def _content(path: str) -> str:
    return disk.head(path, _LARGEST).decode("utf-8", "replace")
