"""Whether a soldier makes the same call again and again, read out of what its program prints.

Only the standard library, as all that the wrapper imports. Engines that print no calls are watched
where they ask the model (`sandbox.metering`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

SAME_CALL = "same_call"
_CHUNK = 4 * 1024 * 1024


class Call(NamedTuple):
    """One call of a tool. `what` is its name and arguments; empty for one that only waits."""

    caller: str  # the soldier itself, or a helper of its own
    id: str
    what: str


class _Run(NamedTuple):
    what: bytes
    last_id: str
    times: int


Read = Callable[[bytes], Iterator[Call]]


class SameCalls:
    """Reads a growing file once."""

    def __init__(self, engine: str, path: str) -> None:
        self._path = path
        self._engine = engine
        self._offset = 0
        self._runs: dict[str, _Run] = {}
        self._most = 0

    def most(self) -> int:
        """How often in a row the same call was made, so far."""
        read = _reader(self._engine)
        if read is not None:
            with suppress(OSError):
                self._read_on(read)
        return self._most

    def _read_on(self, read: Read) -> None:
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            chunk = file.read(_CHUNK)
        whole = chunk.rfind(b"\n") + 1
        if not whole and len(chunk) == _CHUNK:
            whole = len(chunk)  # one line, longer than any call
        self._offset += whole
        for line in chunk[:whole].split(b"\n"):
            for call in read(line):
                self._take(call)

    def _take(self, call: Call) -> None:
        what = hashlib.sha256(call.what.encode("utf-8", "backslashreplace")).digest()
        before = self._runs.get(call.caller)
        if before is not None and before.last_id == call.id:
            return  # told twice
        is_same = before is not None and before.what == what and call.what
        times = before.times + 1 if before is not None and is_same else 1
        self._runs[call.caller] = _Run(what, call.id, times)
        self._most = max(self._most, times)


def _reader(engine: str) -> Read | None:
    """By name, and imported only then: a wrapper starts for every soldier."""
    if engine == "claude":
        from kingdom.engines.claude import stream

        return stream.calls
    if engine == "codex":
        from kingdom.engines.codex import stream as of_codex

        return of_codex.calls
    return None
