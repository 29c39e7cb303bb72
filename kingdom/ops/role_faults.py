"""What running roles could not handle, as each wrote it down."""

from __future__ import annotations

from typing import Any, NamedTuple

from kingdom.ops.stopping import running
from kingdom.runtime.processes import faults_file
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json


class Failed(NamedTuple):
    """`what` was set aside, and the role went on."""

    role: str
    what: str
    error: str
    at: str


def role_faults(base: BaseDir) -> list[Failed]:
    failed: list[Failed] = []
    for seat in running(base):
        found = _object(read_json(faults_file(base, seat.name)))
        for what, one in _object(found.get("failed")).items():
            failed.append(Failed(seat.name, what, *_texts(one, "error", "at")))
    return failed


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any, *names: str) -> list[str]:
    return [str(_object(value).get(name, "")) for name in names]
