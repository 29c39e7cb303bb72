"""Scopes of systemd, where it runs: what is started in one is no part of whoever started it.

So a role that is restarted, or a person who logs out, takes no soldier along, and the memory of
each soldier has a limit of its own. Root asks the system's manager, others their own; where none
can be asked, everything runs without.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from kingdom.clients.programs import ask, find

_PROGRAM = "systemd-run"
_RUNTIME = "XDG_RUNTIME_DIR"
_ENV = "/usr/bin/env"
_OF_SYSTEM = "/run/systemd"


class Scopes:
    def __init__(self, environment: Mapping[str, str], slice_: str) -> None:
        self._environment = environment
        self._slice = f"{slice_}.slice"
        self._program = find(_PROGRAM, environment)
        self._is_root = os.geteuid() == 0
        self._place = _OF_SYSTEM if self._is_root else f"{environment.get(_RUNTIME, '')}/systemd"

    def around(self, name: str = "", memory_mb: int | None = None) -> list[str]:
        """What to put before a command, so that it runs in a scope; nothing where there is none.

        The command becomes the process that was started: pid, terminal and environment stay.
        """
        if not self._manager_is_there() or not self._works:
            return []
        limit = ["-p", f"MemoryMax={memory_mb}M"] if memory_mb else []
        unit = [f"--unit={name}"] if name else []
        return [*self._argv(), *unit, *limit, *self._after()]

    def _manager_is_there(self) -> bool:
        """It may have gone since the last time."""
        return self._program is not None and os.path.exists(os.path.join(self._place, "private"))

    @cached_property
    def _works(self) -> bool:
        """Tried once: a container or a policy may forbid it."""
        given = {
            name: self._environment[name]
            for name in ("PATH", _RUNTIME)
            if name in self._environment
        }
        return ask([*self._argv(), *self._after(), "true"], given).code == 0

    def _argv(self) -> list[str]:
        """Its manager's address is for it alone, not for what runs in the scope."""
        told = [] if self._is_root else [_ENV, f"{_RUNTIME}={self._environment.get(_RUNTIME)}"]
        whose = [] if self._is_root else ["--user"]
        options = ["--scope", "--quiet", "--collect", f"--slice={self._slice}"]
        return [*told, str(self._program), *whose, *options]

    def _after(self) -> list[str]:
        return ["--"] if self._is_root else ["--", _ENV, "-u", _RUNTIME]
