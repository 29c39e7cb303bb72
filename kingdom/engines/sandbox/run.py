"""A soldier's program, or a check of its work, in its sandbox: what its wrapper does for it.

A spec's `sandbox` says `program` and `arguments` (of bubblewrap), `own_network`, `way` (what the
proxy lets through), `limits`, and `secrets`: the name of each key outside, and the token that
stands for it inside. The keys themselves come through a pipe beside the spec and are kept nowhere.
`budget` is what its calls of the model may cost.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kingdom.engines.sandbox import bubblewrap
from kingdom.engines.sandbox.bubblewrap import INSIDE_PORT, Box
from kingdom.engines.sandbox.kingdom_requests import Requests
from kingdom.store import disk

KEYS = ".keys"  # the pipe
_LARGEST_KEYS = 60 * 1024
_KILLED = 128  # and the number of the signal, as bubblewrap tells it

Fork = Callable[[Sequence[str], Mapping[str, str], Box], int]


class KeysMissing(Exception):
    """Whoever had them is gone; nothing was begun."""


def read_keys(stem: str, section: Mapping[str, Any]) -> dict[str, str]:
    """By name. Raises `KeysMissing`."""
    if not section.get("secrets"):
        return {}
    try:
        found = json.loads(disk.drain(stem + KEYS, _LARGEST_KEYS))
        return {name: str(found[name]) for name in section["secrets"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise KeysMissing from None
    finally:
        disk.remove(stem + KEYS)


class Sandbox:
    def __init__(self, section: Mapping[str, Any], keys: Mapping[str, str]) -> None:
        self._section = section
        self._tokens = {token: keys[name] for name, token in section.get("secrets", {}).items()}
        self.requests = Requests(section["requests"], os.environ)
        self.own_pids: set[int] = set()  # bubblewrap's: they end when what is inside has

    def start(
        self,
        fork: Fork,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: str,
        *,
        asks_model: bool,
    ) -> int:
        """The pid to wait for. `fork` makes the process that becomes what it is told."""
        section, way = self._section, dict(self._section["way"])
        if not asks_model:
            way.pop("endpoint", None)
        has_way, is_own = bool(way.get("endpoint") or way.get("hosts")), section["own_network"]
        listener = None if is_own or not has_way else bubblewrap.listener_for(None)
        port = listener.getsockname()[1] if listener else INSIDE_PORT
        box = Box(section["program"], section["arguments"])
        words = bubblewrap.with_port(argv, port)
        told = {k: bubblewrap.with_port([v], port)[0] for k, v in environment.items()}
        pid = fork(box.argv(directory, words), told, box)
        inside = box.opened(pid)
        self.own_pids = {*box.pids}
        if inside is not None:
            bubblewrap.limit(inside, section["limits"])
            if has_way:
                self._serve(listener or bubblewrap.listener_for(inside), way)
        box.begin()
        return pid

    def _serve(self, listener: socket.socket, way: Mapping[str, Any]) -> None:
        wrapper = os.getpid()
        if os.fork() == 0:
            try:
                _serve_until_killed(listener, way, self._tokens, self._section, wrapper)
            finally:
                os._exit(0)
        listener.close()


def _serve_until_killed(
    listener: socket.socket,
    way: Mapping[str, Any],
    tokens: Mapping[str, str],
    section: Mapping[str, Any],
    wrapper: int,
) -> None:
    bubblewrap.die_with(wrapper)
    bubblewrap.keep_memory_private()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Only now: the program begins meanwhile, and asks for nothing before this is loaded.
    from kingdom.engines.sandbox.metering import Meter
    from kingdom.engines.sandbox.proxy import Way, serve
    from kingdom.store.paths import BaseDir

    whose = section["budget"]
    engine = whose.get("engine", "")
    meter = Meter(
        BaseDir(whose["base"]), whose["general"], whose["soldier"], whose["limits"], engine
    )
    serve(listener, Way.of(way, tokens), meter)


def exit_of(code: int) -> int:
    """As if the program had not been inside: a signal is a negative number."""
    return _KILLED - code if _KILLED < code < _KILLED + signal.NSIG else code
