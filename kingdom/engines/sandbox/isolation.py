"""How a soldier is kept apart from the owner's files: by what is wanted, and what can be had.

bubblewrap   in a sandbox of its own
narrow       no sandbox can be had: no shell, reading in the workspace only
off          as the owner himself, because he wants it; a member's work only
none         the rehearsal, which runs nothing but a script of ours
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from kingdom.clock import SystemClock
from kingdom.engines.sandbox.bubblewrap import Found, probe
from kingdom.errors import NeverWorks
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

Isolation = Literal["bubblewrap", "narrow", "off", "none"]
Wanted = Literal["auto", "required", "off"]
_STRICTEST_FIRST: tuple[Wanted, ...] = ("required", "auto", "off")
_NEEDS_NONE = "rehearsal"
_CAN_BE_NARROW = "claude"  # its own tools can be limited; the others are a shell, or any program
_TRY_AGAIN_SECONDS = 60.0


class IsolationMissing(NeverWorks):
    """A sandbox is needed, and there is none."""

    code = "isolation_missing"


def stricter(one: Wanted, other: Wanted | None) -> Wanted:
    return next(word for word in _STRICTEST_FIRST if word in (one, other))


def decide(wanted: Wanted, engine: str, trust: str, find: Callable[[], Found]) -> Isolation:
    """`find` is asked only if it matters. Raises `IsolationMissing`."""
    if engine == _NEEDS_NONE:
        return "none"
    if wanted == "off" and trust == "member":
        return "off"
    found = find()
    if found.works:
        return "bubblewrap"
    if wanted == "required" or engine != _CAN_BE_NARROW:
        raise IsolationMissing(
            f"This work needs a sandbox, and {found.reason[0].lower()}{found.reason[1:]}",
            remedy=found.remedy,
        )
    return "narrow"


class Sandboxes:
    """What the machine can do; asked again now and then while it cannot. `status` reads it in
    `state/isolation.json`."""

    def __init__(self, environment: Mapping[str, str], base: BaseDir) -> None:
        self._environment = environment
        self._path = path_in(base)
        self._clock = SystemClock()
        self._found: Found | None = None
        self._again_at = 0.0

    def found(self) -> Found:
        now = self._clock.monotonic()
        if self._found is None or (not self._found.works and now >= self._again_at):
            self._found = probe(self._environment)
            self._again_at = now + _TRY_AGAIN_SECONDS
            self._tell(self._found)
        return self._found

    def _tell(self, found: Found) -> None:
        told = {"works": found.works, "reason": found.reason, "remedy": found.remedy}
        if read_json(self._path) != told:
            with suppress(OSError):  # a full disk; the next one tells
                write_json(self._path, told, sync=False)


def path_in(base: BaseDir) -> str:
    return base.path("state", "isolation.json")
