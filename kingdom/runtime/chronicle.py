"""What the warden tells others: `state/warden/roles.json`, which `kingdom status` reads, and
internal events. What cannot be written is no reason to stop watching.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kingdom.clock import Clock, isoformat
from kingdom.errors import KingdomError
from kingdom.runtime.children import Child
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import get_logger
from kingdom.runtime.processes import WARDEN, roles_file
from kingdom.store import disk, state
from kingdom.store.paths import BaseDir

SYSTEM = "system"


class Chronicle:
    def __init__(self, base: BaseDir, clock: Clock) -> None:
        self._path = roles_file(base)
        self._clock = clock
        self._logs = {actor: InternalLog(base, actor, clock) for actor in (WARDEN, SYSTEM)}

    def tell(self, actor: str, type_: str, **data: Any) -> None:
        try:
            self._logs[actor].emit(type_, data)
        except KingdomError as error:
            get_logger().error("warden.event_lost", type=type_, error=str(error))

    def write(self, only: Sequence[str], children: Mapping[str, Child]) -> None:
        now = self._clock.monotonic()
        facts = {name: self._facts(child, now) for name, child in children.items()}
        try:
            state.write_json(self._path, {"only": list(only), "roles": facts}, sync=False)
        except OSError as error:
            get_logger().error("warden.state_unwritable", error=str(error))

    def close(self) -> None:
        """Nobody watches any more."""
        disk.remove(self._path)

    def _facts(self, child: Child, now: float) -> dict[str, Any]:
        waits = child.pid is None and child.due > now
        return {
            "pid": child.pid,
            "restarts": child.restarts.count,
            "crash_loop": child.restarts.is_looping(now),
            "last_end": child.last_end or None,
            "refused": child.refused or None,
            "hung": child.hung,
            "next_start_in_seconds": round(child.due - now, 3) if waits else None,
            "told_at": isoformat(self._clock.now()),
        }
