"""The sandbox of one soldier: what of the owner's files, keys and network it gets.

Its engine's own directory is `{task directory}/.engine/{trust}/`, so that a session can be resumed
by whoever continues the task, and never by work of another trust. Caches that the manifest names
lie in `workspace/{general}/.cache/{trust}/`: what less trusted work leaves there reaches no other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kingdom.engines.port import ModelAccess, Order, Plan
from kingdom.engines.sandbox import kingdom_requests, mounts
from kingdom.engines.sandbox.bubblewrap import PORT, Found
from kingdom.engines.sandbox.isolation import Isolation
from kingdom.engines.sandbox.mounts import Bind
from kingdom.models.fields import Network
from kingdom.models.manifest import SandboxFiles
from kingdom.runtime import own_command
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


def section(
    enclosure: Enclosure,
    found: Found,
    runtime: Runtime,
    order: Order,
    plan: Plan,
    files: SandboxFiles,
    *,
    base: BaseDir,
    engine: str,
    place: str,
    borrows: Iterable[str],
    caches: str,
    login: Bind | None,
    outside: Mapping[str, str],
) -> dict[str, Any]:
    """For the spec. `outside` is the general's own environment."""
    of_result = os.path.dirname(order.result_path)
    asked, answers = kingdom_requests.places(of_result)
    for directory in (place, of_result, asked, answers):
        disk.make_directory(directory)
    disk.touch(order.heartbeat_path)
    home, command = order.environment.get("HOME", ""), own_command.path_of(base)
    binds = [
        Bind(place, writable=True),
        Bind(of_result, writable=True),
        *(Bind(asked, writable=True), Bind(answers), Bind(command, source=stand_in(base))),
        Bind(order.heartbeat_path, writable=True),
        Bind(order.prompt_path),
        *map(Bind, plan.files),
        *map(Bind, borrows),
        *mounts.of_program(
            plan.argv if engine == "command" else plan.argv[:1],  # the others' arguments are ours
            outside.get("PATH", os.defpath),
            home,
        ),
        *map(Bind, mounts.expanded(files.read, outside)),
        *(_cache(path, caches) for path in mounts.expanded(files.cache, outside)),
        *([login] if login else []),
    ]
    return {
        "program": found.path,
        "arguments": mounts.arguments(
            home, binds, network=not enclosure.own_network, version=found.version
        ),
        "own_network": enclosure.own_network,
        "way": enclosure.way,
        "secrets": enclosure.tokens,
        "limits": _limits(runtime),
        "requests": {
            "command": [*own_command.argv(), "--base-dir", base.root],
            "allowed": kingdom_requests.allowed_by(order.tools),
            "place": of_result,
        },
    }


def stand_in(base: BaseDir) -> str:
    """The script that stands for `kingdom` inside."""
    path, text = base.path("state", "bin", "asks-kingdom"), kingdom_requests.SCRIPT.encode()
    if disk.head(path, len(text) + 1) != text:
        disk.replace(path, text)
        disk.set_mode(path, 0o755)
    return path


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
