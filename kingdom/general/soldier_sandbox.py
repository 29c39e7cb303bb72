"""The sandbox of one soldier: what of the owner's files, keys and network it gets.

Its engine's own directory is `{task directory}/.engine/{trust}/`, so that a session can be resumed
by whoever continues the task, and never by work of another trust. Caches that the manifest names
lie in `workspace/{general}/.cache/{trust}/`: what less trusted work leaves there reaches no other.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from kingdom.engines.port import Engine, ModelAccess, Order, Plan
from kingdom.engines.sandbox import kingdom_requests, mounts
from kingdom.engines.sandbox.bubblewrap import PORT
from kingdom.engines.sandbox.isolation import Isolation, Sandboxes, decide, stricter
from kingdom.engines.sandbox.mounts import Bind
from kingdom.engines.sandbox.run import KEYS
from kingdom.general import allowance, by_engine
from kingdom.general.spec import SoldierFiles
from kingdom.models.fields import Network
from kingdom.models.task import Task
from kingdom.runtime import own_command
from kingdom.runtime.config import Config, General
from kingdom.settings.system import Runtime
from kingdom.store import disk
from kingdom.store.paths import BaseDir

_PROXY = f"http://127.0.0.1:{PORT}"
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy")
_OF_OWNER = ("TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Enclosure:
    """What is decided before the engine plans its run."""

    isolation: Isolation
    environment: dict[str, str]
    keys: dict[str, str] = field(default_factory=dict)  # by variable; they stay outside
    tokens: dict[str, str] = field(default_factory=dict)  # what stands for them inside
    way: dict[str, Any] = field(default_factory=dict)
    own_network: bool = True

    @property
    def is_sandbox(self) -> bool:
        return self.isolation == "bubblewrap"

    @property
    def needs_login_file(self) -> bool:
        return self.is_sandbox and "endpoint" not in self.way


def enclose(
    isolation: Isolation,
    environment: Mapping[str, str],
    access: ModelAccess,
    network: Network,
    hosts: Sequence[str],
    through: str = "",
) -> Enclosure:
    """`hosts` are those the manifest names; `through` is the proxy of this machine."""
    if isolation != "bubblewrap":
        return Enclosure(isolation, dict(environment))
    keys = {name: environment[name] for name in access.credentials if environment.get(name)}
    tokens = {name: f"kingdom-{os.urandom(16).hex()}" for name in keys}
    inside = {k: v for k, v in environment.items() if k not in _OF_OWNER} | tokens
    way = _way(environment, access, network, hosts, through, has_key=bool(keys))
    if "endpoint" in way:
        inside[access.url_variable] = _PROXY
    if way.get("hosts") and network == "engine":
        inside |= {**dict.fromkeys(_PROXY_VARIABLES, _PROXY), "NO_PROXY": "127.0.0.1,localhost"}
    return Enclosure(isolation, inside, keys, tokens, way, own_network=network != "full")


def _way(
    environment: Mapping[str, str],
    access: ModelAccess,
    network: Network,
    hosts: Sequence[str],
    through: str,
    *,
    has_key: bool,
) -> dict[str, Any]:
    if network == "none":
        return {}
    named = environment.get(access.url_variable, "")
    if access.url and (has_key or named):
        endpoint = {"url": named or access.url, "paths": list(access.paths)}
        return {"endpoint": endpoint, "hosts": list(hosts), "through": through}
    return {"hosts": [*hosts, *access.login_hosts], "through": through}


def engine_home(place: str, trust: str) -> str:
    path = os.path.join(place, ".engine", trust)
    disk.make_directory(path)
    return path


class SandboxBuilder:
    """For all soldiers of a general. `environment` is its own."""

    def __init__(self, base: BaseDir, files: SoldierFiles, environment: Mapping[str, str]) -> None:
        self._base = base
        self._files = files
        self._environment = environment
        self._sandboxes = Sandboxes(environment, base)
        self._pipes: dict[str, int] = {}  # with keys, by soldier

    def enclose(self, task: Task, config: Config, general: General, engine: Engine) -> Enclosure:
        """Raises `IsolationMissing`."""
        permissions, runtime = general.manifest.permissions, config.settings.system.runtime
        wanted = stricter(runtime.isolation, general.manifest.isolation)
        trust = task.trust or allowance.NOT_KNOWN
        environment = allowance.environment_for(
            task,
            permissions,
            config.settings,
            self._environment,
            of_engine=by_engine.variables_of(engine, config),
        )
        return enclose(
            decide(wanted, engine.name, trust, self._sandboxes.found),
            environment,
            engine.access,
            allowance.network_for(task, permissions),
            (*allowance.hosts_for(task, permissions), *by_engine.hosts_of(engine, config)),
            self._environment.get("HTTPS_PROXY") or self._environment.get("https_proxy", ""),
        )

    def section(
        self,
        enclosure: Enclosure,
        engine: Engine,
        order: Order,
        plan: Plan,
        config: Config,
        general: General,
        *,
        place: str,
        borrows: Iterable[str],
        login_home: str | None,
        limits: Mapping[str, Any],
    ) -> dict[str, Any]:
        """For the spec; nothing without a sandbox. `login_home`: where the engine's login is, if
        not in the user's own home."""
        if not enclosure.is_sandbox:
            return {}
        found, of_result = self._sandboxes.found(), os.path.dirname(order.result_path)
        for directory in (place, of_result, *kingdom_requests.places(of_result)):
            disk.make_directory(directory)
        disk.touch(order.heartbeat_path)
        home, trust = order.environment.get("HOME", ""), order.task.trust or allowance.NOT_KNOWN
        caches = os.path.join(self._base.workspace, general.name, ".cache", trust)
        argv = plan.argv if engine.name == "command" else plan.argv[:1]  # the rest is ours
        binds = [
            *self._own(order, plan, place),
            *map(Bind, borrows),
            *mounts.of_program(argv, self._environment.get("PATH", os.defpath), home),
            *map(Bind, mounts.expanded(general.manifest.sandbox.read, self._environment)),
            *(
                _cache(path, caches)
                for path in mounts.expanded(general.manifest.sandbox.cache, self._environment)
            ),
        ]
        if enclosure.needs_login_file and engine.access.login_file and order.home:
            binds.append(self._login(engine, order.home, login_home, writable=trust == "member"))
        return {
            "program": found.path,
            "arguments": mounts.arguments(
                home, binds, network=not enclosure.own_network, version=found.version
            ),
            "own_network": enclosure.own_network,
            "way": enclosure.way,
            "secrets": enclosure.tokens,
            "budget": {
                "base": self._base.root,
                "engine": engine.name,
                "general": general.name,
                "soldier": order.soldier_id,
                "limits": limits,
            },
            "limits": _limits(config.settings.system.runtime),
            "requests": {
                "command": [*own_command.argv(), "--base-dir", self._base.root],
                "allowed": kingdom_requests.allowed_by(order.tools),
                "place": of_result,
            },
        }

    def _own(self, order: Order, plan: Plan, place: str) -> list[Bind]:
        """What belongs to this soldier alone, and the command that asks the kingdom for it."""
        of_result = os.path.dirname(order.result_path)
        asked, answers = kingdom_requests.places(of_result)
        writable = (place, of_result, asked, order.heartbeat_path)
        return [
            *(Bind(path, writable=True) for path in writable),
            *map(Bind, (answers, order.prompt_path, *plan.files)),
            Bind(own_command.path_of(self._base), source=self._stand_in()),
        ]

    def _stand_in(self) -> str:
        """The script that stands for `kingdom` inside."""
        path, text = self._base.path("state", "bin", "asks-kingdom"), kingdom_requests.SCRIPT
        if disk.head(path, len(text) + 1) != text.encode():
            disk.replace(path, text.encode())
            disk.set_mode(path, 0o700)
        return path

    def _login(self, engine: Engine, inside: str, outside: str | None, *, writable: bool) -> Bind:
        """A member's soldier may renew it, which the program does by itself."""
        name = engine.access.login_file
        source = outside or by_engine.home_of(engine, self._environment)
        return Bind(
            os.path.join(inside, name), writable=writable, source=os.path.join(source, name)
        )

    def hand_over_keys(self, enclosure: Enclosure, soldier_id: str) -> None:
        """By a pipe that holds them until the wrapper has read it."""
        if enclosure.tokens:
            path, keys = self._files.path(soldier_id, KEYS), json.dumps(enclosure.keys)
            self._pipes[soldier_id] = disk.make_pipe(path, keys.encode())

    def close_pipes(self, starting: Set[str]) -> None:
        """Of all but these soldiers: whoever has begun has its keys."""
        for soldier_id in self._pipes.keys() - starting:
            disk.close_file(self._pipes.pop(soldier_id))


def _cache(path: str, caches: str) -> Bind:
    source = os.path.join(caches, re.sub(r"[^A-Za-z0-9._-]+", "-", path).strip("-"))
    disk.make_directory(source)
    return Bind(path, writable=True, source=source)


def _limits(runtime: Runtime) -> dict[str, int]:
    limits = {
        "RLIMIT_NPROC": runtime.max_processes,
        "RLIMIT_FSIZE": runtime.max_file_mb * _MEGABYTE,
        "RLIMIT_CORE": 0,
    }
    if runtime.max_memory_mb:
        limits["RLIMIT_DATA"] = runtime.max_memory_mb * _MEGABYTE
    return limits
